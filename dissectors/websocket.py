"""AMQP over WebSocket: the upgrade, then RFC 6455 frames taken off the AMQP bytes inside.

It checks no handshake digest and answers nothing: what both peers accepted is accepted. Frames
compressed by an extension are counted and reported, not inflated.
"""

from __future__ import annotations

import re
from itertools import chain

from dissectors import shapes
from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.layers import InnerStream, MakeDecoder, enter_layer
from dissectors.upgrade import head_size, is_switch

CONTINUATION, TEXT, BINARY = 0, 1, 2
_OPCODES = frozenset({CONTINUATION, TEXT, BINARY, 8, 9, 10})
_FIRST_CONTROL = 8
_MAX_CONTROL_BYTES = 125
_FIN, _RESERVED, _MASKED = 0x80, 0x70, 0x80
_COMPRESSED = 0x40
_MAX_HEADER_BYTES = 14
# How much of a payload is looked at to tell whether it begins with AMQP.
_SAMPLE_BYTES = 4096
# First octets of frames: masked ones of clients, plain ones of servers; a last octet alone may be.
_STARTS = tuple(
    re.compile(rb"[\x00-\x02\x80-\x82\x88-\x8a](?:" + second + rb"|\Z)", re.DOTALL)
    for second in (rb"[\x80-\xff]", rb"[\x00-\x7f]")
)
# Widths of the extended payload length by the 7-bit length (RFC 6455 §5.2).
_LENGTH_WIDTHS = {126: 2, 127: 8}


