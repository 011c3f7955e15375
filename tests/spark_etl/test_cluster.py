"""Real distribution: other processes, started here, give the same tables and metrics as this one;
so they do when an executor is lost.

The job runs by ``spark-submit`` with the code shipped by ``--py-files``, from a folder in which
our packages are not to be found."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from spark_etl.analysis import Request, analyze
from spark_etl.dist import write_sources
from spark_etl.java import java_home
from spark_etl.session import JAVA_OPTIONS, SMALL_SETTINGS
from tests.samples import parts, sample
from tests.spark_etl.comparing import differences, dissected, written
from tests.spark_etl.metrics.comparing import metric_differences, metric_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
SPARK_HOME = Path(pyspark.__file__).parent
CAPTURES = [
    *(sample(name) for name in ("01", "02", "05", "10a", "30")), *parts("23g"), *parts("23h")
]  # fmt: skip
# Those for small captures: how Spark computes is not what these tests are about.
SETTINGS = {
    **SMALL_SETTINGS,
    "spark.executor.extraJavaOptions": SMALL_SETTINGS[JAVA_OPTIONS],
    "spark.sql.shuffle.partitions": "3",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
}
DRIVER = """
import sys
from spark_etl.job import main
sys.exit(main())
"""
# What is there, in the folder that the job writes to, once it is in the middle of a stage.
IN_THE_MIDDLE = {"dissecting": "frames.parquet/*", "computing metrics": "_spells.parquet"}


@pytest.fixture(scope="module")
def in_local_mode(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("local") / "out"
    analyze(spark, Request(CAPTURES, str(out)))
    assert all(metric_rows(out).values())
    return out


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "JAVA_HOME": java_home(),
        "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "LANG": "C.UTF-8",
    }  # fmt: skip


@contextmanager
def submitted(
    home: Path, master: str, out: Path, *settings: str
) -> Iterator[subprocess.Popen[bytes]]:
    """The job, running; what it says goes to a file, for a full pipe would stop it."""
    driver = home / "driver.py"
    driver.write_text(DRIVER)
    archive = write_sources(home / "amqpscope.zip")
    options = [
        word
        for setting in (*(f"{name}={value}" for name, value in SETTINGS.items()), *settings)
        for word in ("--conf", setting)
    ]
    with log_of(home).open("wb") as log:
        job = subprocess.Popen(
            [str(SPARK_HOME / "bin/spark-submit"), "--master", master, "--py-files", str(archive),
             *options,
             str(driver), "--input", *CAPTURES, "--output", str(out), "--partitions", "5",
             "--split-bytes", "600000"],
            cwd=home, env=environment(home), stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield job
    finally:
        job.kill()
        job.wait()


def log_of(home: Path) -> Path:
    return home / "job.log"


def check(job: subprocess.Popen[bytes], out: Path, local: Path) -> None:
    job.wait(timeout=1200)
    assert job.returncode == 0, log_of(out.parent).read_text()[-4000:]
    assert differences(written(out), dissected(CAPTURES)) == {}
    assert metric_differences(out, local) == {}


def test_local_cluster(in_local_mode: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with submitted(tmp_path, "local-cluster[2,1,1024]", out) as job:
        check(job, out, in_local_mode)


@contextmanager
def standalone(home: Path) -> Iterator[str]:
    """A master and two workers; gives the master's address."""
    started = []

    def start(name: str, *words: str) -> Path:
        log = home / f"{name}.log"
        command = [str(SPARK_HOME / "bin/spark-class"), f"org.apache.spark.deploy.{words[0]}"]
        started.append(
            subprocess.Popen(
                [*command, *words[1:]], cwd=home, env=environment(home), stdout=log.open("wb"),
                stderr=subprocess.STDOUT, start_new_session=True,
            )
        )  # fmt: skip
        return log

    try:
        ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = wait_for(start("master", "master.Master", *ports), r"spark://127\.0\.0\.1:\d+")
        for number in (1, 2):
            folder = home / f"worker-{number}"
            log = start(
                f"worker-{number}", "worker.Worker", *ports, "--cores", "1", "--memory", "1g",
                "--work-dir", str(folder), master,
            )  # fmt: skip
            wait_for(log, "Successfully registered")
        yield master
    finally:
        for process in started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in started:
            process.wait(timeout=30)


def wait_for(log: Path, pattern: str, seconds: float = 300) -> str:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text(errors="replace")) if log.exists() else None
        if found:
            return found[0]
        time.sleep(0.2)
    raise AssertionError(f"{log.name} does not say {pattern!r}: {log.read_text()[-2000:]}")


def executors(home: Path) -> list[int]:
    """Processes of the executors that these workers have started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
                where = os.readlink(entry / "cwd")
                if "CoarseGrainedExecutorBackend" in words and where.startswith(str(home)):
                    found.append(int(entry.name))
    return found


def kill_an_executor(home: Path, job: subprocess.Popen[bytes], stage: str) -> None:
    """While both are at work in a stage; returns once the driver has noticed."""
    log = log_of(home)
    deadline = time.monotonic() + 900
    while not (list(home.glob(f".out.*/{IN_THE_MIDDLE[stage]}")) and executors(home)[1:]):
        assert job.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "Lost executor" not in log.read_text()
    os.kill(executors(home)[0], signal.SIGKILL)
    wait_for(log, r"Lost executor \d+ on 127\.0\.0\.1")


@pytest.mark.parametrize("stage", [None, *IN_THE_MIDDLE])
def test_standalone_with_two_workers_of_which_one_loses_its_executor(
    in_local_mode: Path, stage: str | None, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with (
        standalone(tmp_path) as master,
        submitted(tmp_path, master, out, "spark.executor.memory=700m") as job,
    ):
        if stage is not None:
            kill_an_executor(tmp_path, job, stage)
        check(job, out, in_local_mode)
