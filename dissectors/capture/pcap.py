"""pcap files: microseconds and nanoseconds, both byte orders, the "modified" record header.

A record header that cannot be right is judged by the chain of records that follows from it. If
the chain fails, the next place from which a chain of plausible headers leads on is searched, so
that one damaged record does not cost the rest of the file.
"""

import re
from struct import Struct

import cython

from dissectors.capture.interfaces import BYTE_ORDERS
from dissectors.capture.magic import PCAP_SHAPES
from dissectors.capture.reader import (
    LOOKAHEAD_BYTES,
    MAX_DECLARED_PACKET_BYTES,
    MAX_PACKET_BYTES,
    Reader,
)

FILE_HEADER_BYTES = 24
# Records that must follow one another for a place to count as the start of a record.
CHAIN_RECORDS = 3
# Neighbouring records further apart in time than this are looked at twice.
MAX_STEP_SECONDS = cython.declare(cython.longlong, 86_400)
# A single record at the end of a file is believed only this near to the last good one.
LAST_RECORD_SECONDS = 3_600
# Without a good record before the damage there is no time to search for: look this far only.
BLIND_SEARCH_BYTES = 1024 * 1024


class PcapReader(Reader):
    """``buf`` is the window of the stream: packets are not copied."""

    def __init__(self, stream, capture: str, report, secrets: list) -> None:
        super().__init__(stream, capture, report, secrets)
        self.header_bytes = 16
        self.fraction_ns = 1000
        self.fractions = 1_000_000
        self.max_packet_bytes = MAX_PACKET_BYTES
        self.last_seconds = -1
        self.unpack = Struct("<4I").unpack_from

    def open(self) -> int:
        """Read the file header; 0 if the file ends inside it."""
        if not self.fill(FILE_HEADER_BYTES):
            self.problem("capture.truncated", "the file header is cut", self.limit, self.buf[:16])
            return 0
        shape = PCAP_SHAPES[self.buf[:4]]
        self.is_big_endian = shape.is_big_endian
        self.header_bytes = shape.record_header_bytes
        self.fraction_ns = shape.fraction_ns
        self.fractions = 1_000_000_000 // shape.fraction_ns
        self.unpack = Struct(">4I" if shape.is_big_endian else "<4I").unpack_from
        snap_length = self.u32(16)
        self.max_packet_bytes = max(MAX_PACKET_BYTES, min(snap_length, MAX_DECLARED_PACKET_BYTES))
        # The upper bits of the field tell the length of the frame check sequence.
        self.link_type = self.u32(20) & 0xFFFF
        self.pos = FILE_HEADER_BYTES
        return 1

    def advance(self) -> cython.int:
        pos: cython.Py_ssize_t
        size: cython.Py_ssize_t
        seconds: cython.longlong
        fraction: cython.longlong
        captured: cython.longlong
        wire: cython.longlong
        while True:
            pos = self.pos
            if pos + self.header_bytes > self.limit:
                if not self.fill(self.header_bytes):
                    if self.limit > self.pos:
                        self.give_up("capture.truncated", "the file ends inside a record header")
                    return 0
                pos = self.pos
            if cython.compiled:
                self.load(pos, 4)
                seconds = self.words[0]
                fraction = self.words[1]
                captured = self.words[2]
                wire = self.words[3]
            else:
                seconds, fraction, captured, wire = self.unpack(self.buf, pos)
            if (
                captured > self.max_packet_bytes
                or captured > wire
                or fraction >= self.fractions
                or (
                    self.last_seconds >= 0
                    and not -MAX_STEP_SECONDS <= seconds - self.last_seconds <= MAX_STEP_SECONDS
                )
            ):
                if not self.is_chain(0):
                    if not self.resync("capture.bad_block", "a record header cannot be right"):
                        return 0
                    continue
                pos = self.pos
            size = self.header_bytes + captured
            if pos + size > self.limit:
                if not self.fill(size):
                    if not self.resync("capture.truncated", "the file ends inside a packet"):
                        return 0
                    continue
                pos = self.pos
            self.packet_no += 1
            self.start = pos + self.header_bytes
            self.end = pos + size
            self.pos = self.end
            self.wire_length = wire if wire >= captured else captured
            self.last_seconds = seconds
            self.ts_ns = seconds * 1_000_000_000 + fraction * self.fraction_ns
            if self.ts_ns >= self.order_ns:
                self.order_ns = self.ts_ns
            else:
                self.note_time()
            if self.packet_no == 1:
                self.check_link_type("the file")
            return 1

    def is_chain(self, is_strict: cython.int) -> cython.int:
        """Do plausible records follow one another from ``pos`` on?

        Strict is for a place found by search: there, times must be near the last good record and
        lengths in order. Otherwise the place is where a record ought to be: tidy records of any
        time are believed (the capture was idle, or its clock was set), and so are writers that
        fill the fraction or the lengths oddly, if they go on like that and the time is near.
        """
        ahead: cython.Py_ssize_t = 0
        links: cython.int = 0
        near: cython.longlong = self.last_seconds
        for links in range(CHAIN_RECORDS):
            if not self.fill(ahead + self.header_bytes):
                if is_strict and links == 1:
                    step = near - self.last_seconds
                    return self.pos + ahead == self.limit and 0 <= step <= LAST_RECORD_SECONDS
                return self.pos + ahead == self.limit or links >= 2
            pos = self.pos + ahead
            seconds, fraction, captured, wire = self.unpack(self.buf, pos)
            if captured == 0 or captured > self.max_packet_bytes:
                return 0
            is_tidy = captured <= wire and fraction < self.fractions
            is_near = near < 0 or -MAX_STEP_SECONDS <= seconds - near <= MAX_STEP_SECONDS
            if not (is_tidy and is_near if is_strict else is_tidy or is_near):
                return 0
            near = seconds
            ahead += self.header_bytes + captured
            if ahead > LOOKAHEAD_BYTES:
                return not is_strict
        return self.fill(ahead) or not is_strict

    def resync(self, code: str, detail: str) -> cython.int:
        """Find the next record after a broken one at ``pos``; 0 when there is none.

        What stands there is not shown: it may be from inside a packet, and a credential."""
        broken_at = self.window_offset + self.pos
        search = self.time_pattern()
        self.pos += 1
        while self.fill(self.header_bytes):
            skipped = self.window_offset + self.pos - broken_at
            if search is None:
                if skipped > BLIND_SEARCH_BYTES:
                    break
            else:
                found = search(self.buf, self.pos + (0 if self.is_big_endian else 2))
                if found is None:
                    self.pos = self.limit - self.header_bytes + 1
                    continue
                self.pos = found.start() - (0 if self.is_big_endian else 2)
                if self.limit - self.pos < self.header_bytes:
                    continue
            if self.is_chain(1):
                skipped = self.window_offset + self.pos - broken_at
                self.problem("capture.bad_block", "a record cannot be right", skipped, b"")
                return 1
            self.pos += 1
        lost = self.window_offset + self.limit - broken_at
        self.pos = self.limit
        self.is_at_eof = 1
        self.problem(code, detail, lost, b"")
        return 0

    def time_pattern(self):
        """Search for the upper half of a time within some hours of the last good record."""
        if self.last_seconds < 0:
            return None
        upper = self.last_seconds >> 16
        order = BYTE_ORDERS[self.is_big_endian]
        halves = [
            re.escape(half.to_bytes(2, order))
            for half in (upper - 1, upper, upper + 1)
            if 0 <= half <= 0xFFFF
        ]
        return re.compile(b"|".join(halves), re.DOTALL).search

    def give_up(self, code: str, detail: str) -> None:
        self.problem(code, detail, self.limit - self.pos, b"")
        self.pos = self.limit
