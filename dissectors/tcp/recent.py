"""The segments handed on last, of all connections together, to compare repeats with.

A retransmission that says something else than its first copy is worth a row (the first copy
wins). Segments are kept by reference to the reader's window and copied never; since the newest
few are kept whatever connection they belong to, idle connections hold no memory. What a repeat is
compared with must not depend on what other connections did meanwhile (they may be dissected
elsewhere): only segments so near in the same file that the ring holds them for certain count.
"""

import cython

# Repeats come soon or not at all; at 64 KiB each these hold 8 MiB at most.
SEGMENTS_KEPT = cython.declare(cython.int, 128)
# Fewer than are kept: files that overlap in time put their packets in between.
MAX_PACKETS_APART = cython.declare(cython.longlong, 64)


class Kept:
    """One segment: ``buf[start:end]`` of a half stream from ``offset`` on."""

    def __init__(self) -> None:
        self.half = None
        self.file_index = -1
        self.packet_no = 0
        self.offset = 0
        self.buf = b""
        self.start = 0
        self.end = 0


class Recent:
    """A ring; ``keep`` is called for every segment, ``conflict`` for repeats only."""

    def __init__(self) -> None:
        self.kept = [Kept() for _ in range(SEGMENTS_KEPT)]
        self.place = 0
        # The file that packets come from just now.
        self.file_index = -1

    def keep(
        self,
        half: object,
        packet_no: cython.longlong,
        offset: cython.longlong,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.int:
        kept: Kept = self.kept[self.place]
        self.place = (self.place + 1) & (SEGMENTS_KEPT - 1)
        kept.half = half
        kept.file_index = self.file_index
        kept.packet_no = packet_no
        kept.offset = offset
        kept.buf = buf
        kept.start = start
        kept.end = end
        return 0

    def conflict(
        self, half: object, packet_no: int, offset: int, buf: bytes, start: int, end: int
    ) -> int:
        """How many of these octets differ from what the half stream had at the same place."""
        kept: Kept
        differing = 0
        for kept in self.kept:
            if kept.half is not half or kept.file_index != self.file_index:
                continue
            if packet_no - kept.packet_no > MAX_PACKETS_APART:
                continue
            low = max(offset, kept.offset)
            high = min(offset + end - start, kept.offset + kept.end - kept.start)
            if low >= high:
                continue
            again = buf[start + low - offset : start + high - offset]
            first = kept.buf[kept.start + low - kept.offset : kept.start + high - kept.offset]
            if again != first:
                differing += sum(a != b for a, b in zip(again, first, strict=True))
        return differing
