"""The packets of one or many captures as one timeline.

Files are taken in order of their first packet. A file is opened when the timeline reaches it, so
rotated files are read one after the other, and files that overlap in time are merged packet by
packet. Inside a file the order of the file is kept. The order in which files were given does not
matter.
"""

import heapq
import os

import cython

from dissectors.capture.formats import open_reader
from dissectors.capture.paths import expand_paths
from dissectors.capture.reader import MAX_TS_NS, Reader


class PacketSource:
    """``advance`` moves to the next packet; the attributes then describe it.

    ``order_ns`` is the packet's place on the timeline: its time, or the highest time before it in
    its file. Packets come sorted by (order_ns, path, packet_no)."""

    def __init__(self, paths, report) -> None:
        self.report = report
        self.paths = sorted(expand_paths(paths))
        self.secrets: list = []
        self.readable_count = 0
        self.file_index = -1
        self.capture = None
        self.ts_ns = 0
        self.order_ns = 0
        self.packet_no = 0
        self.buf = b""
        self.start = 0
        self.end = 0
        self.wire_length = 0
        self.link_type = 0
        self.current = None
        # Times and file numbers that the current reader must not pass without a look around.
        self.turn_ns = -1
        self.turn_index = -1
        # (first time, file number, open reader or None), the next one last.
        self.waiting: list = []
        # (time, file number, reader) of files that overlap with the current one.
        self.overlapping: list = []
        self.closed_bytes = 0
        self.total_bytes = self._total_bytes()
        self._look_at_files()

    @property
    def bytes_read(self) -> int:
        """Bytes taken from the files so far, compressed as they are."""
        readers = [reader for _, _, reader in (*self.waiting, *self.overlapping)]
        readers.append(self.current)
        return self.closed_bytes + sum(r.stream.raw_bytes for r in readers if r is not None)

    def advance(self) -> cython.int:
        """The next packet of the timeline; 0 at its end."""
        reader: Reader = self.current
        while True:
            if reader is None:
                if not self.change_reader():
                    return 0
                reader = self.current
            elif not reader.advance():
                self._retire(reader)
                self.current = reader = None
                continue
            elif reader.order_ns >= self.turn_ns and (
                reader.order_ns > self.turn_ns or reader.file_index > self.turn_index
            ):
                heapq.heappush(self.overlapping, (reader.order_ns, reader.file_index, reader))
                self.current = reader = None
                continue
            self.ts_ns = reader.ts_ns
            self.order_ns = reader.order_ns
            self.packet_no = reader.packet_no
            self.buf = reader.buf
            self.start = reader.start
            self.end = reader.end
            self.wire_length = reader.wire_length
            self.link_type = reader.link_type
            return 1

    def change_reader(self) -> cython.int:
        """Make the reader with the earliest packet the current one; 0 when none is left."""
        while self.waiting or self.overlapping:
            is_new = not self.overlapping or (
                bool(self.waiting) and self.waiting[-1][:2] < self.overlapping[0][:2]
            )
            if is_new:
                _, index, reader = self.waiting.pop()
                if reader is None:
                    reader = self._open(index, self.report)
                    if reader is None or not reader.advance():
                        # The file changed since it was looked at.
                        if reader is not None:
                            self._retire(reader)
                        continue
            else:
                _, index, reader = heapq.heappop(self.overlapping)
            turn = (MAX_TS_NS, len(self.paths))
            if self.waiting:
                turn = min(turn, self.waiting[-1][:2])
            if self.overlapping:
                turn = min(turn, self.overlapping[0][:2])
            self.turn_ns, self.turn_index = turn
            self.current = reader
            self.file_index = index
            self.capture = self.paths[index]
            return 1
        return 0

    def close(self) -> None:
        """Release all files."""
        for _, _, reader in (*self.waiting, *self.overlapping):
            if reader is not None:
                self._retire(reader)
        if self.current is not None:
            self._retire(self.current)
        self.waiting, self.overlapping, self.current = [], [], None

    def _look_at_files(self) -> None:
        """Find the first time of every file. Pipes stay open, they cannot be read twice."""
        for index, path in enumerate(self.paths):
            is_kept = len(self.paths) == 1 or not os.path.isfile(path)
            problems: list = []
            if is_kept:
                reader = self._open(index, self.report)
            else:
                reader = self._open(index, _collector(problems))
            if reader is None:
                has_packet = False
            else:
                self.readable_count += 1
                has_packet = bool(reader.advance())
            if has_packet:
                self.waiting.append((reader.order_ns, index, reader))
            elif reader is not None:
                self._retire(reader)
            if is_kept:
                continue
            if has_packet:
                reader.stream.close()
                self.waiting[-1] = (reader.order_ns, index, None)
            else:
                for args, details in problems:
                    self.report(*args, **details)
        self.waiting.sort(key=lambda entry: entry[:2], reverse=True)

    def _open(self, index: int, report):
        reader = open_reader(self.paths[index], report, self.secrets)
        if reader is not None:
            reader.file_index = index
        return reader

    def _retire(self, reader: Reader) -> None:
        reader.close()
        self.closed_bytes += reader.stream.raw_bytes

    def _total_bytes(self):
        """Size of all files together; None when a pipe is among them."""
        if not all(os.path.isfile(path) for path in self.paths):
            return None
        return sum(os.path.getsize(path) for path in self.paths)


def _collector(problems: list):
    def collect(*args, **details) -> None:
        problems.append((args, details))

    return collect


def open_packets(paths, report) -> PacketSource:
    """The packets of the captures that ``paths`` mean. Raises CaptureError for user mistakes."""
    return PacketSource(paths, report)
