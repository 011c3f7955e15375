"""Compiled or plain Python: the same rows. (Without a compiler both runs are plain.)"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.samples import manifest, sample

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import hashlib, sys
from tests.tables import dissect
for path in sys.argv[1:]:
    tables = dissect(path)
    for name in sorted(tables):
        print(path, name, hashlib.sha1(repr(tables[name]).encode()).hexdigest())
"""


def rows_by(backend: str, paths: list[str]) -> list[str]:
    env = {**os.environ, "AMQPSCOPE_BACKEND": backend, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCRIPT, *paths]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True, cwd=ROOT)
    return done.stdout.splitlines()


def test_same_rows() -> None:
    paths = [sample(e["file"]) for e in manifest() if not e["dialect"].startswith("1")]
    compiled, plain = rows_by("compiled", paths), rows_by("python", paths)
    assert len(compiled) > len(paths)
    assert compiled == plain
