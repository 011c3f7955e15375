"""Frames of 0-8, 0-9, the 0-9 revision 1 draft and 0-9-1: cut out of a stream, and made.

    type(1) [cycle(1), draft only] channel(2) size(4) payload frame-end(0xCE)

This module says where frames begin and end and what their headers hold; payloads are the business
of `methods` and `headers`. It does not look for the next frame after garbage.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from .octets import Buffer, MalformedError, short

FRAME_END = 0xCE
FRAME_END_SIZE = 1

METHOD = 1
HEADER = 2
BODY = 3
OOB_METHOD = 4
OOB_HEADER = 5
OOB_BODY = 6
TRACE = 7
HEARTBEAT = 8
# The 0-9 text describes request and response frames but gives them no numbers; these two are
# those of Qpid's errata to 0-9, and are taken as inferred.
REQUEST = 9
RESPONSE = 10

FRAME_TYPES = {
    METHOD: "method",
    HEADER: "header",
    BODY: "body",
    OOB_METHOD: "oob-method",
    OOB_HEADER: "oob-header",
    OOB_BODY: "oob-body",
    TRACE: "trace",
    HEARTBEAT: "heartbeat",
    REQUEST: "request",
    RESPONSE: "response",
}
INFERRED_FRAME_TYPES = frozenset({REQUEST, RESPONSE})
# Their payload travels by another transport: only header and frame-end are in the stream
# (0-9 revision 1 draft, "Out-Of-Band Frames").
OOB_FRAME_TYPES = frozenset({OOB_METHOD, OOB_HEADER, OOB_BODY})
# 0-9-1 knows four types; its §4.2.3 prints heartbeat as 4, its constants and all peers say 8.
FRAME_TYPES_091 = frozenset({METHOD, HEADER, BODY, HEARTBEAT})


@dataclass(frozen=True, slots=True)
class Framing:
    """A frame header's layout."""

    name: str
    header: Struct
    has_cycle: bool

    @property
    def overhead(self) -> int:
        """Octets of a frame that are not payload."""
        return self.header.size + FRAME_END_SIZE


FRAMING_7 = Framing("7-octet", Struct(">BHI"), False)
FRAMING_8 = Framing("8-octet", Struct(">BBHI"), True)
FRAMINGS = {"0-9-draft": FRAMING_8}


def framing_of(dialect: str) -> Framing:
    return FRAMINGS.get(dialect, FRAMING_7)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame in a buffer: [start, end) with its payload at [payload_start, payload_end)."""

    type: int
    cycle: int | None
    channel: int
    size: int
    start: int
    payload_start: int
    payload_end: int
    end: int
    end_octet: int

    @property
    def is_oob(self) -> bool:
        """Its size counts octets that are not in this stream."""
        return self.payload_end - self.payload_start != self.size


def cut_frame(buffer: Buffer, start: int, end: int, framing: Framing = FRAMING_7) -> Frame | None:
    """The frame that begins at `start`, or None while the octets up to `end` do not hold it all.

    A wrong frame-end is the caller's to judge: `end_octet` says what is there.
    """
    payload_start = start + framing.header.size
    if payload_start + FRAME_END_SIZE > end:
        return None
    if framing.has_cycle:
        type_, cycle, channel, size = framing.header.unpack_from(buffer, start)
    else:
        type_, channel, size = framing.header.unpack_from(buffer, start)
        cycle = None
    # A peer that does send the payload in the stream is told by the octet in the end's place.
    is_empty = type_ in OOB_FRAME_TYPES and buffer[payload_start] == FRAME_END
    payload_end = payload_start if is_empty else payload_start + size
    if payload_end + FRAME_END_SIZE > end:
        return None
    return Frame(
        type_,
        cycle,
        channel,
        size,
        start,
        payload_start,
        payload_end,
        payload_end + FRAME_END_SIZE,
        buffer[payload_end],
    )


def encode_frame(
    type_: int, channel: int, payload: Buffer, framing: Framing = FRAMING_7, cycle: int = 0
) -> bytes:
    """A whole frame around a payload."""
    head = (type_, cycle, channel) if framing.has_cycle else (type_, channel)
    return framing.header.pack(*head, len(payload)) + bytes(payload) + bytes((FRAME_END,))


def encode_oob_frame(
    type_: int, channel: int, size: int, framing: Framing = FRAMING_8, cycle: int = 0
) -> bytes:
    """An out-of-band frame: it announces a payload of `size` octets that goes another way."""
    head = (type_, cycle, channel) if framing.has_cycle else (type_, channel)
    return framing.header.pack(*head, size) + bytes((FRAME_END,))


# request-id, response-mark, reserved / response-id, request-id, batch-offset
_ENVELOPE = Struct(">QQI")
ENVELOPE_SIZE = _ENVELOPE.size


@dataclass(frozen=True, slots=True)
class Request:
    """The head of a request frame; the method payload follows it (AMQP 0-9, "Request frames")."""

    request_id: int
    response_mark: int
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class Response:
    """The head of a response frame: it answers request_id to request_id + batch_offset."""

    response_id: int
    request_id: int
    batch_offset: int = 0

    @property
    def requests(self) -> range:
        return range(self.request_id, self.request_id + self.batch_offset + 1)


def decode_request(payload: Buffer) -> Request | MalformedError:
    if len(payload) < ENVELOPE_SIZE:
        return short("request header", ENVELOPE_SIZE, len(payload))
    return Request(*_ENVELOPE.unpack_from(payload))


def encode_request(request: Request, method_payload: Buffer) -> bytes:
    head = _ENVELOPE.pack(request.request_id, request.response_mark, request.reserved)
    return head + bytes(method_payload)


def decode_response(payload: Buffer) -> Response | MalformedError:
    if len(payload) < ENVELOPE_SIZE:
        return short("response header", ENVELOPE_SIZE, len(payload))
    return Response(*_ENVELOPE.unpack_from(payload))


def encode_response(response: Response, method_payload: Buffer) -> bytes:
    head = _ENVELOPE.pack(response.response_id, response.request_id, response.batch_offset)
    return head + bytes(method_payload)
