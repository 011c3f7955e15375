"""Tables through Spark are those of ``dissect``, row for row."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path

import dpkt
import pytest

from spark_etl.rebuild import read_chunks
from spark_etl.source.plan import find_files
from tests.dissectors.capture.build import T0, pcap
from tests.samples import SAMPLES, manifest, parts, sample
from tests.spark_etl.comparing import differences, dissected, rebuilt, truncated_gzip

ALL = [str(SAMPLES / entry["file"]) for entry in manifest()]
PARTITIONS = (1, 2, 7)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_all_samples_together_in_any_order(spark, tmp_path: Path, partitions: int) -> None:
    shuffled = random.Random(partitions).sample(ALL, len(ALL))
    got = rebuilt(spark, shuffled, tmp_path / "out", partitions)
    assert differences(got, dissected(ALL)) == {}
    assert len(got["connections"]) > 50


@pytest.mark.slow
def test_every_sample_by_itself(spark, tmp_path: Path) -> None:
    wrong = {}
    for number, path in enumerate(ALL):
        partitions = PARTITIONS[number % len(PARTITIONS)]
        got = rebuilt(spark, [path], tmp_path / str(number), partitions)
        wrong[path] = differences(got, dissected(path))
    assert {path: found for path, found in wrong.items() if found} == {}


def test_small_splits_and_payloads(spark, tmp_path: Path) -> None:
    """Files are cut into pieces of a few packets; messages reach over them."""
    paths = [sample("05"), sample("13a"), sample("02"), *parts("23g")]
    got = rebuilt(spark, paths, tmp_path / "out", 3, split_bytes=20_000, has_payloads=True)
    assert differences(got, dissected(paths, has_payloads=True)) == {}
    assert got["payloads"]


def test_the_source_gives_the_same_chunks(spark) -> None:
    """A stream's chunks are those that the driver plans for a whole run."""
    paths = [sample("05"), *parts("23g")]
    source = spark.read.format("amqp_pcap").option("layout", "chunks")
    read = source.option("split_bytes", "20000").option("paths", json.dumps(paths)).load()
    planned = read_chunks(spark, find_files(paths), 20_000)
    assert planned.columns == read.columns
    rows = [Counter(map(str, frame.collect())) for frame in (planned, read)]
    assert rows[0] == rows[1] and len(rows[0]) > 30
    assert planned.rdd.getNumPartitions() == read.rdd.getNumPartitions() > 10


def test_tls_keys_come_with_the_job(spark, tmp_path: Path) -> None:
    from dissectors.options import Options
    from spark_etl.analysis import known_secrets
    from spark_etl.flows import Work
    from spark_etl.rebuild import rebuild
    from spark_etl.storage import Folder
    from tests.spark_etl.comparing import written

    path = sample("21a_091_tls13.pcap")
    keylog = path.replace(".pcap", ".keylog")
    options = Options(keylog=keylog)
    output = Folder(str(tmp_path)) / "out"
    work = Work(output.make(), options, known_secrets(options, ()))
    rebuild(read_chunks(spark, find_files([path])), work, 2)
    wanted = dissected(path, keylog=keylog)
    assert differences(written(output.address), wanted) == {}
    assert len(wanted["frames"]) > 10


def fragments_of(packet: bytes, size: int) -> list[bytes]:
    """An Ethernet packet with an IPv4 datagram, cut into fragments (RFC 791 §3.2)."""
    ethernet, datagram = packet[:14], dpkt.ip.IP(packet[14:])
    payload = bytes(datagram.data)
    found = []
    for offset in range(0, len(payload), size):
        is_last = offset + size >= len(payload)
        piece = dpkt.ip.IP(
            src=datagram.src, dst=datagram.dst, p=datagram.p, id=datagram.id or 7,
            data=payload[offset : offset + size], sum=1,
        )  # fmt: skip
        piece.len = 20 + len(piece.data)
        raw = bytearray(bytes(piece))
        raw[6:8] = ((0 if is_last else 0x2000) | offset // 8).to_bytes(2, "big")
        found.append(ethernet + bytes(raw))
    return found


def test_fragments_broken_packets_and_rotation(spark, tmp_path: Path) -> None:
    """A capture in which every larger packet is in fragments, some of them lost, over two files."""
    packets, number = [], 0
    with open(sample("24a"), "rb") as file:
        for ts, data in dpkt.pcap.Reader(file):
            number += 1
            ip = data[14:]
            is_cut = data[12:14] == b"\x08\x00" and ip[9] == 6 and len(data) > 120
            if is_cut:
                data = data[:18] + number.to_bytes(2, "big") + data[20:]  # an id of its own
            pieces = fragments_of(data, 64) if is_cut else [data]
            if is_cut and number % 9 == 0:
                pieces.pop(1)
            packets += [(round(ts * 1e6) + i, piece) for i, piece in enumerate(pieces)]
            if number % 3 == 0:
                packets.append((round(ts * 1e6) + 50, data[:20]))  # headers cut: broken
    assert packets[0][0] > T0 * 10**6
    middle = len(packets) // 2 + 1
    paths = [tmp_path / "b.pcap", tmp_path / "a.pcap"]
    paths[0].write_bytes(pcap(packets[:middle]))
    paths[1].write_bytes(pcap(packets[middle:]))
    names = [str(path) for path in paths]
    wanted = dissected(names)
    codes = {row[2] for row in wanted["problems"]}
    assert {"capture.fragment_lost", "capture.bad_packet", "tcp.gap"} <= codes
    got = rebuilt(spark, names, tmp_path / "out", 2)
    assert differences(got, wanted) == {}


def test_bad_files_among_good_ones(spark, tmp_path: Path) -> None:
    good = [shutil.copy(path, tmp_path) for path in (sample("01"), sample("10a"))]
    content = Path(sample("06")).read_bytes()
    bad = {
        "empty.pcap": b"",
        "text.pcap": b"this is no capture at all",
        "cut.pcap": content[: len(content) // 2 + 7],
        "header.pcap": content[:24],
    }
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    truncated_gzip(tmp_path / "cut.pcap.gz", content)
    paths = [*good, *(str(tmp_path / name) for name in bad), str(tmp_path / "cut.pcap.gz")]
    wanted = dissected(paths)
    got = rebuilt(spark, paths, tmp_path / "out", 2)
    assert differences(got, wanted) == {}
    told = {(Path(row[1]).name, row[2]) for row in got["problems"] if row[2].startswith("capture")}
    assert {name for name, _ in told} == {*bad, "cut.pcap.gz"}
    for path in good:
        alone = dissected(path)["frames"]
        assert alone and not alone - got["frames"]
