"""Both backends, compiled and plain Python, write the same rows of the same captures."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dissectors import backend
from tests.samples import manifest, sample

NAMES = ["11a", "13b", "14b", "15a", "16", "17", "19a", "22b", "23b", "23f", "30"]
#: Prints a digest of every table of each capture given.
PROGRAM = """
import sys
from xxhash import xxh3_64_hexdigest
from tests.tables import dissect
for path in sys.argv[1:]:
    for table, rows in sorted(dissect(path, has_payloads=True).items()):
        print(path, table, len(rows), xxh3_64_hexdigest(repr(rows).encode()))
"""


def digests(backend_name: str, paths: list[str]) -> str:
    env = {**os.environ, backend.VARIABLE: backend_name}
    command = [sys.executable, "-c", PROGRAM, *paths]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(backend.describe() == "plain Python", reason="nothing is compiled here")
def test_both_backends_write_the_same_rows() -> None:
    paths = [sample(name) for name in NAMES]
    assert {e["dialect"] for e in manifest() if e["file"].startswith(tuple(NAMES))} >= {"1.0"}
    compiled, plain = digests("compiled", paths), digests("python", paths)
    assert compiled.count("\n") >= 6 * len(NAMES)
    assert compiled == plain
