"""Places in a large capture file from which it can be read on.

A file is walked once with its reader, which steps from header to header, and the reader's state
is noted every so many bytes. A reader that is put at such a mark goes on exactly as the first one
did: the same packets with the same numbers. So no place is ever guessed.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from struct import Struct
from typing import Any

from dissectors.capture.pcapng import PcapngReader
from dissectors.capture.reader import Reader

# The state of a reader between two packets, beside what the file header says.
_SHARED = ("ts_ns", "order_ns", "packet_no")
_PCAP = ("last_seconds",)
_PCAPNG = ("is_big_endian",)


@dataclass(frozen=True, slots=True)
class Mark:
    """Where in the file the next packet begins, and what its reader knows there."""

    offset: int
    state: dict[str, Any]
    interfaces: tuple[Any, ...] = ()

    @property
    def packet_no(self) -> int:
        """Number of the last packet before the mark."""
        return int(self.state["packet_no"])


def find_marks(reader: Reader, step_bytes: int) -> list[Mark]:
    """Walk the file to its end; a mark after every ``step_bytes``, none at the end itself."""
    marks: list[Mark] = []
    boundary = step_bytes
    while reader.advance():
        offset = reader.window_offset + reader.pos
        if offset >= boundary:
            marks.append(_mark(reader, offset))
            boundary = offset + step_bytes
    if marks and marks[-1].packet_no == reader.packet_no:
        marks.pop()
    return marks


def resume(reader: Reader, mark: Mark) -> None:
    """Put a freshly opened reader of the same file at a mark."""
    reader.stream.seek(mark.offset)
    reader.buf, reader.pos, reader.limit, reader.is_at_eof = b"", 0, 0, 0
    reader.window_offset = mark.offset
    for name, value in mark.state.items():
        setattr(reader, name, value)
    if isinstance(reader, PcapngReader):
        order = ">" if reader.is_big_endian else "<"
        reader.unpack = Struct(order + "2I").unpack_from
        reader.unpack_packet = Struct(order + "5I").unpack_from
        reader.interfaces = [copy(interface) for interface in mark.interfaces]
        reader.if_number = -1


def _mark(reader: Reader, offset: int) -> Mark:
    own = _PCAPNG if isinstance(reader, PcapngReader) else _PCAP
    state = {name: getattr(reader, name) for name in (*_SHARED, *own)}
    interfaces = getattr(reader, "interfaces", ())
    return Mark(offset, state, tuple(copy(interface) for interface in interfaces))
