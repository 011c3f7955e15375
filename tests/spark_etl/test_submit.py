"""``spark-submit`` as docs/spark.md says it, with a Python that does not have our packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pyspark
import pytest

import dissectors.tracker
from spark_etl.java import java_home
from spark_etl.load import load
from spark_etl.session import SMALL_SETTINGS
from tests.samples import SAMPLES, sample
from tests.spark_etl.comparing import differences, dissected, written

pytestmark = pytest.mark.slow
ROOT = SAMPLES.parent
SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin/spark-submit"
LIBRARIES = sysconfig.get_path("purelib")
# Where the driver and its workers found the code, then the job. Metrics have tests of their own.
DRIVER = """
import sys
import dissectors.tracker
import spark_etl.analysis
from spark_etl.session import session
spark_etl.analysis.write_metrics = lambda *arguments: []
import spark_etl.metrics
from spark_etl.job import main

def where(_number):
    import dissectors.tracker
    return dissectors.tracker.__file__

session().sparkContext.setLogLevel("ERROR")
print("driver:", where(0))
print("worker:", session().sparkContext.parallelize([0], 1).map(where).collect()[0])
sys.exit(main())
"""


@pytest.fixture
def stranger(tmp_path: Path) -> dict[str, str]:
    """The environment of a Python with all libraries but ours: editable installs are not seen."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8",
        "JAVA_HOME": java_home(), "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": str(python), "PYTHONPATH": LIBRARIES,
    }  # fmt: skip
    found = subprocess.run(
        [str(python), "-c", "import spark_etl"], env=environment, cwd=tmp_path, capture_output=True
    )
    assert b"No module named 'spark_etl'" in found.stderr
    return environment


def submit(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    settings = {
        **SMALL_SETTINGS, "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"
    }  # fmt: skip
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return subprocess.run(
        [str(SPARK_SUBMIT), *options, *words],
        cwd=environment["HOME"], env=environment, capture_output=True, text=True, timeout=900,
    )  # fmt: skip


def test_the_job_by_itself(stranger: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    job = ["--master", "local[2]", str(ROOT / "spark_etl/job.py")]
    done = submit(stranger, *job, "--input", sample("10a"), "--output", str(out))
    assert done.returncode == 0, done.stderr[-4000:]
    wanted = dissected(sample("10a"))
    assert differences(written(out), wanted) == {}
    assert load(out)["throughput"]["message_count"].sum() == wanted["transfers"].total()
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["rows"]["transfers"] == wanted["transfers"].total()


def test_the_compiled_archive(stranger: dict[str, str], tmp_path: Path) -> None:
    """Unpacked by the executors, which have nothing else of ours."""
    folder = tmp_path / "dist"
    made = subprocess.run(
        [sys.executable, "-m", "spark_etl.dist", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    archive = Path(made.stdout.splitlines()[-1])
    (tmp_path / "driver").mkdir()
    subprocess.run(["tar", "-xf", str(archive), "-C", str(tmp_path / "driver")], check=True)
    (tmp_path / "driver.py").write_text(DRIVER)
    stranger["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "driver"), LIBRARIES])
    on_workers = os.pathsep.join(["amqpscope", LIBRARIES])
    done = submit(
        stranger, "--master", "local-cluster[1,1,1024]", "--archives", f"{archive}#amqpscope",
        "--conf", f"spark.executorEnv.PYTHONPATH={on_workers}", str(tmp_path / "driver.py"),
        "--input", sample("10a"), "--output", str(tmp_path / "out"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    places = dict(line.split(": ") for line in done.stdout.splitlines() if ": /" in line)
    assert places["driver"].startswith(str(tmp_path / "driver"))
    assert "/amqpscope/dissectors/" in places["worker"]
    # Not ours, but its own copy: Spark's folder for it may well be inside a clone's environment.
    assert not places["worker"].startswith(str(ROOT / "dissectors"))
    # Compiled where it is here.
    name = Path(dissectors.tracker.__file__).name
    assert {Path(place).name for place in places.values()} == {name}
    assert differences(written(tmp_path / "out"), dissected(sample("10a"))) == {}
