"""Packets that travel in chunks give the same tables; splits give the same packets."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissectors.capture import chunks
from dissectors.capture.chunks import ChunkSource, ChunkWriter
from dissectors.capture.decap import PacketView
from dissectors.capture.formats import open_reader
from dissectors.capture.splits import find_marks, resume
from dissectors.core.arrow import to_arrow
from dissectors.options import Options
from dissectors.pipeline import FlowDissection
from tests.dissectors.capture.build import T0_NS, Blocks, micros, pcap
from tests.samples import SAMPLES, manifest, parts, sample
from tests.tables import Tables, dissect


def through_chunks(paths: list[str], keylog: bytes | None = None) -> Tables:
    """Dissect by way of chunks, flow after flow."""
    rows, told = [], []
    for path in paths:
        reader = open_reader(path, lambda *a, **k: told.append((a, k)), [])
        assert reader is not None
        writer = ChunkWriter(reader, PacketView(None), None, 20)
        while writer.pump():
            pass
        reader.close()
        rows += [(key, order, path, no, *data) for key, order, no, _, *data in writer.take_ready()]
    rows.sort(key=lambda row: row[:4])
    dissection = FlowDissection(Options())
    last = None
    for key, _, path, _, numbers, octets in rows:
        if last not in (None, key):
            dissection.end_flow()
        last = key
        dissection.push(path, numbers, octets)
    dissection.end_flow()
    for args, where in told:
        dissection.sink.problem(*args, **where)
    tables = Tables()
    for name, batch in dissection.finish():
        tables.setdefault(name, []).extend(to_arrow(batch).to_pylist())
    return tables


def as_sets(tables: Tables) -> dict[str, list[str]]:
    return {name: sorted(map(repr, rows)) for name, rows in tables.items() if rows}


@pytest.mark.parametrize("name", [entry["file"] for entry in manifest()])
def test_every_sample_is_the_same_through_chunks(name: str) -> None:
    path = str(SAMPLES / name)
    assert as_sets(through_chunks([path])) == as_sets(dissect(path))


@pytest.mark.parametrize("name", ["23g", "23h"])
def test_rotated_files_are_the_same_through_chunks(name: str) -> None:
    paths = parts(name)
    assert as_sets(through_chunks(paths[::-1])) == as_sets(dissect(paths))


def source_of(*pushes: tuple[str, list[tuple[int, int]]]) -> list[tuple[str, int]]:
    """(capture, packet_no) in the order in which a source gives packets of these chunks."""
    from array import array

    source = ChunkSource()
    seen = []

    def take() -> None:
        while source.advance():
            seen.append((source.capture, source.packet_no))

    for capture, packets in pushes:
        numbers = [(order, order, no, 1, 1, 1) for order, no in packets]
        flat = array("q", [value for row in numbers for value in row])
        source.push(capture, flat.tobytes(), bytes(len(packets)))
        take()
    source.release()
    take()
    return seen


def test_chunks_of_files_that_overlap_are_merged_packet_by_packet() -> None:
    got = source_of(
        ("a", [(10, 1), (20, 2), (50, 3)]), ("b", [(20, 1), (30, 2)]), ("a", [(60, 4), (70, 5)]),
        ("b", [(65, 3)]),
    )  # fmt: skip
    wanted = [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 3), ("a", 5)]
    assert got == wanted


def test_the_same_packet_twice_does_not_hang() -> None:
    assert source_of(("a", [(10, 1)]), ("a", [(10, 1)])) == [("a", 1), ("a", 1)]


def packets_of(reader, last: int | None = None) -> list[tuple]:
    found = []
    while (last is None or reader.packet_no < last) and reader.advance():
        data = reader.buf[reader.start : reader.end]
        found.append((reader.packet_no, reader.ts_ns, reader.order_ns, reader.link_type, data))
    return found


def damaged(data: bytes) -> bytes:
    """Some bytes in the middle overwritten."""
    middle = len(data) // 2
    return data[:middle] + b"\xff" * 40 + data[middle + 40 :]


def back_and_forth() -> bytes:
    packets = micros(*[bytes([i]) * 60 for i in range(40)])
    packets[10], packets[30] = packets[30], packets[10]
    return pcap(packets)


def two_sections() -> bytes:
    little, big = Blocks("<"), Blocks(">")
    ticks = T0_NS // 1000
    return b"".join(
        [
            little.section(), little.interface(), little.interface(101),
            *[little.enhanced(ticks + i, bytes(60), i % 2) for i in range(20)],
            big.section(), big.interface(113, options={9: b"\x09"}),
            *[big.enhanced(T0_NS + i, bytes(60)) for i in range(10)],
            *[big.simple(bytes(60)) for _ in range(10)],
        ]
    )  # fmt: skip


CASES = {
    "pcap": lambda: Path(sample("06")).read_bytes(),
    "pcapng": lambda: Path(sample("02")).read_bytes(),
    "damaged pcap": lambda: damaged(Path(sample("06")).read_bytes()),
    "damaged pcapng": lambda: damaged(Path(sample("02")).read_bytes()),
    "times back and forth": back_and_forth,
    "sections and interfaces": two_sections,
}


@pytest.mark.parametrize("step", [1, 300, 5000])
@pytest.mark.parametrize("case", CASES)
def test_splits_read_the_same_packets(case: str, step: int, tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_bytes(CASES[case]())

    def opened():
        return open_reader(str(path), lambda *a, **k: None, [])

    marks = find_marks(opened(), step)
    got = packets_of(opened(), marks[0].packet_no if marks else None)
    for number, mark in enumerate(marks, 1):
        reader = opened()
        resume(reader, mark)
        got += packets_of(reader, marks[number].packet_no if number < len(marks) else None)
    assert got == packets_of(opened())
    assert marks or step > path.stat().st_size


def test_memory_of_unfinished_chunks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many flows: all chunks are handed out when they hold too much together."""
    reader = open_reader(sample("06"), lambda *a, **k: None, [])
    writer = ChunkWriter(reader, PacketView(None), None, 20)
    while writer.pump():
        pass
    assert writer.chunks == {} and writer.held_bytes == 0
    assert chunks.FRAGMENTS == b"fragments"
