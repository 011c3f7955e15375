"""Packets of one flow in chunks: how packets travel from one process to another.

A capture is read in one place and its connections are taken apart in others (Spark does so). A
``ChunkWriter`` sorts the packets of a file by flow, as they are, both directions together; a
``ChunkSource`` is a packet source fed with such chunks, so that all behind it is the same code
as for files. What a chunk is stored or sent in is not known here.

Packets that belong to no flow by themselves are told apart: fragments of IP datagrams, whose
ports stand in the first fragment only, and packets with broken headers.
"""

import heapq
from array import array

import cython

from dissectors.capture.decap import PacketView
from dissectors.capture.reader import Reader
from dissectors.capture.source import PacketSource

# Numbers kept of each packet: ts_ns, order_ns, packet_no, captured bytes, wire bytes, link type.
WIDTH = cython.declare(cython.int, 6)
CHUNK_BYTES = cython.declare(cython.Py_ssize_t, 256 * 1024)
# Unfinished chunks of all flows together; then all are handed out as they are.
HELD_BYTES = cython.declare(cython.Py_ssize_t, 32 * 1024 * 1024)
# What an unfinished chunk costs beside its octets.
CHUNK_OVERHEAD_BYTES = cython.declare(cython.Py_ssize_t, 1024)
PACKETS_PER_PUMP = cython.declare(cython.int, 20_000)
FIRST_PACKETS = 16
MAX_TS_NS = 0x7FFFFFFFFFFFFFFF
# No flow has a key of this length.
FRAGMENTS = b"fragments"


class FragmentSpotter:
    """Stands in for the table of fragments: it only notes that there was one."""

    def __init__(self) -> None:
        self.is_found = False
        self.capture = None

    def add(self, *_fragment) -> None:
        self.is_found = True

    def finish(self) -> None:
        """Nothing waits here."""


class Chunk:
    """Some packets of a flow, in order: numbers in ``cells``, packets one after the other."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.octets = bytearray()
        self.cells = array("q", bytes(8 * 6 * FIRST_PACKETS))
        self.capacity = FIRST_PACKETS
        self.count = 0

    def grow(self) -> cython.int:
        """Room for twice as many packets."""
        grown = array("q")
        grown.frombytes(memoryview(self.cells).tobytes())
        grown.extend(grown)
        self.cells = grown
        self.capacity *= 2
        return 0

    def numbers(self) -> bytes:
        return bytes(memoryview(self.cells)[: self.count * 6])


class ChunkWriter:
    """Sorts a reader's packets into chunks. ``ready`` holds (flow key, order_ns and packet_no of
    the first packet, order_ns of the last, numbers, octets), ``bad`` a (order_ns, packet_no,
    ts_ns, size, first bytes) for each packet with broken headers, up to a limit."""

    def __init__(self, reader: Reader, view: PacketView, last_packet_no, max_bad) -> None:
        self.reader = reader
        self.view = view
        self.last_packet_no = last_packet_no if last_packet_no is not None else MAX_TS_NS
        self.max_bad = max_bad
        self.spotter = view.fragments = FragmentSpotter()
        self.chunks: dict = {}
        self.held_bytes = 0
        self.ready: list = []
        self.bad: list = []
        self.bad_count = 0
        self.last_bad: tuple = ()

    def pump(self) -> cython.int:
        """Work through some packets; 0 when there are no more."""
        reader: Reader = self.reader
        view: PacketView = self.view
        chunk: Chunk
        found: cython.int
        _count: cython.int
        for _count in range(PACKETS_PER_PUMP):
            if reader.packet_no >= self.last_packet_no or not reader.advance():
                self.flush()
                return 0
            found = view.locate(
                reader.buf,
                reader.start,
                reader.end,
                reader.wire_length,
                reader.link_type,
                reader.ts_ns,
            )
            if found > 0:
                key = view.key()
                chunk = self.chunks.get(key)
                if chunk is None:
                    chunk = self.open_chunk(key, view.reverse_key())
                self.keep(chunk)
            elif self.spotter.is_found:
                self.spotter.is_found = False
                chunk = self.chunks.get(FRAGMENTS)
                if chunk is None:
                    chunk = self.open_chunk(FRAGMENTS, FRAGMENTS)
                self.keep(chunk)
            elif found < 0:
                self.note_bad()
        return 1

    def note_bad(self) -> cython.int:
        """Only the first ones are told one by one; of the others, their number and the last."""
        reader: Reader = self.reader
        self.bad_count += 1
        self.last_bad = (reader.order_ns, reader.packet_no)
        if len(self.bad) < self.max_bad:
            size = reader.end - reader.start
            first_bytes = reader.buf[reader.start : reader.start + 16]
            self.bad.append((*self.last_bad, reader.ts_ns, size, first_bytes))
        return 0

    def open_chunk(self, key: bytes, reverse_key: bytes):
        """A chunk for both directions of a flow; its key is the smaller of the two."""
        chunk = Chunk(min(key, reverse_key))
        self.chunks[key] = chunk
        self.chunks[reverse_key] = chunk
        self.held_bytes += CHUNK_OVERHEAD_BYTES
        return chunk

    def keep(self, chunk: Chunk) -> cython.int:
        """Append the reader's packet to a chunk."""
        reader: Reader = self.reader
        base: cython.Py_ssize_t = chunk.count * WIDTH
        size: cython.Py_ssize_t = reader.end - reader.start
        if chunk.count == chunk.capacity:
            chunk.grow()
        cells = chunk.cells
        cells[base] = reader.ts_ns
        cells[base + 1] = reader.order_ns
        cells[base + 2] = reader.packet_no
        cells[base + 3] = size
        cells[base + 4] = reader.wire_length
        cells[base + 5] = reader.link_type
        chunk.count += 1
        chunk.octets += reader.buf[reader.start : reader.end]
        self.held_bytes += size + 8 * WIDTH
        if len(chunk.octets) >= CHUNK_BYTES:
            self.hand_out(chunk)
        elif self.held_bytes >= HELD_BYTES:
            self.flush()
        return 0

    def hand_out(self, chunk: Chunk) -> cython.int:
        if chunk.count:
            cells = chunk.cells
            last_order_ns = cells[(chunk.count - 1) * WIDTH + 1]
            place = (cells[1], cells[2], last_order_ns)
            self.ready.append((chunk.key, *place, chunk.numbers(), bytes(chunk.octets)))
            self.held_bytes -= len(chunk.octets) + 8 * WIDTH * chunk.count
            chunk.octets = bytearray()
            chunk.count = 0
        return 0

    def flush(self) -> cython.int:
        """Hand out every chunk as it is."""
        for chunk in self.chunks.values():
            self.hand_out(chunk)
        self.chunks = {}
        self.held_bytes = 0
        return 0

    def take_ready(self) -> list:
        ready, self.ready = self.ready, []
        return ready


