"""Interfaces of a pcapng section: their link type and how their clock is to be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

ByteOrder = Literal["little", "big"]
# By whether a file is big endian.
BYTE_ORDERS: tuple[ByteOrder, ByteOrder] = ("little", "big")
NANOSECONDS = 1_000_000_000
MAX_TS_NS = 0x7FFFFFFFFFFFFFFF
# if_tsresol: without the option the clock counts microseconds.
DEFAULT_RESOLUTION = 6
OPT_END = 0
OPT_IF_NAME = 2
OPT_IF_TSRESOL = 9
OPT_IF_TSOFFSET = 14


class Interface:
    def __init__(self, link_type: int, snap_length: int) -> None:
        self.link_type = link_type
        self.snap_length = snap_length
        self.name = ""
        self.resolution = DEFAULT_RESOLUTION
        self.offset_seconds = 0
        self.is_checked = False

    @property
    def tick_ns(self) -> int:
        """Nanoseconds per tick, or 0 when a tick is no whole number of them."""
        return 0 if self.resolution > 9 else 10 ** (9 - self.resolution)

    def time_ns(self, high: int, low: int) -> int:
        """The time of a packet in nanoseconds since 1970, for any resolution."""
        exponent = self.resolution & 0x7F
        per_second = 1 << exponent if self.resolution & 0x80 else 10**exponent
        ticks = high << 32 | low
        time = ticks * NANOSECONDS // per_second + self.offset_seconds * NANOSECONDS
        return max(0, min(time, MAX_TS_NS))


def read_interface(body: bytes, order: ByteOrder) -> Interface:
    """The body of an Interface Description Block (8 bytes or more)."""
    interface = Interface(
        link_type=int.from_bytes(body[0:2], order),
        snap_length=int.from_bytes(body[4:8], order),
    )
    for code, value in iter_options(body, 8, order):
        if code == OPT_IF_NAME:
            interface.name = value.decode("utf-8", "backslashreplace")
        elif code == OPT_IF_TSRESOL and len(value) >= 1:
            interface.resolution = value[0]
        elif code == OPT_IF_TSOFFSET and len(value) >= 8:
            interface.offset_seconds = int.from_bytes(value[:8], order, signed=True)
    return interface


def iter_options(body: bytes, pos: int, order: ByteOrder) -> Iterator[tuple[int, bytes]]:
    """Options of a block until their end mark or the end of the block."""
    while pos + 4 <= len(body):
        code = int.from_bytes(body[pos : pos + 2], order)
        length = int.from_bytes(body[pos + 2 : pos + 4], order)
        if code == OPT_END:
            return
        yield code, body[pos + 4 : pos + 4 + length]
        pos += 4 + (length + 3 & ~3)
