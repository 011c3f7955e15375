"""What is written reads back the same, in every format, and a failure leaves the old result."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dissectors import table_files
from dissectors.core.rows import Batch, RowBuffer
from dissectors.sink import Sink
from dissectors.table_files import FORMATS, SCHEMA_VERSION_KEY
from dissectors.tables import CORE_TABLES, SCHEMA_VERSION, SESSIONS, TABLES
from dissectors.writers import write_tables

DETAILS = ["plain", 'comma, "quote"\nand line', "", None, "größer ☃"]


def problem_batches() -> list[tuple[str, Batch]]:
    sink = Sink()
    sink.set_capture("a.pcap")
    for number, detail in enumerate(DETAILS):
        sink.problems.append(
            {
                "code": "tcp.gap",
                "layer": "tcp",
                "severity": "error",
                "detail": detail,
                "packet_no": number,
                "bytes_affected": 2**62 + number,
            }
        )
    sink.flush()
    return sink.take_ready()


def failing_batches() -> Iterator[tuple[str, Batch]]:
    yield from problem_batches()
    raise RuntimeError("the capture reader failed")


def test_parquet_reads_back_with_plain_strings_and_the_schema_version(tmp_path: Path) -> None:
    write_tables(problem_batches(), tmp_path / "out")
    file = pq.ParquetFile(tmp_path / "out" / "problems.parquet")
    assert file.read().column("detail").to_pylist() == DETAILS
    assert file.read().column("bytes_affected").to_pylist() == [2**62 + i for i in range(5)]
    assert file.schema_arrow.field("detail").type == pa.string()
    assert file.metadata.metadata[SCHEMA_VERSION_KEY.encode()] == str(SCHEMA_VERSION).encode()
    column = file.metadata.row_group(0).column(TABLES["problems"].index("packet_no"))
    assert "DELTA_BINARY_PACKED" in column.encodings


@pytest.mark.parametrize("is_compiled", [True, False])
def test_both_encoders_write_the_same_rows_and_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_compiled: bool
) -> None:
    monkeypatch.setattr(table_files, "is_compiled", lambda: is_compiled)
    write_tables(problem_batches(), tmp_path)
    read = pq.read_table(tmp_path / "problems.parquet")
    assert read.schema.field("code").type == pa.string()
    assert read.schema.metadata == {SCHEMA_VERSION_KEY.encode(): str(SCHEMA_VERSION).encode()}
    assert all(field.nullable for field in read.schema)
    assert read.column("detail").to_pylist() == DETAILS
    assert read.column("bytes_affected").to_pylist() == [2**62 + i for i in range(5)]
    assert read.column("ts_ns").null_count == len(DETAILS)


def test_csv_reads_back(tmp_path: Path) -> None:
    write_tables(problem_batches(), tmp_path, "csv")
    with open(tmp_path / "problems.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["detail"] for row in rows] == [d or "" for d in DETAILS]
    assert [row["packet_no"] for row in rows] == ["0", "1", "2", "3", "4"]


def test_json_lines_read_back(tmp_path: Path) -> None:
    write_tables(problem_batches(), tmp_path, "jsonl")
    lines = (tmp_path / "problems.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["detail"] for line in lines] == DETAILS


@pytest.mark.parametrize("file_format", FORMATS)
def test_empty_tables_are_written_and_rows_counted(tmp_path: Path, file_format: str) -> None:
    counts = write_tables(problem_batches(), tmp_path, file_format)
    assert counts == {**dict.fromkeys(CORE_TABLES, 0), "problems": len(DETAILS)}
    assert {p.name for p in tmp_path.iterdir()} == {f"{t}.{file_format}" for t in CORE_TABLES}


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_failure_leaves_the_earlier_result_and_nothing_beside_it(
    tmp_path: Path, file_format: str
) -> None:
    out = tmp_path / "out"
    write_tables(problem_batches(), out, file_format)
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    with pytest.raises(RuntimeError, match="capture reader"):
        write_tables(failing_batches(), out, file_format)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    assert list(tmp_path.iterdir()) == [out]


def test_rows_of_another_table_leave_nothing_behind(tmp_path: Path) -> None:
    def wrong_batches() -> Iterator[tuple[str, Batch]]:
        for _ in range(20):
            rows = RowBuffer(SESSIONS, None)
            rows.append({"session_id": 1})
            yield "frames", rows.take()

    with pytest.raises(ValueError):
        write_tables(wrong_batches(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_table_of_an_earlier_run_does_not_stay_beside_the_new_ones(tmp_path: Path) -> None:
    sink = Sink(has_payloads=True)
    assert sink.payloads is not None
    sink.payloads.append({"connection_id": "c1", "transfer_id": 1, "body": b"\x00\xff"})
    sink.flush()
    write_tables(sink.take_ready(), tmp_path, "jsonl")
    assert json.loads((tmp_path / "payloads.jsonl").read_text())["body"] == "00ff"
    (tmp_path / "notes.txt").write_text("mine")
    write_tables(problem_batches(), tmp_path, "jsonl")
    assert not (tmp_path / "payloads.jsonl").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_the_watcher_sees_every_batch(tmp_path: Path) -> None:
    seen: list[str] = []
    write_tables(problem_batches(), tmp_path, watch=lambda name, batch: seen.append(name))
    assert seen == ["problems"]
