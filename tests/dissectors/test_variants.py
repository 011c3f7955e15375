"""The same traffic in another wrapping gives the same tables, or says exactly what is missing."""

from __future__ import annotations

import gzip
import random
import struct
from pathlib import Path

import dpkt
import pytest
import zstandard

from tests.builders.talk import pcap_bytes
from tests.samples import entry, sample
from tests.tables import dissect, unlocated

TABLES = ("connections", "sessions", "links", "frames", "transfers", "credits")
ORIGINALS = ["03_", "06_", "12a_", "13a_"]


def read_packets(path: str) -> list[tuple[int, bytes]]:
    with open(path, "rb") as file:
        reader = dpkt.pcap.Reader(file)
        return [(round(ts * 1_000_000) * 1000, data) for ts, data in reader]


def big_endian_micros(packets: list[tuple[int, bytes]]) -> bytes:
    out = [struct.pack(">IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)]
    for ts_ns, data in packets:
        seconds, rest = divmod(ts_ns, 1_000_000_000)
        out.append(struct.pack(">IIII", seconds, rest // 1000, len(data), len(data)) + data)
    return b"".join(out)


def two_interfaces(packets: list[tuple[int, bytes]]) -> bytes:
    """pcapng: packets in turn from an interface in ns and one in µs."""

    def block(kind: int, body: bytes) -> bytes:
        body += b"\0" * (-len(body) % 4)
        size = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + size + body + size

    out = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    out.append(block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)))
    out.append(block(1, struct.pack("<HHI", 1, 0, 0)))
    for number, (ts_ns, data) in enumerate(packets):
        time = ts_ns if number % 2 == 0 else ts_ns // 1000
        head = struct.pack(
            "<IIIII", number % 2, time >> 32, time & 0xFFFFFFFF, len(data), len(data)
        )
        out.append(block(6, head + data))
    return b"".join(out)


def shuffled(packets: list[tuple[int, bytes]]) -> bytes:
    """Data packets repeated, and neighbours swapped."""
    rng = random.Random(7)
    times = [ts for ts, _ in packets]
    frames = [data for _, data in packets]
    for n in range(8, len(frames) - 8):
        if rng.random() < 0.1:
            frames[n], frames[n + 1] = frames[n + 1], frames[n]
    out = []
    for ts, data in zip(times, frames, strict=True):
        out.append((ts, data))
        if rng.random() < 0.1:
            out.append((ts, data))
    return pcap_bytes(out)


WRAPPINGS = {
    "nanoseconds": pcap_bytes,
    "big endian": big_endian_micros,
    "two interfaces": two_interfaces,
    "gzip": lambda packets: gzip.compress(pcap_bytes(packets)),
    "zstd": lambda packets: zstandard.compress(pcap_bytes(packets)),
    "shuffled": shuffled,
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("prefix", ORIGINALS)
def test_same_traffic_same_tables(prefix, wrapping, tmp_path: Path):
    original = dissect(sample(prefix))
    copy = tmp_path / "copy.cap"
    copy.write_bytes(WRAPPINGS[wrapping](read_packets(sample(prefix))))
    tables = dissect(str(copy))
    for name in TABLES:
        ours = sorted(map(repr, unlocated(tables[name])))
        assert ours == sorted(map(repr, unlocated(original[name]))), name


@pytest.mark.parametrize(
    ("original", "copy"),
    [("02_", "23c_"), ("13a_", "23d_"), ("24a_", "24b_"), ("24a_", "24c_")],
)
def test_bundled_variants_equal_their_originals(original, copy):
    first, second = dissect(sample(original)), dissect(sample(copy))
    for name in TABLES:
        ours = sorted(map(repr, unlocated(second[name])))
        assert ours == sorted(map(repr, unlocated(first[name]))), name


@pytest.mark.parametrize("name", ["23c", "23d"])
def test_repeated_packets_are_counted_as_they_were_made(name):
    truth = entry(name)["truth"]
    repeated = sum(row["retransmit_count"] for row in dissect(sample(name))["connections"])
    assert repeated == truth["duplicated"] + truth["partial_overlaps"]
