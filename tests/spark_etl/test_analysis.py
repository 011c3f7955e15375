"""The whole way: what is written, replaced, and left alone when something goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dissectors.capture import CaptureError
from dissectors.tables import CORE_TABLES
from dissectors.writers import WriteError
from spark_etl.analysis import Request, analyze, given_tables
from spark_etl.source.plan import find_files, plan_splits
from tests.samples import SAMPLES, sample
from tests.spark_etl.comparing import differences, dissected, written

ROOT = SAMPLES.parent
# What Spark's scripts and Hadoop's file system call: everything but java.
TOOLS = (
    "bash", "sh", "basename", "cat", "chmod", "dirname", "env", "id", "ln", "ls", "mkdir", "ps",
    "readlink", "rm", "stat", "uname", "whoami",
)  # fmt: skip
METRICS = {
    "flow_control", "stalls", "credit_timeline", "settlement", "backlog", "latencies",
    "end_to_end", "throughput",
}  # fmt: skip


def test_again_over_the_same_output_replaces_it(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr("spark_etl.analysis.write_metrics", lambda *_args: [])
        analyze(spark, Request([sample("01"), sample("10a")], str(out)))
    analyze(spark, Request([sample("10a")], str(out)))
    assert differences(written(out), dissected(sample("10a"))) == {}
    names = {path.name.removesuffix(".parquet") for path in out.iterdir()}
    assert names == METRICS | set(CORE_TABLES)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert given_tables([str(out)]) is not None
    assert given_tables([str(tmp_path)]) is None


def test_a_failure_leaves_the_earlier_output_alone(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "frames.parquet").write_bytes(b"from an earlier run")

    def fail(*_args) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("spark_etl.analysis.write_metrics", fail)
    with pytest.raises(OSError, match="full"):
        analyze(spark, Request([sample("01")], str(out)))
    assert (out / "frames.parquet").read_bytes() == b"from an earlier run"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_mistakes_are_told_before_anything_is_done(spark, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no such file"):
        analyze(spark, Request([str(tmp_path / "absent.pcap")], str(tmp_path / "out")))
    (tmp_path / "empty.pcap").write_bytes(b"")
    with pytest.raises(CaptureError, match="empty"):
        analyze(spark, Request([str(tmp_path / "empty.pcap")], str(tmp_path / "out")))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WriteError, match="file: cannot be made"):
        analyze(spark, Request([sample("01")], str(tmp_path / "file" / "out")))
    with pytest.raises(WriteError, match=r"^/proc/out: cannot be made"):
        analyze(spark, Request([sample("01")], "/proc/out"))
    assert not (tmp_path / "out").exists()


def test_filters_are_pushed_down_and_payload_is_asked_for(spark) -> None:
    frame = spark.read.format("amqp_pcap").load(sample("01"))
    assert "payload" not in frame.columns
    asked = frame.where("dst_port = 5672 AND src = '127.0.0.1' AND ts_ns > 0")
    plan = asked._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan
    both = spark.read.format("amqp_pcap").option("payload", "true").load(sample("01"))
    whole = both.collect()
    some = asked.collect()
    assert 0 < len(some) < len(whole)
    assert len(some) == sum(row.dst_port == 5672 for row in whole)
    assert all(len(row.payload) == row.payload_bytes for row in whole)
    in_middle = whole[len(whole) // 2].ts_ns
    later = frame.where(frame.ts_ns >= in_middle).count()
    assert later == sum(row.ts_ns >= in_middle for row in whole)


def test_large_files_are_split_and_compressed_ones_are_not(tmp_path: Path) -> None:
    import gzip

    packed = tmp_path / "05.pcap.gz"
    packed.write_bytes(gzip.compress(Path(sample("05")).read_bytes(), 1))
    splits = plan_splits(find_files([sample("05"), str(packed)]), 100_000)
    pieces = [split for split in splits if split.file.name == sample("05")]
    assert len(pieces) > 10
    assert len(splits) - len(pieces) == 1


@pytest.mark.slow
def test_without_java_from_the_command_line(tmp_path: Path) -> None:
    """The runtime that pip brought is used; mistakes are one line."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in TOOLS:
        found = [Path(p) / tool for p in ("/bin", "/usr/bin") if (Path(p) / tool).exists()]
        (tools / tool).symlink_to(found[0])
    environment = {
        "PATH": str(tools), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"
    }  # fmt: skip
    assert not (tools / "java").exists() and "JAVA_HOME" not in environment

    def amqpscope(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from amqpscope.cli.main import main; main()", *arguments],
            capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300,
        )  # fmt: skip

    done = amqpscope("analyze", sample("10a"), "-o", "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert (tmp_path / ".cache/amqpscope/java/bin/java").exists()
    assert differences(written(tmp_path / "out"), dissected(sample("10a"))) == {}
    for wrong in (["absent.pcap"], [sample("01"), "-o", "/proc/none/out"]):
        said = amqpscope("analyze", *wrong)
        assert said.returncode == 2
        assert said.stderr.count("\n") == 1, said.stderr
        assert not os.path.exists("/proc/none")


@pytest.mark.slow
def test_interrupted_it_leaves_the_earlier_output_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "frames.parquet").write_bytes(b"from an earlier run")
    run = subprocess.Popen(
        [sys.executable, "-c", "from amqpscope.cli.main import main; main()",
         "analyze", sample("02"), "-o", str(out)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    deadline = time.monotonic() + 900
    while not list(tmp_path.glob(".out.*/frames.parquet/*")):  # some tables are there already
        assert run.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    said, wrong = run.communicate(timeout=900)
    assert (run.returncode, said, wrong) == (130, "", "amqpscope: interrupted\n")
    assert (out / "frames.parquet").read_bytes() == b"from an earlier run"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
