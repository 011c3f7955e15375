"""A bug in a decoder costs the frame that it was met in, and is told: the stream goes on."""

from __future__ import annotations

import pytest

from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.core.reading import read_rows
from dissectors.options import Options
from dissectors.sink import Sink

FRAME = b"Frame" + bytes(5)


class Stumbler(StreamDecoder):
    """Frames of ten octets; the first one taken raises, whole or not."""

    def __init__(self, sink: Sink) -> None:
        self.taken: list[int] = []
        self.gap_count = 0
        super().__init__(Connection("c", "a", "b", True, sink, Options()))

    def frame_size(self, side, buf, start, end):
        return len(FRAME) if buf[start] == FRAME[0] else -1

    def take_frame(self, side, buf, start, size):
        self.taken.append(self.offset)
        if len(self.taken) == 1:
            raise ValueError("stumbled")
        self.conn.decoded_bytes += size
        return 0

    def can_bridge(self, side, buf, start, have, size):
        return 1

    def take_holed_frame(self, side, buf, start, size, holes):
        return not self.take_frame(side, buf, start, size)

    def on_gap(self, side, ts_ns, packet_no):
        self.gap_count += 1


@pytest.mark.parametrize(
    ("pieces", "missing"),
    [([FRAME + FRAME], 0), ([FRAME[:4], FRAME[4:] + FRAME], 0), ([FRAME[:4], FRAME], 6)],
    ids=["whole", "cut", "holed"],
)
def test_the_frame_behind_it_is_taken_and_the_octets_add_up(pieces, missing):
    sink = Sink()
    decoder = Stumbler(sink)
    offset = 0
    for number, piece in enumerate(pieces):
        if number and missing:
            decoder.gap(0, missing, 0, number)
            offset += missing
        decoder.feed(0, piece, 0, len(piece), 0, number, offset)
        offset += len(piece)
    assert decoder.taken == [0, len(FRAME)]
    assert decoder.conn.decoded_bytes == len(FRAME)
    assert decoder.conn.skipped_bytes == len(FRAME) - missing
    assert decoder.gap_count == bool(missing)
    sink.flush()
    rows = [
        row
        for name, batch in sink.take_ready()
        if name == "problems"
        for row in read_rows(batch, {"code", "detail"})
    ]
    told = [row["detail"] for row in rows if row["code"] == "frame.bug"]
    assert told == ["ValueError: stumbled"]
    assert [row["code"] for row in rows].count("frame.holed") == bool(missing)
