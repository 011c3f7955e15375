"""Frames of AMQP 0-10: cut and named (0-10 §9, "The Framing").

    flags(1) segment type(1) size(2, header included) reserved(1) track(1) channel(2) reserved(4)

0-10 has no frame-end octet. Controls and commands begin with class and code; arguments are left
as octets.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from .dialects import v0_10
from .octets import Buffer

_HEADER = Struct(">BBHBBHI")
HEADER_SIZE = _HEADER.size

FIRST_SEGMENT = 0x08
LAST_SEGMENT = 0x04
FIRST_FRAME = 0x02
LAST_FRAME = 0x01
VERSION_MASK = 0xC0
TRACK_MASK = 0x0F

_NAMES = {
    (segment_type, class_code, code): f"{class_name}.{name}"
    for (class_code, class_name), names in v0_10.CLASSES.items()
    for (segment_type, code), name in names.items()
}


@dataclass(frozen=True, slots=True)
class Frame010:
    """One 0-10 frame in a buffer."""

    flags: int
    segment_type: int
    track: int
    channel: int
    reserved: int
    start: int
    end: int

    @property
    def payload_start(self) -> int:
        return self.start + HEADER_SIZE

    @property
    def is_sane(self) -> bool:
        """Whether it can be a frame at all: its version, type and size are possible ones."""
        return (
            not self.flags & VERSION_MASK
            and not self.reserved
            and self.segment_type in v0_10.SEGMENT_TYPES
            and self.end >= self.payload_start
        )


def read_head010(buffer: Buffer, start: int, end: int) -> Frame010 | None:
    """The frame whose header is at `start`, whether or not all of it is there."""
    if start + HEADER_SIZE > end:
        return None
    flags, segment_type, size, reserved, track, channel, rest = _HEADER.unpack_from(buffer, start)
    return Frame010(
        flags, segment_type, track & TRACK_MASK, channel, reserved | rest, start, start + size
    )


def cut_frame010(buffer: Buffer, start: int, end: int) -> Frame010 | None:
    """The frame at `start`, or None while it is not all there. Check `is_sane` before use."""
    frame = read_head010(buffer, start, end)
    return None if frame is None or frame.end > end else frame


def name_frame010(frame: Frame010, buffer: Buffer) -> str | None:
    """`connection.open`, `message.transfer`, `header`, `body`; None when 0-10 has no such code."""
    if frame.segment_type not in (v0_10.CONTROL, v0_10.COMMAND):
        return v0_10.SEGMENT_TYPES[frame.segment_type]
    if not frame.flags & FIRST_FRAME or frame.end - frame.payload_start < 2:
        return v0_10.SEGMENT_TYPES[frame.segment_type]
    class_code, code = buffer[frame.payload_start], buffer[frame.payload_start + 1]
    return _NAMES.get((frame.segment_type, class_code, code))


def encode_frame010(
    segment_type: int,
    channel: int,
    payload: Buffer,
    track: int = 0,
    flags: int = FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME | LAST_FRAME,
) -> bytes:
    """A whole frame around a segment payload."""
    size = HEADER_SIZE + len(payload)
    return _HEADER.pack(flags, segment_type, size, 0, track, channel, 0) + bytes(payload)
