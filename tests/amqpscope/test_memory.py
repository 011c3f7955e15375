"""Captures of any length through a pipe, in bounded memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peak import MEASURED_MAIN

ROOT = Path(__file__).resolve().parents[2]
LIMIT_KB = 300 * 1024


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["0-9-1", "1.0"])
def test_a_pipe_of_many_megabytes(dialect: str, tmp_path: Path) -> None:
    """Busy, lossy and shuffled: much longer than all buffers together are allowed to be."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    generate = [sys.executable, "-m", "bench.generate", "/dev/stdout", "--dialect", dialect]
    damage = ["--megabytes", "80", "--loss", "0.0005", "--reorder", "0.001"]
    command = [sys.executable, "-c", MEASURED_MAIN, "dissect", "-", "-o", str(tmp_path / "tables")]
    with (
        subprocess.Popen([*generate, *damage], stdout=subprocess.PIPE, env=env, cwd=ROOT) as maker,
        open(tmp_path / "summary", "wb") as summary,
    ):
        reader = subprocess.run(
            command, stdin=maker.stdout, stdout=summary, stderr=subprocess.PIPE, env=env, cwd=ROOT
        )
    assert reader.returncode == 0
    assert int(reader.stderr.split()[-1]) < LIMIT_KB
    assert "every byte accounted for" in (tmp_path / "summary").read_text(encoding="utf-8")
