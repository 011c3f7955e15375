"""Runs lines of Python in a process of its own, with our packages; gives what it prints."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.samples import SAMPLES

SECONDS = 900


def python(lines: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", lines, *arguments],
        capture_output=True, text=True, timeout=SECONDS,
        env={**os.environ, "PYTHONPATH": str(SAMPLES.parent), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
