"""Real distribution: other processes, started here, give the same tables; so does a lost executor.

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

import pyspark
import pytest

from spark_etl.dist import write_sources
from spark_etl.java import java_home
from tests.samples import parts, sample
from tests.spark_etl.comparing import differences, dissected, written

pytestmark = pytest.mark.slow
SPARK_HOME = Path(pyspark.__file__).parent
CAPTURES = [sample("01"), sample("02"), sample("05"), sample("10a"), *parts("23g"), *parts("23h")]
# Metrics are the same DataFrames wherever they run, and have tests of their own.
DRIVER = """
import sys
import spark_etl.analysis
spark_etl.analysis.write_metrics = lambda *arguments: []
import spark_etl.metrics
from spark_etl.job import main
sys.exit(main())
"""


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "JAVA_HOME": java_home(),
        "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "LANG": "C.UTF-8",
    }  # fmt: skip


@contextmanager
def submitted(
    home: Path, master: str, out: Path, *settings: str
) -> Iterator[subprocess.Popen[str]]:
    driver = home / "driver.py"
    driver.write_text(DRIVER)
    archive = write_sources(home / "amqpscope.zip")
    options = [word for setting in settings for word in ("--conf", setting)]
    job = subprocess.Popen(
        [str(SPARK_HOME / "bin/spark-submit"), "--master", master, "--py-files", str(archive),
         "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1", *options,
         str(driver), "--input", *CAPTURES, "--output", str(out), "--partitions", "5",
         "--split-bytes", "600000"],
        cwd=home, env=environment(home), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield job
    finally:
        job.kill()
        job.wait()


def check(job: subprocess.Popen[str], out: Path) -> None:
    said, _ = job.communicate(timeout=400)
    assert job.returncode == 0, said[-4000:]
    assert differences(written(out), dissected(CAPTURES)) == {}


def test_local_cluster(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with submitted(tmp_path, "local-cluster[2,1,1024]", out) as job:
        check(job, out)


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


def wait_for(log: Path, pattern: str, seconds: float = 120) -> str:
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


def test_standalone_with_two_workers_of_which_one_loses_its_executor(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with (
        standalone(tmp_path) as master,
        submitted(tmp_path, master, out, "spark.executor.memory=700m") as job,
    ):
        # Files of the job are there: it is in the middle of its work.
        deadline = time.monotonic() + 400
        while not (list(tmp_path.glob(".out.*/frames.parquet/*")) and executors(tmp_path)[1:]):
            assert job.poll() is None, job.communicate()[0][-3000:]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(executors(tmp_path)[0], signal.SIGKILL)
        check(job, out)
