"""The command line as a person meets it: as a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from amqpscope.cli.main import COMMANDS
from dissectors.parquet.packing import is_compiled
from dissectors.tables import CORE_TABLES
from tests.builders.talk import Talk, pcap_bytes
from tests.samples import entry, parts, sample

ROOT = Path(__file__).resolve().parents[2]
MAIN = "from amqpscope.cli.main import main; main()"
PUBLISH_CONFIRM = "01_091_publish_confirm_consume_ack.pcap"


def run(*args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, *args],
        input=stdin,
        capture_output=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom amqpscope.cli.main import cli\n"
        "try: cli(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'pyarrow', 'numpy', 'pandas', 'pyspark', 'dissectors'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"


def loaded_by_dissect(out: Path) -> set[str]:
    """The modules that a process has when it has written a sample's tables."""
    command = ["dissect", sample(PUBLISH_CONFIRM), "-o", str(out)]
    code = (
        "import sys\nfrom amqpscope.cli.main import cli\n"
        f"try: cli({command!r})\n"
        "except SystemExit as end: assert not end.code\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (out / "frames.parquet").exists(), done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_dissect_loads_no_data_frames(tmp_path: Path) -> None:
    """Pandas and the function registry of Arrow take longer to load than most captures to read."""
    assert not {"pandas", "pyarrow.compute", "pyspark"} & loaded_by_dissect(tmp_path)


@pytest.mark.skipif(not is_compiled(), reason="as plain Python, Arrow writes Parquet")
def test_parquet_needs_no_arrow(tmp_path: Path) -> None:
    """Neither do the summary and its text, and Arrow takes longer to load than most captures."""
    loaded = loaded_by_dissect(tmp_path)
    assert "dissectors.parquet.file" in loaded
    assert "pyarrow" not in loaded


def test_version_names_the_backend() -> None:
    text = run("--version").stdout.decode()
    assert text.startswith("amqpscope 0.1.0 (")
    assert "compiled" in text or "plain Python" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    text = run(command, "--help").stdout.decode()
    assert "Example" in text
    assert f"amqpscope {command}" in text


def mistakes(folder: Path) -> dict[str, tuple[list[str], str]]:
    (folder / "notes.txt").write_text("nothing to see here, only words " * 20)
    (folder / "empty.pcap").write_bytes(b"")
    (folder / "hollow").mkdir()
    (folder / "hollow" / "readme.txt").write_text("no captures")
    return {
        "missing": (["nosuch.pcap"], "nosuch.pcap"),
        "text": ([str(folder / "notes.txt")], "notes.txt"),
        "empty": ([str(folder / "empty.pcap")], "empty.pcap"),
        "folder": ([str(folder / "hollow")], "hollow"),
        "glob": ([str(folder / "*.zip")], "*.zip"),
        "stdin": (["-"], ""),
    }


@pytest.mark.parametrize("case", ["missing", "text", "empty", "folder", "glob", "stdin"])
def test_a_mistake_gets_one_clear_line_and_exit_code_2(case: str, tmp_path: Path) -> None:
    args, named = mistakes(tmp_path)[case]
    done = run("dissect", *args, "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("amqpscope: ")
    assert named in lines[0]
    assert done.stdout == b""
    assert not (tmp_path / "out").exists()


def test_mistakes_differ_in_their_words(tmp_path: Path) -> None:
    said = set()
    for args, _ in mistakes(tmp_path).values():
        line = run("dissect", *args).stderr.decode()
        said.add(line.rpartition(": ")[2])
    assert len(said) >= 4


@pytest.mark.parametrize(
    "args",
    [
        ["dissect"],
        ["dissect", "x.pcap", "--port", "70000"],
        ["dissect", "x.pcap", "--port", "5672=2.0"],
        ["dissect", "x.pcap", "--format", "xml"],
        ["dissect", "x.pcap", "--keylog", "nosuch.keylog"],
        ["nosuch"],
    ],
)
def test_wrong_use_is_exit_code_2(args: list[str]) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


def test_an_output_folder_that_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = run("dissect", sample(PUBLISH_CONFIRM), "-o", str(tmp_path / "file" / "out"))
    assert done.returncode == 2
    assert len(done.stderr.decode().splitlines()) == 1


def test_a_link_layer_that_nobody_knows_is_a_row_and_exit_code_2(tmp_path: Path) -> None:
    """Nothing at all could be read: the tables say why, and so does the exit code."""
    capture = tmp_path / "odd.pcap"
    capture.write_bytes(pcap_bytes(Talk().open().packets, link_type=147))
    done = run("dissect", str(capture), "-o", str(tmp_path / "out"), "--format", "jsonl")
    assert done.returncode == 2
    assert b"link type 147" in done.stderr
    (row,) = (tmp_path / "out" / "problems.jsonl").read_text().splitlines()
    assert json.loads(row)["code"] == "capture.unknown_link_type"


def test_a_capture_in_which_nothing_happened_is_fine(tmp_path: Path) -> None:
    (tmp_path / "idle.pcap").write_bytes(pcap_bytes([]))
    done = run("dissect", str(tmp_path / "idle.pcap"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert "capture.no_packets" in done.stdout.decode()


def test_a_capture_cut_short_gives_what_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "cut.pcap").write_bytes(Path(sample(PUBLISH_CONFIRM)).read_bytes()[:20_000])
    done = run("dissect", str(tmp_path / "cut.pcap"))
    assert done.returncode == 0
    assert "capture.truncated" in done.stdout.decode()


def test_tables_are_written_and_counted(tmp_path: Path) -> None:
    out = tmp_path / "tables"
    done = run("dissect", sample(PUBLISH_CONFIRM), "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert {p.name for p in out.iterdir()} == {f"{t}.parquet" for t in CORE_TABLES}
    frames = pq.read_table(out / "frames.parquet")
    truth = entry(PUBLISH_CONFIRM)
    expected = truth["deframed"]["frames"] + truth["deframed"]["protocol_headers"]
    assert frames.num_rows == expected
    assert f"frames {expected}" in done.stdout.decode()


def test_the_summary_tells_the_story() -> None:
    text = run("dissect", sample(PUBLISH_CONFIRM)).stdout.decode()
    assert "1 AMQP connection, 181 frames, 40 message transfers" in text
    assert "AMQP 0-9-1" in text
    assert "Pika Python Client Library 1.4.4 → RabbitMQ 3.10.8" in text
    size = f"{sum(entry('01')['truth']['body_sizes']) / 1000:.1f} kB"
    assert f"→ publish  20 messages, {size}: 20 accepted" in text
    assert f"← deliver  20 messages, {size}: 20 accepted" in text
    assert "21,128 in streams = 21,128 decoded + 0 skipped + 0 missing + 0 left over" in text
    assert "nothing lost" in text


def test_the_summary_says_what_is_missing() -> None:
    text = run("dissect", sample("23a")).stdout.decode()
    assert "tcp.gap" in text
    assert "not in the capture" in text


def test_the_summary_counts_other_connections() -> None:
    text = run("dissect", sample("24a")).stdout.decode()
    assert "without AMQP" in text.splitlines()[0]


def test_json_for_scripts() -> None:
    summary = json.loads(run("dissect", sample(PUBLISH_CONFIRM), "--json").stdout)
    assert summary["ledger"]["is_balanced"] is True
    assert summary["ledger"]["stream_bytes"] == 21128
    assert summary["connections"][0]["dialect"] == "0-9-1"
    deeds = {(d["kind"], d["outcome"]): d["count"] for d in summary["transfers"]}
    assert deeds == {("publish", "accepted"): 20, ("deliver", "accepted"): 20}


def test_stdin_and_file_say_the_same() -> None:
    capture = Path(sample(PUBLISH_CONFIRM)).read_bytes()
    from_file = json.loads(run("dissect", sample(PUBLISH_CONFIRM), "--json").stdout)
    from_pipe = json.loads(run("dissect", "-", "--json", stdin=capture).stdout)
    assert from_pipe["transfers"] == from_file["transfers"]
    assert from_pipe["ledger"] == from_file["ledger"]


def test_the_demo_goes_through_a_folder_and_joins_rotated_parts(tmp_path: Path) -> None:
    samples = tmp_path / "samples"
    samples.mkdir()
    for path in (sample(PUBLISH_CONFIRM), *parts("23g")):
        shutil.copy(path, samples)
    done = run("demo", "--samples", str(samples), "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert "2 captures, 2 AMQP connections" in text
    assert "nothing lost" in text
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        PUBLISH_CONFIRM.removesuffix(".pcap"),
        "23g_091_rotated",
    }


def wait_until_asleep(pid: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "S":
        assert time.monotonic() < deadline, "the process never waits"
        time.sleep(0.01)


def test_interrupted() -> None:
    """While it waits for more of a pipe."""
    hearing = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); " + MAIN
    with subprocess.Popen(
        [sys.executable, "-c", hearing, "dissect", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None and process.stderr is not None
        # More than a pipe holds: when this returns, the reader is at work.
        packets = Talk().open().say(0, bytes(400_000), 1000).packets
        process.stdin.write(pcap_bytes(packets))
        process.stdin.flush()
        # A signal between Python's last look for signals and the reading would wait for more data.
        wait_until_asleep(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"amqpscope: interrupted\n"
        assert process.wait(60) == 130


@pytest.mark.parametrize(
    "arguments", [["--help"], ["dissect", "--help"], ["dissect", sample("01")]]
)
def test_output_that_cannot_be_written(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *arguments], stdout=full, stderr=subprocess.PIPE
        )
    assert done.stderr == b"amqpscope: No space left on device\n"
    assert done.returncode == 2


def test_output_that_is_closed() -> None:
    command = f"exec {sys.executable} -c '{MAIN}' dissect {sample('01')} >&-"
    done = subprocess.run(command, shell=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
