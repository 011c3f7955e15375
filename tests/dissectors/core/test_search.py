"""The search for the next frame costs time and memory in proportion to the garbage."""

from __future__ import annotations

import pytest

from dissectors.core.connection import Connection
from dissectors.core.decoder import (
    EAGER_SEARCH_BYTES,
    EAGER_SEARCH_PIECES,
    MAX_SEARCH_BYTES,
    MAX_SEARCH_PIECES,
    StreamDecoder,
)
from dissectors.options import Options
from dissectors.sink import Sink

MEGABYTE = 1024 * 1024


class Searcher(StreamDecoder):
    """Finds frames of nothing but their marker, and counts the bytes that it looked at."""

    def __init__(self) -> None:
        self.searched_bytes = 0
        self.taken: list[tuple[int, int]] = []
        super().__init__(Connection("c", "a", "b", True, Sink(), Options()))
        self.begin_midstream()

    def frame_size(self, side, buf, start, end):
        return 1 if buf[start] == ord("F") else -1

    def take_frame(self, side, buf, start, size):
        self.taken.append((self.packet_no, self.offset))
        self.conn.decoded_bytes += size
        return 0

    def find_frame(self, side, buf, start, end, is_final):
        self.searched_bytes += end - start
        return buf.find(b"F", start, end)


@pytest.mark.parametrize("piece_bytes", [1, 20, 1400, 60_000])
def test_garbage_is_searched_a_few_times_and_not_once_a_segment(piece_bytes):
    decoder = Searcher()
    # Pieces of one byte are few: each of them is a Python object.
    total = 100_000 if piece_bytes == 1 else 4 * MEGABYTE
    piece = b"x" * piece_bytes
    held = pieces = 0
    for number in range(total // piece_bytes):
        decoder.feed(0, piece, 0, piece_bytes, 0, number, number * piece_bytes)
        held = max(held, decoder.held_bytes())
        pieces = max(pieces, len(decoder.side_0.held))
    assert held <= MAX_SEARCH_BYTES + piece_bytes
    assert pieces <= MAX_SEARCH_PIECES + 1
    # The first pieces are searched at once, each time all of them.
    first = min(EAGER_SEARCH_PIECES, EAGER_SEARCH_BYTES // piece_bytes)
    assert decoder.searched_bytes < 8 * total + first * first * piece_bytes


def test_what_is_given_up_and_what_is_found_add_up():
    decoder = Searcher()
    garbage = b"x" * (2 * MAX_SEARCH_BYTES) + b"FF"
    for number, at in enumerate(range(0, len(garbage), 1000)):
        piece = garbage[at : at + 1000]
        decoder.feed(0, piece, 0, len(piece), 0, number, at)
    decoder.finish(0, 0, "fin")
    first = len(garbage) - 2
    assert [offset for _, offset in decoder.taken] == [first, first + 1]
    assert {packet_no for packet_no, _ in decoder.taken} == {first // 1000}
    assert decoder.conn.skipped_bytes == first
