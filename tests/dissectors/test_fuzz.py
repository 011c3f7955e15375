"""Random and mutated captures: never an exception, never a hang, never much memory."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from dissectors.detect import PROTOCOL_HEADERS
from tests import fuzzing
from tests.builders.talk import Talk, pcap_bytes
from tests.fuzz_run import complaints

ROOT = Path(__file__).resolve().parents[2]
MEMORY_LIMIT_KB = 300 * 1024


@pytest.mark.parametrize("name", fuzzing.seeds())
def test_every_sample_hurt_in_many_ways(name, tmp_path):
    rng = random.Random(name)
    copy = tmp_path / "hurt"
    for number in range(8):
        copy.write_bytes((fuzzing.hurt_file, fuzzing.hurt_talk)[number % 2](name, rng))
        assert complaints(copy) == []


def test_random_bytes_after_every_header(tmp_path):
    rng = random.Random(5)
    copy = tmp_path / "random.pcap"
    headers = list(PROTOCOL_HEADERS)
    for number in range(200):
        talk = Talk().open().say(0, b"AMQP" + headers[number % len(headers)])
        for _ in range(6):
            talk.say(rng.randrange(2), rng.randbytes(rng.randint(1, 3000)))
        copy.write_bytes(pcap_bytes(talk.close().packets))
        assert complaints(copy) == []


def test_random_files_with_every_magic_number(tmp_path):
    rng = random.Random(6)
    copy = tmp_path / "random"
    magics = ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a", "1f8b08", "28b52ffd", "")
    for number in range(400):
        head = bytes.fromhex(magics[number % len(magics)])
        copy.write_bytes(head + rng.randbytes(rng.randint(0, 2000)))
        assert complaints(copy) == []


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["compiled", "python"])
def test_thousands_of_cases_in_bounded_memory(backend):
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz_run", "1000000", "1500"],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "AMQPSCOPE_BACKEND": backend, "PYTHONPATH": str(ROOT)},
        timeout=900,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    result = json.loads(done.stdout)
    assert result["failures"] == []
    assert result["peak_kb"] < MEMORY_LIMIT_KB
