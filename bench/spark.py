"""Spark against dissect: CPU, memory of a worker, and how the cost grows with the capture.

``python -m bench.spark --flow 2 0.5 2 8``. CPU seconds are those of all processes: the JVM, its
Python workers, and ``dissect`` with its writer; they hardly change on a busy machine, where the
time on the wall does. Sizes are in gigabytes (10⁹ bytes). A session's first run compiles the JVM's
code and starts its workers: it is measured by itself, on a capture of ``WARM_UP_GIGABYTES``."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from bench.generate import generate

TICKS = os.sysconf("SC_CLK_TCK")
POLL_SECONDS = 0.1
WARM_UP_GIGABYTES = 0.25
# Rebuilds one capture for each line that names it and a folder: Spark's start is not counted.
SPARK = """
import sys
from dissectors.options import Options
from spark_etl.rebuild import Work, look_at, partition_count, read_chunks, rebuild
from spark_etl.session import session
from spark_etl.source.plan import find_files
from spark_etl.storage import Folder
spark = session(sys.argv[1])
print("started", flush=True)
for line in sys.stdin:
    capture, folder = line.split()
    files = find_files([capture])
    work = Work(Folder(folder).make(), Options(), look_at(files))
    outcome = rebuild(read_chunks(spark, files), work, partition_count(spark, files))
    print(sum(outcome.row_counts().values()), flush=True)
"""


@dataclass(frozen=True)
class Cost:
    wall_seconds: float
    cpu_seconds: float
    jvm_seconds: float = 0.0
    worker_bytes: int = 0


def children(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                found += children(int(child))
        except OSError:
            continue
    return found


def is_jvm(pid: int) -> bool:
    return "java" in Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0]


def cpu_of(pids: list[int]) -> tuple[float, float]:
    """Seconds of all processes, and those of the JVM among them."""
    total = jvm = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            own, of_ended_children = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
            jvm += own if is_jvm(pid) else 0
        except OSError:
            continue
        total += own + of_ended_children
    return total / TICKS, jvm / TICKS


class WorkerWatch(threading.Thread):
    """The most memory that any Python worker of Spark has held."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.peak_bytes = 0
        self.is_over = threading.Event()

    def run(self) -> None:
        while not self.is_over.wait(POLL_SECONDS):
            for pid in children(self.pid)[1:]:
                try:
                    words = Path(f"/proc/{pid}/cmdline").read_text()
                    status = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue
                if "pyspark" in words and "java" not in words.partition("\0")[0]:
                    line = next((x for x in status.splitlines() if x.startswith("VmHWM")), "")
                    size = int(line.split()[1]) * 1024 if line else 0
                    self.peak_bytes = max(self.peak_bytes, size)


class Spark:
    """A session in a process of its own, which rebuilds what it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._count = 0

    def run(self, capture: Path, folder: Path) -> Cost:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        self._count += 1
        watch = WorkerWatch(process.pid)
        watch.start()
        before, begun = cpu_of(children(process.pid)), time.monotonic()
        process.stdin.write(f"{capture} {folder / f'spark-{self._count}'}\n")
        process.stdin.flush()
        if not process.stdout.readline():
            raise SystemExit("the rebuild failed")
        wall = time.monotonic() - begun
        cpu, jvm = cpu_of(children(process.pid))
        watch.is_over.set()
        return Cost(wall, cpu - before[0], jvm - before[1], watch.peak_bytes)


@contextmanager
def started(master: str) -> Iterator[Spark]:
    process = subprocess.Popen(
        [sys.executable, "-c", SPARK, master],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdout.readline()
        yield Spark(process)
    finally:
        process.stdin.close()
        process.wait()


def run_dissect(capture: Path, folder: Path) -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    command = [sys.executable, "-c", "from amqpscope.cli.main import main; main()", "dissect"]
    subprocess.run([*command, str(capture), "-o", str(folder)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - begun, cpu)


def report(name: str, size: int, spark: Cost, alone: Cost | None = None) -> None:
    text = (
        f"{name}: {size / 1e9:.2f} GB  spark {spark.wall_seconds:.1f} s wall, "
        f"{spark.cpu_seconds:.1f} s CPU ({spark.jvm_seconds:.1f} s of it JVM) = "
        f"{size / 1e6 / spark.cpu_seconds:.1f} MB per CPU s; "
        f"worker {spark.worker_bytes / 1e6:.0f} MB"
    )
    if alone is not None:
        share = alone.cpu_seconds / spark.cpu_seconds
        text += (
            f"; dissect {alone.cpu_seconds:.1f} s CPU = "
            f"{size / 1e6 / alone.cpu_seconds:.1f} MB per CPU s; {share:.2f} of it"
        )
    click.echo(text)


@click.command()
@click.argument("gigabytes", type=float, nargs=-1)
@click.option("--flow", type=float, default=0.5, show_default=True, help="Size of the one flow.")
@click.option("--master", default="local[2]", show_default=True)
@click.option("--dialect", type=click.Choice(["0-9-1", "1.0"]), default="0-9-1", show_default=True)
def main(gigabytes: tuple[float, ...], flow: float, master: str, dialect: str) -> None:
    """Measure the rebuild on generated captures of these sizes, and on one huge flow."""
    with tempfile.TemporaryDirectory(prefix="amqpscope-bench-") as name:
        folder = Path(name)
        capture = folder / "capture.pcap"
        if flow:
            generate(capture, dialect, flow * 1000, connections=1)
            with started(master) as spark:
                report("one flow", capture.stat().st_size, spark.run(capture, folder / "flow"))
        if gigabytes:
            with started(master) as spark:
                generate(capture, dialect, WARM_UP_GIGABYTES * 1000)
                cost = spark.run(capture, folder)
                report("first run of a session", capture.stat().st_size, cost)
                for size in gigabytes:
                    generate(capture, dialect, size * 1000)
                    cost = spark.run(capture, folder)
                    alone = run_dissect(capture, folder / "dissect")
                    report("8 flows", capture.stat().st_size, cost, alone)


if __name__ == "__main__":
    main()
