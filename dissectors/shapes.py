"""How frames of each family look from outside: enough to tell them apart without decoding."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

FRAME_END_09 = 0xCE
FRAME_TYPES_09 = frozenset({1, 2, 3, 8})
MAX_SHAPE_FRAME = 1 << 20
HEARTBEAT_09 = b"\x08\x00\x00\x00\x00\x00\x00\xce"
# class-ids of all 0-9 family dialects; no method-id is over 123
CLASSES_09 = frozenset({10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 100, 110, 120})
MAX_METHOD_ID = 123
# basic and channel-less methods that only one side sends (0-9-1 §1.8): (class, method) → sender
SENDERS_09: dict[tuple[int, int], str] = {
    (60, 40): "client", (60, 60): "server", (60, 50): "server", (60, 70): "client",
    (60, 71): "server", (60, 72): "server", (60, 90): "client", (60, 10): "client",
    (60, 11): "server", (60, 20): "client", (60, 21): "server", (10, 10): "server",
    (10, 11): "client", (10, 30): "server", (10, 31): "client", (10, 40): "client",
    (10, 41): "server", (50, 10): "client", (50, 11): "server", (20, 10): "client",
    (20, 11): "server", (85, 10): "client", (85, 11): "server", (90, 20): "client",
    (90, 21): "server", (10, 60): "server", (10, 61): "server",
}  # fmt: skip
# numeric descriptors of performatives and SASL frames of the final 1.0
FRAME_CODES_10 = frozenset({*range(0x10, 0x19), *range(0x40, 0x45)})
_DRAFT_DOMAIN = b"\x80\x00\x00\x00\x01"


# Enough to be as sure as shapes can make us.
MAX_SCORE = 16
_HEADER_09 = {7: struct.Struct(">BHI"), 8: struct.Struct(">BxHI")}
# 0-10 §4.3: flags with version 0, segment type, size, 0, track, channel, 4 reserved octets
_HEADER_010 = struct.Struct(">BBHBBHI")
_CLASSES_010 = range(1, 11)


def score_09(octets: bytes, width: int = 7) -> tuple[int, str | None]:
    """Number of frames in a row from the start, and who must have sent them.

    ``width`` is that of the frame header: 8 in the 0-9 revision 1 draft, with its cycle octet."""
    count, offset, sender = 0, 0, None
    unpack = _HEADER_09[width].unpack_from
    while offset + width + 1 <= len(octets) and count < MAX_SCORE:
        frame_type, _channel, size = unpack(octets, offset)
        end = offset + width + size
        if frame_type not in FRAME_TYPES_09 or size > MAX_SHAPE_FRAME:
            break
        if end >= len(octets):
            break
        if octets[end] != FRAME_END_09:
            return (0, None) if count == 0 else (count, sender)
        if frame_type == 1:
            if size < 4:
                break
            ids = struct.unpack_from(">HH", octets, offset + width)
            if ids[0] not in CLASSES_09 or not 0 < ids[1] <= MAX_METHOD_ID:
                break
            sender = sender or SENDERS_09.get(ids)
        elif frame_type == 8 and size:
            break
        count += 1
        offset = end + 1
    return count, sender


def score_10(octets: bytes) -> int:
    """Number of 1.0 frames in a row from the start; the last one may be cut."""
    count, offset = 0, 0
    while offset + 8 <= len(octets) and count < MAX_SCORE:
        size, doff, frame_type, _channel = struct.unpack_from(">IBBH", octets, offset)
        body = offset + 4 * doff
        if size < 8 or doff < 2 or frame_type > 1 or 4 * doff > size or size > 16 * MAX_SHAPE_FRAME:
            break
        if size > 4 * doff:
            code = descriptor_code(octets, body)
            if code is None:
                break
        elif size != 8:
            break
        count += 1
        offset += size
    return count


def score_010(octets: bytes) -> int:
    """Number of whole 0-10 frames in a row from the start; a single one must name a class."""
    count, offset = 0, 0
    while offset + _HEADER_010.size <= len(octets) and count < MAX_SCORE:
        flags, kind, size, zero, track, _channel, reserved = _HEADER_010.unpack_from(octets, offset)
        if flags >> 4 or kind > 3 or zero or reserved or track > 1 or size < _HEADER_010.size:
            break
        if offset + size > len(octets):
            break
        body = octets[offset + _HEADER_010.size : offset + size]
        if kind <= 1 and (len(body) < 2 or body[0] not in _CLASSES_010):
            break
        count += 1
        offset += size
    first_kind = octets[1] if count else 0
    return count if count > 1 or first_kind <= 1 else 0


# Where frames may begin inside a stream: behind a frame-end, or a small size, doff 2 and a type.
_INSIDE: tuple[tuple[re.Pattern[bytes], Callable[[bytes], int]], ...] = (
    (re.compile(rb"\xce(?=[\x01\x02\x03\x08][\x00-\xff]{2}\x00)"), lambda o: score_09(o)[0]),
    (re.compile(rb"(?=\x00[\x00-\xff]{3}\x02[\x00\x01])"), score_10),
)
# So long may the search inside take; frames are much more frequent than this.
_MAX_CANDIDATES = 2000
_FRAMES_INSIDE = 3
_REACH = 4096


def find_frames(octets: bytes) -> int:
    """First place inside a stream from which several frames follow one another, or -1."""
    for pattern, score in _INSIDE:
        for number, match in enumerate(pattern.finditer(octets)):
            if number >= _MAX_CANDIDATES:
                break
            if score(octets[match.end() : match.end() + _REACH]) >= _FRAMES_INSIDE:
                return match.end()
    return -1


def descriptor_code(octets: bytes, offset: int) -> int | str | None:
    """The descriptor of a frame body, or None where it is no known performative."""
    head = octets[offset : offset + 10]
    if head[:2] == b"\x00\x53" and len(head) >= 3 and head[2] in FRAME_CODES_10:
        return head[2]
    if head[:2] == b"\x00\x80" and len(head) >= 10:
        code = int.from_bytes(head[2:10], "big")
        if code in FRAME_CODES_10 or (code >> 32) == 1:
            return code
    if head[:2] == b"\x00\xa3" and octets[offset + 3 : offset + 8] == b"amqp:":
        return octets[offset + 3 : offset + 3 + head[2]].decode("ascii", "replace")
    return None


def is_draft(start: bytes) -> bool | None:
    """Whether the first frame is of the 2010 draft; None while no frame is there to tell.

    The draft's descriptors are in domain 1; where it sends symbols, which the final version
    spells alike, the first field is the options map or null."""
    offset = 0
    while start[offset : offset + 4] == b"AMQP":
        offset += 8
    while True:
        if len(start) < offset + 8:
            return None
        size, doff = struct.unpack_from(">IB", start, offset)
        if size > 4 * doff:
            break
        if size < 8:
            return False
        offset += size
    body = offset + 4 * doff
    if len(start) < min(body + 40, offset + size):
        return None
    code = descriptor_code(start, body)
    if not isinstance(code, str):
        return isinstance(code, int) and code >> 32 == 1
    return code.endswith(":map") or _first_field(start, body + 3 + start[body + 2]) in (
        0x40, 0xC1, 0xD1)  # fmt: skip


def _first_field(octets: bytes, offset: int) -> int | None:
    """Constructor of the first field of the list that begins here."""
    width = {0xC0: 3, 0xD0: 9}.get(octets[offset]) if offset < len(octets) else None
    if width is None or offset + width >= len(octets):
        return None
    return octets[offset + width]


def frame_header_width(octets: bytes) -> int | None:
    """7 or 8: the width of the 0-9 family's frame header, by where its first method stands."""
    for width in (7, 8):
        if len(octets) < width + 4 or octets[0] != 1:
            continue
        size = int.from_bytes(octets[width - 4 : width], "big")
        ids = struct.unpack_from(">HH", octets, width)
        if size <= MAX_SHAPE_FRAME and ids[0] == 10 and 0 < ids[1] <= MAX_METHOD_ID:
            end = width + size
            if end >= len(octets) or octets[end] == FRAME_END_09:
                return width
    return None


def is_tls(octets: bytes) -> bool:
    """A TLS record header: type 20 to 24, version 3.0 to 3.4, a length that records may have."""
    if len(octets) < 5:
        return False
    length = int.from_bytes(octets[3:5], "big")
    is_record = 20 <= octets[0] <= 24 and octets[1] == 3 and octets[2] <= 4
    return is_record and 0 < length <= 0x4800


def is_client_hello(octets: bytes) -> bool:
    return len(octets) >= 6 and octets[0] == 22 and octets[5] == 1
