"""``dissect --table``: rows in the terminal and for pipes are those of the files."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from amqpscope.look import FORMATS, ask
from dissectors.tables import CORE_TABLES, TABLES
from tests.amqpscope.test_cli import MAIN, ROOT, run
from tests.builders.talk import Talk, pcap_bytes
from tests.peak import MEASURED_MAIN
from tests.samples import sample

CAPTURE = sample("03")
LARGE = "name = 'basic.publish' and size_bytes > 30 or name like 'basic.%-ok'"
LIMIT_KB = 300 * 1024


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("look") / "tables"
    assert run("dissect", CAPTURE, "-o", str(folder)).returncode == 0
    return folder


def rows_of(tables: Path, table: str, *columns: str) -> list[dict[str, object]]:
    return pq.read_table(tables / f"{table}.parquet", columns=list(columns) or None).to_pylist()


def looked(*arguments: str) -> str:
    done = run("dissect", CAPTURE, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.mark.parametrize("table", CORE_TABLES)
def test_all_rows_and_columns_as_json_lines(table: str, tables: Path) -> None:
    lines = looked("--table", table, "--format", "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == rows_of(tables, table)


def test_some_rows_and_columns_as_csv(tables: Path) -> None:
    columns = ("ts_ns", "name", "size_bytes", "outcome")
    said = looked("--table", "frames", "--columns", ",".join(columns), "--where", LARGE,
                  "--format", "csv")  # fmt: skip
    found = list(csv.DictReader(io.StringIO(said)))
    expected = [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in rows_of(tables, "frames", *columns)
        if (row["name"] == "basic.publish" and row["size_bytes"] > 30)  # type: ignore[operator]
        or (str(row["name"]).startswith("basic.") and str(row["name"]).endswith("-ok"))
    ]
    assert found == expected and 0 < len(found) < len(rows_of(tables, "frames"))


def test_aligned_for_a_person(tables: Path) -> None:
    said = looked("--table", "frames", "--columns", "name,size_bytes,channel", "--where", LARGE)
    header, *lines = said.splitlines()
    assert header.split() == ["name", "size_bytes", "channel"]
    expected = [
        [str(row["name"]), str(row["size_bytes"]), str(row["channel"])]
        for row in rows_of(tables, "frames", "name", "size_bytes", "channel", "frame_no")
        if (row["name"] == "basic.publish" and row["size_bytes"] > 30)  # type: ignore[operator]
        or (str(row["name"]).startswith("basic.") and str(row["name"]).endswith("-ok"))
    ]
    assert [line.split() for line in lines] == expected
    # Names stand at the left of their column, numbers at its right.
    right = header.index("size_bytes") + len("size_bytes")
    assert all(line[right - 1].isdigit() and line[right] == " " for line in lines)
    assert len({len(line) for line in [header, *lines]}) == 1


def test_nothing_found_is_a_header(tables: Path) -> None:
    arguments = ("--table", "frames", "--columns", "name", "--where", "size_bytes < 0")
    assert looked(*arguments) == "name\n"
    assert looked(*arguments, "--format", "csv") == '"name"\n'
    assert looked(*arguments, "--format", "jsonl") == ""


def test_the_terminal_does_not_obey_what_peers_write(tmp_path: Path) -> None:
    capture = tmp_path / "evil.pcap"
    talk = Talk().open()
    name = "\x1b[31mred\nline\u202e"
    talk.say(0, b"AMQP\0\0\x09\x01")
    queue = name.encode()
    arguments = b"\0\0" + bytes([len(queue)]) + queue + b"\0" + b"\0\0\0\0"
    payload = b"\0\x32\0\x0a" + arguments
    talk.say(0, b"\x01\0\x01" + len(payload).to_bytes(4, "big") + payload + b"\xce")
    capture.write_bytes(pcap_bytes(talk.packets))
    done = run("dissect", str(capture), "--table", "frames", "--columns", "name,fields")
    said = done.stdout.decode()
    assert "queue.declare" in said and "red" in said
    assert "\x1b" not in said and "\u202e" not in said
    assert len(said.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--table", "nope"], "there is no table 'nope': one of connections, sessions, links,"),
        (["--table", "links", "--columns", "a"], "--columns: links has no column 'a'; it has "),
        (["--table", "links", "--columns", "name,,role"], "--columns: links has no column ''"),
        (["--table", "links", "--columns", "name,name"], "--columns: a column is named twice"),
        (["--table", "frames", "--where", "nam = 1"], "--where: frames has no column 'nam';"),
        (["--table", "frames", "--where", "size_bytes >"], "--where: expected a whole number"),
        (["--where", "size_bytes > 1"], "--where and --columns are for the rows of one table"),
        (["--columns", "name"], "--where and --columns are for the rows of one table"),
        (["--table", "frames", "-o", "x"], "--table prints rows, -o writes all tables"),
        (["--table", "frames", "--format", "parquet"], "--table prints rows: --format csv or"),
        (["--table", "frames", "--json"], "--json is for the summary"),
        (["--table", "payloads"], "the table payloads needs --payloads"),
    ],
)
def test_mistakes_get_one_line(arguments: list[str], said: str) -> None:
    done = run("dissect", CAPTURE, *arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"amqpscope: {said}")


def test_payloads_are_hex() -> None:
    said = looked("--table", "payloads", "--payloads", "--format", "jsonl")
    rows = [json.loads(line) for line in said.splitlines()]
    octets = [c.name for c in TABLES["payloads"].columns if c.kind == "bytes"]
    assert rows and all(bytes.fromhex(row[name]) for row in rows for name in octets if row[name])


def test_no_capture_no_rows() -> None:
    done = run("dissect", "nosuch.pcap", "--table", "frames")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == "amqpscope: nosuch.pcap: no such file or folder\n"


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_reader_that_leaves_is_no_mistake(file_format: str) -> None:
    chosen = [] if file_format == "text" else ["--format", file_format]
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "dissect", sample("06"), "--table", "frames", *chosen],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_a_question_loads_no_more_than_it_needs() -> None:
    assert ask("frames", None, None).where is None
    shown = ask("frames", "size_bytes > 1", "name, size_bytes").shown
    assert shown.names() == ("name", "size_bytes")


@pytest.mark.slow
@pytest.mark.parametrize("file_format", FORMATS)
def test_a_pipe_of_many_megabytes(file_format: str, tmp_path: Path) -> None:
    """Every row of a capture much longer than all buffers together are allowed to be."""
    chosen = [] if file_format == "text" else ["--format", file_format]
    generate = [sys.executable, "-m", "bench.generate", "/dev/stdout", "--megabytes", "80"]
    look = [sys.executable, "-c", MEASURED_MAIN, "dissect", "-", "--table", "frames", *chosen,
            "--columns", "frame_no,name,size_bytes", "--where", "size_bytes > 0"]  # fmt: skip
    out = tmp_path / "rows"
    with (
        subprocess.Popen([*generate], stdout=subprocess.PIPE, cwd=ROOT) as maker,
        out.open("wb") as rows,
    ):
        reader = subprocess.run(
            look, stdin=maker.stdout, stdout=rows, stderr=subprocess.PIPE, cwd=ROOT
        )
    assert reader.returncode == 0
    assert int(reader.stderr.split()[-1]) < LIMIT_KB
    with out.open("rb") as rows:
        assert sum(1 for _ in rows) > 400_000
