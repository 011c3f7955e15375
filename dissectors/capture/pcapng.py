"""pcapng files: sections of any byte order, interfaces with clocks of their own, TLS secrets.

Packets come in Enhanced, Simple and (obsolete) Packet Blocks; other blocks are stepped over. A
block whose two lengths differ is broken: the next place where a block of a known type carries the
same length at both ends is searched.
"""

import re
from struct import Struct

import cython

from dissectors.capture.interfaces import BYTE_ORDERS, read_interface
from dissectors.capture.reader import (
    LOOKAHEAD_BYTES,
    MAX_DECLARED_PACKET_BYTES,
    MAX_TS_NS,
    Reader,
)

SECTION_HEADER = cython.declare(cython.longlong, 0x0A0D0D0A)
INTERFACE_DESCRIPTION = 1
PACKET = 2
SIMPLE_PACKET = 3
ENHANCED_PACKET = cython.declare(cython.longlong, 6)
DECRYPTION_SECRETS = 10
# Name resolution, statistics, journal, secrets, custom: not needed, but good marks for a search.
KNOWN_BLOCKS = (1, 2, 3, 4, 5, 6, 9, 10, 0xBAD, 0x40000BAD)
TLS_KEY_LOG = 0x544C534B
BYTE_ORDER_MAGIC = {b"\x1a\x2b\x3c\x4d": 1, b"\x4d\x3c\x2b\x1a": 0}

BLOCK_OVERHEAD_BYTES = 12
EPB_OVERHEAD_BYTES = cython.declare(cython.longlong, 32)
MAX_BLOCK_BYTES = cython.declare(cython.longlong, MAX_DECLARED_PACKET_BYTES + 64 * 1024)
MAX_INTERFACES = 65_536
MAX_SECRETS_BYTES = 16 * 1024 * 1024