class HeldChunk:
    """A chunk on its way into a ``ChunkSource``; packets from ``at`` to ``run_end`` are due."""

    def __init__(self, file_index: int, capture: str, numbers: bytes, octets: bytes) -> None:
        cells = array("q")
        cells.frombytes(numbers)
        self.cells = cells
        self.count = len(cells) // 6
        self.octets = octets
        self.file_index = file_index
        self.capture = capture
        self.at = 0
        self.pos = 0
        self.run_end = 0

    def place(self, at: cython.Py_ssize_t) -> tuple:
        """Where on the timeline a packet stands."""
        return (self.cells[at * WIDTH + 1], self.capture, self.cells[at * WIDTH + 2])

    def find_run(self, limit) -> None:
        """The packets that stand before ``limit`` are due; all of them without one."""
        if limit is None or self.place(self.count - 1) < limit:
            self.run_end = self.count
            return
        end = self.at + 1
        while end < self.count and self.place(end) < limit:
            end += 1
        self.run_end = end


class ChunkSource(PacketSource):
    """The packets of one flow from its chunks, pushed in order of their first packets.

    ``advance`` gives 0 when it needs to see the next chunk first (files that overlap in time
    have chunks that overlap). ``release`` says that there is none."""

    def __init__(self) -> None:
        self.paths = []
        self.file_index = -1
        self.capture = None
        self.file_numbers: dict = {}
        self.chunk = None
        self.newest = None
        self.held: list = []
        self.push_count = 0

    def push(self, capture: str, numbers: bytes, octets: bytes) -> None:
        index = self.file_numbers.get(capture)
        if index is None:
            index = self.file_numbers[capture] = len(self.paths)
            self.paths.append(capture)
        self.newest = HeldChunk(index, capture, numbers, octets)
        self.push_count += 1
        heapq.heappush(self.held, (self.newest.place(0), self.push_count, self.newest))

    def release(self) -> None:
        """The flow has no more chunks."""
        self.newest = None

    def advance(self) -> cython.int:
        chunk: HeldChunk = self.chunk
        base: cython.Py_ssize_t
        while chunk is None or chunk.at == chunk.run_end:
            if not self.next_run():
                return 0
            chunk = self.chunk
        base = chunk.at * WIDTH
        cells = chunk.cells
        self.ts_ns = cells[base]
        self.order_ns = cells[base + 1]
        self.packet_no = cells[base + 2]
        self.start = chunk.pos
        self.end = chunk.pos + cells[base + 3]
        self.wire_length = cells[base + 4]
        self.link_type = cells[base + 5]
        chunk.pos = self.end
        chunk.at += 1
        return 1

    def next_run(self) -> cython.int:
        """Find the packets that are due next; 0 if that takes another chunk, or the end."""
        chunk: HeldChunk = self.chunk
        if chunk is not None and chunk.at < chunk.count:
            self.push_count += 1
            heapq.heappush(self.held, (chunk.place(chunk.at), self.push_count, chunk))
        self.chunk = None
        if not self.held or self.held[0][2] is self.newest:
            return 0
        _, _, chunk = heapq.heappop(self.held)
        chunk.find_run(self.held[0][0] if self.held else None)
        self.chunk = chunk
        self.buf = chunk.octets
        self.file_index = chunk.file_index
        self.capture = chunk.capture
        return 1

    def close(self) -> None:
        """There is nothing to release."""