class WebSocketDecoder(StreamDecoder):
    """Frames of this decoder are heads and WebSocket frames; rows come from what is inside."""

    def __init__(self, conn: Connection, make_decoder: MakeDecoder) -> None:
        super().__init__(conn)
        enter_layer(conn, "websocket")
        self._inner = InnerStream(conn, make_decoder)
        self._is_upgraded = [False, False]
        self._is_opaque = False
        self._is_compression_told = False
        # per side: how much of what is held has been searched for a frame in vain
        self._searched = [0, 0]
        # Whether the message that continuation frames belong to carries AMQP.
        self._is_binary = [False, False]

    def frame_size(self, side, buf, start, end):
        if self._is_opaque:
            return end - start
        if not self._is_upgraded[side]:
            return head_size(buf[start:end])
        header = _header_bytes(buf, start, end)
        if header <= 0:
            return header
        return header + _payload_bytes(buf, start)

    def take_frame(self, side, buf, start, size):
        if self._is_opaque:
            self.conn.skip(size)
        elif not self._is_upgraded[side]:
            self._take_head(side, buf[start : start + size])
        else:
            self._take_message(side, buf[start : start + size], [])
        return 0

    def can_bridge(self, side, buf, start, have, size):
        return int(self._is_upgraded[side])

    def take_holed_frame(self, side, buf, start, size, holes):
        self._take_message(side, buf[start : start + size], holes)
        return 1

    def gap(self, side, size, ts_ns, packet_no):
        state = self.side_1 if side else self.side_0
        if self._is_opaque and not state.carry:
            return 0
        return super().gap(side, size, ts_ns, packet_no)

    def on_gap(self, side, ts_ns, packet_no):
        """A head that was lost is taken as agreed to: the bytes after it will tell."""
        self._is_upgraded[side] = True
        self._inner.gap(side, None, ts_ns, packet_no)

    def find_frame(self, side, buf, start, end, is_final):
        """A frame header that another one follows; away from a segment's start, its payload must
        begin with AMQP frames too, because a header alone proves little."""
        if self._is_opaque or start >= end:
            return start if start < end else -1
        begin, self._searched[side] = self._searched[side], end
        begin = max(start, begin - _MAX_HEADER_BYTES) if start < begin < end else start
        later = (found.start() for found in _STARTS[side].finditer(buf, begin, end))
        for offset in chain((start,), later):
            if self._is_frame(side, buf, offset, end, offset == start):
                self._searched[side] = 0
                return offset
        return -1

    def on_end(self, ts_ns, packet_no, how):
        self._inner.finish(ts_ns, packet_no, how)

    # -- inside ---------------------------------------------------------------------------

    def _take_head(self, side: int, head: bytes) -> None:
        self.conn.skip(len(head))
        self._is_upgraded[side] = True
        if head.startswith(b"HTTP/") and not is_switch(head):
            self._is_opaque = True
            status = head[: head.find(b"\r\n")][:80].decode("latin-1")
            self._problem("websocket.refused", status, side, None)

    def _take_message(self, side: int, frame: bytes, holes: list[tuple[int, int]]) -> None:
        """Feed the payload around the holes, which are never in the header."""
        header = _header_bytes(frame, 0, len(frame))
        payload = _unmask(frame, header)
        missing = sum(size for _, size in holes)
        if not self._carries_amqp(side, frame):
            self.conn.skip(len(frame) - missing)
            return
        self.conn.skip(header)
        place = 0
        for at, size in holes:
            self._inner.feed(side, payload[place : at - header], self.ts_ns, self.packet_no)
            self._inner.gap(side, size, self.ts_ns, self.packet_no)
            place = at - header + size
        self._inner.feed(side, payload[place:], self.ts_ns, self.packet_no)

    def _carries_amqp(self, side: int, frame: bytes) -> bool:
        """Binary messages carry AMQP (binding §2.2); control frames may stand between parts."""
        opcode = frame[0] & 0x0F
        if opcode >= _FIRST_CONTROL:
            return False
        if opcode != CONTINUATION:
            is_compressed = bool(frame[0] & _COMPRESSED)
            self._is_binary[side] = opcode == BINARY and not is_compressed
            if is_compressed and not self._is_compression_told:
                self._is_compression_told = True
                self._problem("websocket.compressed", "permessage-deflate", side, len(frame))
        return self._is_binary[side]

    def _is_frame(self, side: int, buf: bytes, offset: int, end: int, is_segment: bool) -> bool:
        header = _header_bytes(buf, offset, end) if self._is_likely(side, buf, offset, end) else 0
        if header <= 0:
            return False
        following = offset + header + _payload_bytes(buf, offset)
        is_chained = following == end or (
            following < end and self._is_likely(side, buf, following, end)
        )
        if is_chained and is_segment:
            return True
        return (is_chained or following > end) and self._holds_amqp(buf, offset, header, end)

    def _is_likely(self, side: int, buf: bytes, offset: int, end: int) -> bool:
        """Clients mask, servers do not (RFC 6455 §5.1)."""
        first, second = buf[offset], buf[offset + 1] if offset + 1 < end else None
        opcode = first & 0x0F
        if opcode not in _OPCODES or first & _RESERVED:
            return False
        if second is None:
            return True
        if opcode >= _FIRST_CONTROL and (not first & _FIN or second & 0x7F > _MAX_CONTROL_BYTES):
            return False
        return bool(second & _MASKED) == (side == 0)

    def _holds_amqp(self, buf: bytes, offset: int, header: int, end: int) -> bool:
        payload = _unmask(buf[offset : min(end, offset + header + _SAMPLE_BYTES)], header)
        return shapes.score_09(payload)[0] > 0 or shapes.score_10(payload) > 0

    def _problem(self, code: str, detail: str, side: int, size: int | None) -> None:
        self.conn.problem(code, detail, side, self.ts_ns, self.packet_no, self.offset, size)


def _header_bytes(buf: bytes, start: int, end: int) -> int:
    """Octets of the frame header with its mask; 0 = more is needed; -1 = no frame."""
    if end - start < 2:
        return 0
    if buf[start] & 0x0F not in _OPCODES:
        return -1
    width = _LENGTH_WIDTHS.get(buf[start + 1] & 0x7F, 0)
    size = 2 + width + (4 if buf[start + 1] & _MASKED else 0)
    if end - start < size:
        return 0
    # The 64-bit length has its highest bit clear.
    return -1 if width == 8 and buf[start + 2] & 0x80 else size


def _payload_bytes(buf: bytes, start: int) -> int:
    length = buf[start + 1] & 0x7F
    width = _LENGTH_WIDTHS.get(length, 0)
    return int.from_bytes(buf[start + 2 : start + 2 + width], "big") if width else length


def _unmask(frame: bytes, header: int) -> bytes:
    """The payload in the clear; the mask is the header's last four octets (RFC 6455 §5.3)."""
    payload = frame[header:]
    if not frame[1] & _MASKED or not payload:
        return payload
    size = len(payload)
    mask = (frame[header - 4 : header] * (size // 4 + 1))[:size]
    unmasked = int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")
    return unmasked.to_bytes(size, "big")
