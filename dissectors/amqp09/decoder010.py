"""0-10 on the wire: frames are cut and named, and nothing more is known of them.

There is no frame-end octet, so a frame is believed by its reserved octets, type and size, and the
next one is searched for the same way after a gap.
"""

from __future__ import annotations

from dissectors.core.decoder import StreamDecoder
from dissectors.protocol_header import HEADER_BYTES, MAGIC, take_protocol_header

from .dialects import v0_10
from .frames010 import HEADER_SIZE, Frame010, cut_frame010, name_frame010, read_head010
from .jsonvalue import dumps

# Frames that must follow each other before a place is believed after a gap.
FRAMES_IN_CHAIN = 3
UNKNOWN = "unknown"


class Decoder010(StreamDecoder):
    """One connection of 0-10."""

    def frame_size(self, side: int, buf: bytes, start: int, end: int) -> int:
        if buf[start] == MAGIC[0]:
            if end - start >= len(MAGIC) and buf[start : start + len(MAGIC)] != MAGIC:
                return -1
            return HEADER_BYTES if end - start >= HEADER_BYTES else 0
        frame = read_head010(buf, start, end)
        if frame is None:
            return 0
        return frame.end - frame.start if frame.is_sane else -1

    def take_frame(self, side: int, buf: bytes, start: int, size: int) -> int:
        if buf[start : start + len(MAGIC)] == MAGIC:
            take_protocol_header(self, side, buf[start : start + size])
            return 0
        frame = cut_frame010(buf, start, start + size)
        assert frame is not None
        self._row(side, frame, buf)
        return 0

    def _row(self, side: int, frame: Frame010, buf: bytes) -> None:
        conn, rows = self.conn, self.conn.frames
        base = conn.frame_row(
            side,
            self.ts_ns,
            self.packet_no,
            self.first_packet_no,
            self.offset,
            frame.end - frame.start,
        )
        name = name_frame010(frame, buf)
        columns = {
            "channel": frame.channel,
            "frame_type": v0_10.SEGMENT_TYPES[frame.segment_type],
            "name": name or UNKNOWN,
            "status": "ok" if name else UNKNOWN,
            "fields": dumps([("flags", frame.flags), ("track", frame.track)]),
        }
        if frame.segment_type == v0_10.BODY:
            columns["body_bytes"] = frame.end - frame.payload_start
        if not name:
            conn.problem(
                "method09.unknown",
                "a control or command that is not in 0-10",
                side,
                self.ts_ns,
                self.packet_no,
                self.offset,
                frame.end - frame.start,
            )
        for column, value in columns.items():
            rows.put(base, rows.places[column], value)

    def find_frame(self, side: int, buf: bytes, start: int, end: int, is_final: bool) -> int:
        wanted = 1 if is_final else FRAMES_IN_CHAIN
        return next(
            (at for at in range(start, end - HEADER_SIZE + 1) if _is_chain(buf, at, end, wanted)),
            -1,
        )


def _is_chain(buf: bytes, at: int, end: int, wanted: int) -> bool:
    for _ in range(wanted):
        frame = cut_frame010(buf, at, end)
        if frame is None or not frame.is_sane or name_frame010(frame, buf) is None:
            return False
        at = frame.end
    return True
