"""Finding frames again after a gap or garbage, by their shape (1.0 §2.3): a sane header whose
body begins with a known performative, and another such frame right behind it."""

from __future__ import annotations

from collections.abc import Callable

from .definitions import PERFORMATIVES, SASL_FRAMES
from .frames import (
    AMQP_FRAME,
    FRAME_HEADER_BYTES,
    FRAME_TYPES,
    MIN_DOFF,
    PROTOCOL_HEADER_BYTES,
    SASL_FRAME,
    decode_frame_header,
    is_sane_header,
)
from .octets import read_code

#: No peer sends frames this large; a size beyond it is no size.
MAX_SANE_FRAME = 1 << 28
#: Frames in a row that prove a place that no segment boundary speaks for.
CHAIN_LENGTH = 2

_CODES = {
    AMQP_FRAME: frozenset(row.code for row in PERFORMATIVES),
    SASL_FRAME: frozenset(row.code for row in SASL_FRAMES),
}
_SYMBOLS = frozenset(row.symbol.encode() for row in (*PERFORMATIVES, *SASL_FRAMES))
_LISTS = frozenset((0x45, 0xC0, 0xD0))
#: doff, type as nearly every frame has them, at octets 4 and 5.
_MARKS = tuple(bytes((MIN_DOFF, frame_type)) for frame_type in FRAME_TYPES)

CUT = -1

#: Whether the body of a frame of a type begins here: (octets, from, to, frame type).
IsBody = Callable[[bytes, int, int, int], bool]


def find_frame(
    buf: bytes, start: int, end: int, is_final: bool, is_body: IsBody | None = None
) -> int:
    """The first offset from `start` where frames surely begin again, or -1. `start` itself is
    a segment's first octet, where one frame is proof enough. `is_body` tells a frame body of
    another version."""
    is_body = is_body or _is_performative
    if _chain(buf, start, end, is_body) >= 1:
        return start
    wanted = 1 if is_final else CHAIN_LENGTH
    at = start
    while True:
        at = _next_mark(buf, at + 1, end)
        if at < 0:
            return -1
        if _chain(buf, at, end, is_body) >= wanted:
            return at


def _next_mark(buf: bytes, at: int, end: int) -> int:
    """The next offset that may be a frame's start."""
    found = [buf.find(mark, at + 4, end) - 4 for mark in _MARKS]
    found.append(buf.find(b"AMQP", at, end))
    later = [place for place in found if place >= at]
    return min(later, default=-1)


def _chain(buf: bytes, at: int, end: int, is_body: IsBody) -> int:
    """Frames in a row from here; a plausible one that the end cuts counts behind a whole one."""
    count = 0
    while count < CHAIN_LENGTH and at < end:
        size = frame_shape(buf, at, end, is_body)
        if size == 0:
            return 0
        if size == CUT:
            return count
        count += 1
        at += size
    return count


def frame_shape(buf: bytes, at: int, end: int, is_body: IsBody) -> int:
    """Size of the whole frame that begins at `at`; 0 if none does; CUT if it may but is cut."""
    if end - at < FRAME_HEADER_BYTES:
        return CUT
    if buf[at : at + 4] == b"AMQP":
        return PROTOCOL_HEADER_BYTES
    header = decode_frame_header(buf, at)
    if not is_sane_header(header) or header.size > MAX_SANE_FRAME:
        return 0
    stop = at + header.size
    if header.size == header.body:
        return header.size if stop <= end else CUT
    body = at + header.body
    if body + 12 > end and stop > end:
        return CUT
    if not is_body(buf, body, min(stop, end), header.type):
        return 0
    return header.size if stop <= end else CUT


def _is_performative(buf: bytes, at: int, end: int, frame_type: int) -> bool:
    code = read_code(buf, at, end)
    if code >= 0:
        after = at + (3 if buf[at + 1] == 0x53 else 10)
        return code in _CODES[frame_type] and after < end and buf[after] in _LISTS
    if buf[at : at + 2] == b"\x00\xa3":
        return bytes(buf[at + 3 : at + 3 + buf[at + 2]]) in _SYMBOLS
    return False
