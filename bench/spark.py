"""Spark against dissect: CPU, memory of a worker, and how the cost grows with the capture.

``python -m bench.spark --flow 2 0.5 2 8``. CPU seconds are those of all processes: the JVM, its
Python workers, and ``dissect`` with its writer. Sizes are in gigabytes (10⁹ bytes)."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import click

from bench.generate import generate

TICKS = os.sysconf("SC_CLK_TCK")
POLL_SECONDS = 0.1
SPARK = """
import sys, json
from spark_etl.session import session
from spark_etl.rebuild import *
from spark_etl.source.plan import find_files
from spark_etl.storage import Folder
from dissectors.options import Options
spark = session(sys.argv[3])
files = find_files([sys.argv[1]])
folder = Folder(sys.argv[2]).make()
print("started", flush=True)
sys.stdin.readline()
outcome = rebuild(read_chunks(spark, files), Work(folder, Options(), look_at(files)),
                  partition_count(spark, files))
print(sum(outcome.row_counts().values()), flush=True)
sys.stdin.readline()
"""


@dataclass
class Cost:
    wall_seconds: float
    cpu_seconds: float
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


def cpu_of(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(value) for value in fields[11:15])  # own, and of ended children
    return total / TICKS


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


def run_dissect(capture: Path, folder: Path) -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    command = [sys.executable, "-c", "from amqpscope.cli.main import main; main()", "dissect"]
    subprocess.run([*command, str(capture), "-o", str(folder)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - begun, cpu)


def run_spark(capture: Path, folder: Path, master: str) -> Cost:
    """The rebuild alone: the start of Spark is not counted."""
    process = subprocess.Popen(
        [sys.executable, "-c", SPARK, str(capture), str(folder), master],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    process.stdout.readline()
    watch = WorkerWatch(process.pid)
    watch.start()
    before, begun = cpu_of(children(process.pid)), time.monotonic()
    process.stdin.write("go\n")
    process.stdin.flush()
    if not process.stdout.readline():
        raise SystemExit("the rebuild failed")
    wall = time.monotonic() - begun
    cpu = cpu_of(children(process.pid)) - before
    watch.is_over.set()
    process.stdin.write("end\n")
    process.stdin.close()
    process.wait()
    return Cost(wall, cpu, watch.peak_bytes)


def report(name: str, size: int, spark: Cost, alone: Cost | None) -> None:
    text = (
        f"{name}: {size / 1e9:.2f} GB  spark {spark.wall_seconds:.1f} s wall, "
        f"{spark.cpu_seconds:.1f} s CPU = {size / 1e6 / spark.cpu_seconds:.1f} MB per CPU s; "
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
def main(gigabytes: tuple[float, ...], flow: float, master: str) -> None:
    """Measure the rebuild on generated captures of these sizes, and on one huge flow."""
    with tempfile.TemporaryDirectory(prefix="amqpscope-bench-") as name:
        folder = Path(name)
        capture = folder / "capture.pcap"
        if flow:
            generate(capture, "0-9-1", flow * 1000, connections=1)
            cost = run_spark(capture, folder / "flow", master)
            report("one flow", capture.stat().st_size, cost, None)
        for number, size in enumerate(gigabytes):
            generate(capture, "0-9-1", size * 1000)
            cost = run_spark(capture, folder / f"spark-{number}", master)
            alone = run_dissect(capture, folder / f"dissect-{number}")
            report("8 flows", capture.stat().st_size, cost, alone)


if __name__ == "__main__":
    main()
