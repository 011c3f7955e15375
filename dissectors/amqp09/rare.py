"""Every frame that is not hot, read by the dialect's tables: handshake, channels, queues,
transactions, heartbeats, structured contents, and all that is malformed.

Here frames are told apart; methods are read in `method_frames`, contents in `content_frames`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import frames
from .content_frames import ContentFrames
from .dialects import PROTOCOL_HEADERS
from .frame_rows import MALFORMED, OK, UNKNOWN
from .frames import FRAME_END, FRAME_TYPES, Frame, cut_frame
from .jsonvalue import dumps
from .method_frames import UNKNOWN_METHOD, MethodFrames
from .octets import MalformedError

if TYPE_CHECKING:
    from .decoder import Decoder09

# The highest frame type of a dialect; 0-9-1 has 1, 2, 3 and 8.
MAX_TYPES = {"0-9": frames.RESPONSE}


class RareFrames(ContentFrames, MethodFrames):
    """Reads frames by the tables."""

    def __init__(self, dec: Decoder09, dialect: str) -> None:
        super().__init__(dec, dialect)
        self.max_type = MAX_TYPES.get(dialect, frames.HEARTBEAT)
        self.readers = {
            frames.METHOD: self.method_frame,
            frames.HEADER: self.header_frame,
            frames.BODY: self.body_frame,
            frames.HEARTBEAT: self._heartbeat,
            frames.TRACE: self._trace,
            frames.OOB_METHOD: self._oob,
            frames.OOB_HEADER: self._oob,
            frames.OOB_BODY: self._oob,
            frames.REQUEST: self._request,
            frames.RESPONSE: self._response,
        }

    # -- any frame ------------------------------------------------------------------------

    def take(self, side: int, buf: bytes, start: int, size: int) -> None:
        """One whole frame, or a protocol header."""
        if buf[start : start + 4] == b"AMQP":
            self._protocol_header(side, buf[start : start + size])
            return
        frame = cut_frame(buf, start, start + size, self.framing)
        assert frame is not None
        if frame.end_octet != FRAME_END:
            self.problem(
                "frame09.bad_end_octet",
                f"frame-end is 0x{frame.end_octet:02x}, not 0xce",
                side,
                size,
            )
            self._unapplied(side, frame, buf)
            return
        if self.dec.frame_max and size > self.dec.frame_max:
            self.problem(
                "frame09.oversized", f"{size} octets, frame-max is {self.dec.frame_max}", side, size
            )
        self.readers[frame.type](side, frame, buf)

    def _unapplied(self, side: int, frame: Frame, buf: bytes) -> None:
        """A frame whose end is wrong is named, but changes nothing (0-9-1 §4.2.3)."""
        name = FRAME_TYPES[frame.type]
        fields = None
        if frame.type == frames.METHOD:
            decoded = self.decode(buf[frame.payload_start : frame.payload_end])
            name = decoded.method.full_name if decoded else UNKNOWN_METHOD
            fields = self.fields_of(decoded) if decoded else None
        self.row(side, frame, name, MALFORMED, fields)

    def _protocol_header(self, side: int, octets: bytes) -> None:
        base = self.conn.frame_row(
            side,
            self.dec.ts_ns,
            self.dec.packet_no,
            self.dec.first_packet_no,
            self.dec.offset,
            len(octets),
        )
        version = list(octets[4:])
        dialect = PROTOCOL_HEADERS.get(octets[4:])
        rows = self.dec.frames
        values = {
            "frame_type": "protocol-header",
            "name": "protocol-header",
            "status": OK if dialect else UNKNOWN,
            "fields": dumps([("dialect", dialect), ("version", bytes(version).hex())]),
        }
        for column, value in values.items():
            rows.put(base, rows.places[column], value)
        if side != self.client_side:
            offered = dialect or ".".join(map(str, version))
            self.problem(
                "detect.refused_version", f"the server offers {offered} instead", side, len(octets)
            )
            self.conn.facts["close_reason"] = f"protocol version refused; server offers {offered}"
            self.conn.facts["close_initiator"] = "server"

    # -- other frames ---------------------------------------------------------------------

    def _heartbeat(self, side: int, frame: Frame, buf: bytes) -> None:
        status = OK
        if frame.channel or frame.size:
            status = MALFORMED
            self.problem(
                "frame09.bad_heartbeat",
                f"a heartbeat on channel {frame.channel} with {frame.size} octets",
                side,
            )
        self.row(side, frame, "heartbeat", status)

    def _trace(self, side: int, frame: Frame, buf: bytes) -> None:
        status = OK
        if frame.channel:
            # 0-9 revision 1 draft, "Trace Frames": amq_wlp_trace_01
            status = MALFORMED
            self.problem("frame09.bad_trace", f"a trace frame on channel {frame.channel}", side)
        payload = buf[frame.payload_start : frame.payload_end]
        self.row(side, frame, "trace", status, dumps([("trace", payload)]))

    def _oob(self, side: int, frame: Frame, buf: bytes) -> None:
        """Its payload goes another way; how long it is, is all that the stream says."""
        if self.dialect_name == "0-9-1":
            self.problem("frame09.unknown_type", f"frame type {frame.type}", side)
        name = FRAME_TYPES[frame.type]
        status = UNKNOWN if self.dialect_name == "0-9-1" else OK
        self.row(side, frame, name, status, dumps([("size", frame.size)]))

    def _request(self, side: int, frame: Frame, buf: bytes) -> None:
        payload = buf[frame.payload_start : frame.payload_end]
        request = frames.decode_request(payload)
        if isinstance(request, MalformedError):
            self.problem("frame09.short_request", request.detail, side, len(payload), payload)
            self.row(side, frame, "request", MALFORMED)
            return
        head = (
            ("request-id", request.request_id),
            ("response-mark", request.response_mark),
            ("inferred-frame-type", frame.type),
        )
        self.take_method(side, frame, payload[frames.ENVELOPE_SIZE :], head)

    def _response(self, side: int, frame: Frame, buf: bytes) -> None:
        payload = buf[frame.payload_start : frame.payload_end]
        response = frames.decode_response(payload)
        if isinstance(response, MalformedError):
            self.problem("frame09.short_response", response.detail, side, len(payload), payload)
            self.row(side, frame, "response", MALFORMED)
            return
        head = (
            ("response-id", response.response_id),
            ("request-id", response.request_id),
            ("batch-offset", response.batch_offset),
            ("inferred-frame-type", frame.type),
        )
        self.take_method(side, frame, payload[frames.ENVELOPE_SIZE :], head)
