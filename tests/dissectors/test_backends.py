"""One source, two backends: compiled and plain Python give the same rows for every sample."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def run(backend: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.digest_run"],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "AMQPSCOPE_BACKEND": backend, "PYTHONPATH": str(ROOT)},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_both_backends_give_the_same_rows_for_every_sample() -> None:
    plain = run("python")
    other = run("compiled")
    assert plain["backend"].startswith("plain Python")
    differing = {
        (name, table)
        for name, tables in plain["digests"].items()
        for table in {*tables, *other["digests"][name]}
        if tables.get(table) != other["digests"][name].get(table)
    }
    assert differing == set()


def test_every_process_that_imports_the_package_follows_the_environment() -> None:
    """Spark's workers, for one, know nothing of the command line."""
    done = subprocess.run(
        [sys.executable, "-c", "import dissectors.tracker as hot; print(hot.__file__)"],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "AMQPSCOPE_BACKEND": "python", "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert done.stdout.strip().endswith(b".py")
