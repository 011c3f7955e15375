"""TCP health of connections against tshark's own analysis, where that is right."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from bench.generate import generate
from tests.live.needs import program
from tests.samples import sample
from tests.tables import dissect

pytestmark = pytest.mark.live

FLAGS = ("retransmission", "spurious_retransmission", "out_of_order", "keep_alive")
COLUMNS = ("retransmit_count", "out_of_order_count", "keepalive_count", "reset_count")


def tshark_counts(path: str) -> Counter[str]:
    """Late packets, keep-alives and resets, as tshark sees them.

    What it calls spurious (data after its acknowledgement) is left out: where a capture swapped
    packets of the two directions, the data is the first copy all the same.
    """
    fields = [f"tcp.analysis.{name}" for name in FLAGS] + ["tcp.flags.reset"]
    arguments = [part for field in fields for part in ("-e", field)]
    done = subprocess.run(
        [program("tshark", "tshark"), "-n", "-r", path, "-Y", "tcp", "-T", "fields", *arguments],
        capture_output=True,
        check=True,
        text=True,
    )
    counts: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        retransmission, spurious, out_of_order, keep_alive, reset = line.split("\t")
        counts["late"] += bool(out_of_order or (retransmission and not spurious))
        counts["keep_alive"] += bool(keep_alive)
        counts["reset"] += reset in ("1", "True")
    return counts


def our_counts(path: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in dissect(path)["connections"]:
        counts.update({column: row[column] for column in COLUMNS})
    return counts


@pytest.mark.parametrize("name", ["01", "04b", "08", "29", "33"])
def test_undisturbed_captures(name: str) -> None:
    theirs, ours = tshark_counts(sample(name)), our_counts(sample(name))
    assert ours["retransmit_count"] + ours["out_of_order_count"] == theirs["late"]
    assert ours["keepalive_count"] == theirs["keep_alive"]
    assert ours["reset_count"] == theirs["reset"]


def test_swapped_packets_are_out_of_order(tmp_path: Path) -> None:
    path = tmp_path / "swapped.pcap"
    generate(path, "0-9-1", 4, reorder=0.02)
    theirs, ours = tshark_counts(str(path)), our_counts(str(path))
    assert ours["retransmit_count"] == 0
    assert ours["out_of_order_count"] == theirs["late"] > 10


def test_round_trips_are_those_of_tshark() -> None:
    path = sample("29")
    done = subprocess.run(
        [program("tshark", "tshark"), "-n", "-r", path, "-T", "fields",
         "-e", "tcp.analysis.ack_rtt",
         "-e", "tcp.analysis.initial_rtt"],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    samples = [round(float(rtt) * 1e9) for rtt, _ in lines if rtt]
    initial = {round(float(rtt) * 1e9) for _, rtt in lines if rtt}
    rows = dissect(path)["connections"]
    assert {row["handshake_rtt_ns"] for row in rows} <= initial
    # Ours times one segment at a time, tshark all: ours are among theirs.
    assert min(samples) <= min(row["rtt_min_ns"] for row in rows)
    assert max(row["rtt_max_ns"] for row in rows) <= max(samples)
