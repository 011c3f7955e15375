"""The race: ``amqpscope dissect -o`` against ``tshark -T fields`` on the same captures.

Both are run as processes of their own; CPU seconds and peak memory are what the kernel says
about them. The plain-Python backend runs on a smaller capture of the same kind.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click
import pyarrow.parquet as pq

from bench.generate import generate
from bench.tshark_fields import FIELDS
from dissectors import backend

POLL_SECONDS = 0.02
DISSECT = "from amqpscope.cli.main import main; main()"
HEADER = f"{'what':<34} {'CPU s':>8} {'wall s':>8} {'frames/s':>12} {'peak MB':>8} {'× tshark':>9}"


@dataclass(frozen=True, slots=True)
class Run:
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int


def measure(command: list[str], env: dict[str, str] | None = None) -> Run:
    """Run a process to its end; a failure of it is a failure of the race."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=errors, env={**os.environ, **(env or {})}
        )
        peak = 0
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            peak = max(peak, high_water(process.pid))
            time.sleep(POLL_SECONDS)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise click.ClickException(f"{command[0]}: {errors.read().decode()[-2000:]}")
    wall = time.perf_counter() - begun
    return Run(usage.ru_utime + usage.ru_stime, wall, peak)


def high_water(pid: int) -> int:
    """Peak memory of a running process; ``ru_maxrss`` would count what its parent had as well."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def tshark(capture: Path, dialect: str) -> Run:
    fields = [part for name in FIELDS[dialect] for part in ("-e", name)]
    return measure(["tshark", "-n", "-r", str(capture), "-Y", "amqp", "-T", "fields", *fields])


def amqpscope(capture: Path, out: Path, backend_name: str) -> Run:
    command = [sys.executable, "-c", DISSECT, "dissect", str(capture), "-o", str(out)]
    return measure(command, {backend.VARIABLE: backend_name})


def line(what: str, run: Run, frames: int, reference: float) -> str:
    """``reference`` is tshark's CPU time per frame."""
    rate = frames / run.cpu_seconds
    return (
        f"{what:<34} {run.cpu_seconds:>8.2f} {run.wall_seconds:>8.2f} {rate:>12,.0f} "
        f"{run.peak_bytes / 1e6:>8.0f} {reference * rate:>8.1f}×"
    )


def race(dialect: str, megabytes: float, loss: float, reorder: float, folder: Path) -> None:
    capture, out = folder / f"{dialect}.pcap", folder / "tables"
    generate(capture, dialect, megabytes, loss=loss, reorder=reorder)
    compiled = amqpscope(capture, out, "compiled")
    frames = pq.read_metadata(out / "frames.parquet").num_rows
    damage = f", {reorder:.1%} swapped, {loss:.1%} lost" if loss or reorder else ""
    title = f"AMQP {dialect}, {megabytes:g} MB{damage}, {frames:,} frames"
    shark = tshark(capture, dialect)
    reference = shark.cpu_seconds / frames
    click.echo(f"\n{title}\n{HEADER}")
    click.echo(line("tshark -T fields", shark, frames, reference))
    click.echo(line(f"amqpscope ({backend.describe()})", compiled, frames, reference))
    generate(capture, dialect, megabytes / 4, loss=loss, reorder=reorder)
    plain = amqpscope(capture, out, "python")
    frames = pq.read_metadata(out / "frames.parquet").num_rows
    click.echo(line("amqpscope (plain Python)", plain, frames, reference))
    capture.unlink()


@click.command()
@click.option("--megabytes", type=float, default=60, show_default=True)
def main(megabytes: float) -> None:
    """Race against tshark on generated captures of both families, clean and damaged."""
    with tempfile.TemporaryDirectory(prefix="amqpscope-bench-") as folder:
        for dialect in FIELDS:
            race(dialect, megabytes, 0.0, 0.0, Path(folder))
            race(dialect, megabytes / 4, 0.001, 0.002, Path(folder))


if __name__ == "__main__":
    main()