class PcapngReader(Reader):
    """The clock of the interface of the last packet is kept at hand in ``if_*``."""

    def __init__(self, stream, capture: str, report, secrets: list) -> None:
        super().__init__(stream, capture, report, secrets)
        self.interfaces: list = []
        self.secrets_bytes = 0
        self.if_number = -1
        self.if_tick_ns = 0
        self.if_max_ticks = 0
        self.if_offset_ns = 0
        self.unpack = Struct("<2I").unpack_from
        self.unpack_packet = Struct("<5I").unpack_from

    def open(self) -> int:
        """Look at the section header; 0 if the file does not begin with a whole one."""
        if self.fill(28) and self.start_section():
            return 1
        self.problem("capture.truncated", "no whole section header", self.limit, self.buf[:16])
        return 0

    def start_section(self) -> cython.int:
        """Take the byte order from the section header at ``pos``. Interfaces start anew."""
        is_big = BYTE_ORDER_MAGIC.get(self.buf[self.pos + 8 : self.pos + 12])
        if is_big is None:
            return 0
        self.is_big_endian = is_big
        mark = ">" if is_big else "<"
        self.unpack = Struct(mark + "2I").unpack_from
        self.unpack_packet = Struct(mark + "5I").unpack_from
        self.interfaces = []
        self.if_number = -1
        return 1

    def advance(self) -> cython.int:
        pos: cython.Py_ssize_t
        kind: cython.longlong
        size: cython.longlong
        while True:
            if self.pos + BLOCK_OVERHEAD_BYTES > self.limit and not self.fill(BLOCK_OVERHEAD_BYTES):
                if self.limit > self.pos:
                    rest = self.buf[self.pos :]
                    self.pos = self.limit
                    self.problem(
                        "capture.truncated", "the file ends inside a block", len(rest), rest
                    )
                return 0
            pos = self.pos
            if cython.compiled:
                self.load(pos, 2)
                kind = self.words[0]
                size = self.words[1]
            else:
                kind, size = self.unpack(self.buf, pos)
            if kind == SECTION_HEADER:
                if not self.start_section():
                    if not self.resync("a section header has no byte order"):
                        return 0
                    continue
                size = self.u32(pos + 4)
            if size < BLOCK_OVERHEAD_BYTES or size & 3 or size > MAX_BLOCK_BYTES:
                if not self.resync("the length of a block cannot be right"):
                    return 0
                continue
            if pos + size > self.limit:
                if not self.fill(size):
                    if not self.resync("the file ends inside a block"):
                        return 0
                    continue
                pos = self.pos
            if self.u32(pos + size - 4) != size:
                if not self.resync("the two lengths of a block differ"):
                    return 0
                continue
            self.pos = pos + size
            if kind == ENHANCED_PACKET:
                if self.take_enhanced(pos, size):
                    return 1
            elif self.take_other(kind, pos, size):
                return 1

    def take_enhanced(self, pos: cython.Py_ssize_t, size: cython.longlong) -> cython.int:
        number: cython.longlong
        high: cython.longlong
        low: cython.longlong
        captured: cython.longlong
        wire: cython.longlong
        if size < EPB_OVERHEAD_BYTES:
            return self.refuse("a packet block is too short", pos, size)
        if cython.compiled:
            self.load(pos + 8, 5)
            number = self.words[0]
            high = self.words[1]
            low = self.words[2]
            captured = self.words[3]
            wire = self.words[4]
        else:
            number, high, low, captured, wire = self.unpack_packet(self.buf, pos + 8)
        if captured > size - EPB_OVERHEAD_BYTES:
            return self.refuse("a packet is longer than its block", pos, size)
        if number != self.if_number and not self.use_interface(number):
            return self.refuse(f"interface {number} is not described", pos, size)
        self.start = pos + 28
        return self.finish_packet(high, low, captured, wire)

    def finish_packet(
        self,
        high: cython.longlong,
        low: cython.longlong,
        captured: cython.longlong,
        wire: cython.longlong,
    ) -> cython.int:
        ticks: cython.longlong
        self.end = self.start + captured
        self.wire_length = wire if wire >= captured else captured
        self.packet_no += 1
        ticks = (high << 32) | low if high < 0x80000000 else -1
        if 0 <= ticks <= self.if_max_ticks:
            self.ts_ns = ticks * self.if_tick_ns + self.if_offset_ns
        else:
            self.ts_ns = self.slow_time(high, low)
        if self.ts_ns >= self.order_ns:
            self.order_ns = self.ts_ns
        else:
            self.note_time()
        return 1

    def slow_time(self, high: cython.longlong, low: cython.longlong) -> cython.longlong:
        """For clocks that a 64-bit product cannot hold: the interface counts in whole numbers."""
        return self.interfaces[self.if_number].time_ns(high, low)

    def use_interface(self, number: cython.longlong) -> cython.int:
        """Bring the clock and link type of an interface to hand; 0 if it is not described."""
        if number >= len(self.interfaces):
            return 0
        interface = self.interfaces[number]
        self.if_number = number
        self.link_type = interface.link_type
        self.if_tick_ns = interface.tick_ns
        # The quick way is for whole nanoseconds that fit; the others go through time_ns.
        has_quick_way = interface.tick_ns and 0 <= interface.offset_seconds < 1 << 32
        self.if_offset_ns = interface.offset_seconds * 1_000_000_000 if has_quick_way else 0
        self.if_max_ticks = (
            (MAX_TS_NS - self.if_offset_ns) // interface.tick_ns if has_quick_way else -1
        )
        if not interface.is_checked:
            interface.is_checked = True
            self.check_link_type(f"interface {number} {interface.name}".rstrip())
        return 1

    def take_other(
        self, kind: cython.longlong, pos: cython.Py_ssize_t, size: cython.longlong
    ) -> cython.int:
        """A block of a less frequent kind; 1 if it is a packet."""
        body = self.buf[pos + 8 : pos + size - 4]
        order = BYTE_ORDERS[self.is_big_endian]
        if kind == INTERFACE_DESCRIPTION and len(body) >= 8:
            if len(self.interfaces) >= MAX_INTERFACES:
                return self.refuse("too many interfaces", pos, size)
            self.interfaces.append(read_interface(body, order))
        elif kind == PACKET and len(body) >= 20:
            number = int.from_bytes(body[0:2], order)
            _, high, low, captured, wire = self.unpack_packet(self.buf, pos + 8)
            if captured > len(body) - 20 or not self.use_interface(number):
                return self.refuse("a packet block cannot be right", pos, size)
            self.start = pos + 28
            return self.finish_packet(high, low, captured, wire)
        elif kind == SIMPLE_PACKET and len(body) >= 4:
            return self.take_simple(pos, size, int.from_bytes(body[:4], order))
        elif kind == DECRYPTION_SECRETS and len(body) >= 8:
            self.keep_secrets(body, order)
        return 0

    def take_simple(
        self, pos: cython.Py_ssize_t, size: cython.longlong, wire: cython.longlong
    ) -> cython.int:
        """A packet of interface 0 without a time: it gets the time of the packet before it."""
        if not self.use_interface(0):
            return self.refuse("interface 0 is not described", pos, size)
        captured = min(wire, size - 16, self.interfaces[0].snap_length or wire)
        self.start = pos + 12
        self.end = self.start + captured
        self.wire_length = wire
        self.packet_no += 1
        return 1

    def keep_secrets(self, body: bytes, order) -> None:
        length = int.from_bytes(body[4:8], order)
        if int.from_bytes(body[:4], order) != TLS_KEY_LOG:
            return
        self.secrets_bytes += length
        if self.secrets_bytes <= MAX_SECRETS_BYTES:
            self.secrets.append(body[8 : 8 + length])

    def refuse(self, detail: str, pos: cython.Py_ssize_t, size: cython.longlong) -> cython.int:
        """A whole block with a content that cannot be used: go on after it."""
        self.problem("capture.bad_block", detail, size, self.buf[pos : pos + 16])
        return 0

    def resync(self, detail: str) -> cython.int:
        """Find the next block after a broken one at ``pos``; 0 when there is none."""
        broken_at = self.window_offset + self.pos
        first_bytes = self.buf[self.pos : self.pos + 16]
        search = self.block_pattern()
        self.pos += 1
        while self.fill(BLOCK_OVERHEAD_BYTES):
            found = search(self.buf, self.pos)
            if found is None:
                self.pos = self.limit - BLOCK_OVERHEAD_BYTES + 1
                continue
            self.pos = found.start()
            if self.is_block():
                skipped = self.window_offset + self.pos - broken_at
                self.problem("capture.bad_block", detail, skipped, first_bytes)
                return 1
            self.pos += 1
        lost = self.window_offset + self.limit - broken_at
        self.pos = self.limit
        self.problem("capture.truncated", detail, lost, first_bytes)
        return 0

    def block_pattern(self):
        order = BYTE_ORDERS[self.is_big_endian]
        kinds = [kind.to_bytes(4, order) for kind in (*KNOWN_BLOCKS, 0x0A0D0D0A)]
        return re.compile(b"|".join(re.escape(kind) for kind in kinds), re.DOTALL).search

    def is_block(self) -> cython.int:
        """Is there a block at ``pos`` with the same length at both ends?"""
        if not self.fill(BLOCK_OVERHEAD_BYTES):
            return 0
        is_section = self.buf[self.pos : self.pos + 4] == b"\x0a\x0d\x0d\x0a"
        is_big = self.is_big_endian
        if is_section:
            is_big = BYTE_ORDER_MAGIC.get(self.buf[self.pos + 8 : self.pos + 12], -1)
        order = BYTE_ORDERS[is_big]
        size = int.from_bytes(self.buf[self.pos + 4 : self.pos + 8], order)
        if size < BLOCK_OVERHEAD_BYTES or size & 3 or size > LOOKAHEAD_BYTES:
            return 0
        if is_big < 0 or not self.fill(size):
            return 0
        return int.from_bytes(self.buf[self.pos + size - 4 : self.pos + size], order) == size
