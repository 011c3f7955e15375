"""Spells of zero TCP window are rows of credits, with the packets that say so."""

from __future__ import annotations

from pathlib import Path

from tests.builders.talk import Talk, write_pcap
from tests.tables import dissect

HEADER = b"AMQP\x00\x01\x00\x00"
# open with container-id "c": after it the dialect is certain, and rows are written
OPEN_FRAME = bytes.fromhex("0000001102000000005310c00401a10163")


def test_a_closed_window_and_its_opening_are_credits(tmp_path: Path) -> None:
    talk = Talk().open().say(0, HEADER).say(1, HEADER).say(0, OPEN_FRAME)
    talk.packet(1, window=0)
    talk.packet(1, window=0)
    talk.packet(1, window=4096)
    tables = dissect(write_pcap(tmp_path / "talk.pcap", talk.close().packets))
    rows = [
        (row["event"], row["direction"], row["packet_no"], row["is_active"])
        for row in tables["credits"]
    ]
    assert rows == [("tcp-zero-window", "s2c", 7, False), ("tcp-window-open", "s2c", 9, True)]
    (connection,) = tables["connections"]
    opened, closed = (row["ts_ns"] for row in reversed(tables["credits"]))
    assert (connection["zero_window_count"], connection["zero_window_ns"]) == (1, opened - closed)
