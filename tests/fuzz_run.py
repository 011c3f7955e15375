"""Fuzz in a process of its own: ``python -m tests.fuzz_run FIRST_SEED CASES`` prints JSON.

A process of its own, so that its peak memory is that of the dissectors alone, and so that either
backend can be chosen. Every failure is told with the seed that shows it again.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from dissectors import backend
from tests.peak import peak_kb

SECONDS_PER_CASE = 20


def case(seed: int) -> bytes:
    """The capture of a seed: mostly streams hurt inside whole packets, else a hurt file."""
    from tests import fuzzing

    rng = random.Random(seed)
    name = rng.choice(fuzzing.seeds())
    hurt = rng.choice((fuzzing.hurt_file, fuzzing.hurt_talk, fuzzing.hurt_talk))
    return hurt(name, rng)


def complaints(path: Path) -> list[str]:
    """What is wrong with the tables of a capture; a refusal of the whole file is fine."""
    import dissectors
    from dissectors.capture import CaptureError
    from tests.tables import Tables, ledger_errors

    tables = Tables()
    try:
        for name, batch in dissectors.open(str(path)):
            batch.validate(full=True)
            tables.setdefault(name, []).extend(batch.to_pylist())
    except CaptureError:
        return []
    bugs = [row["detail"] for row in tables["problems"] if row["code"] == "frame.bug"]
    return bugs + ledger_errors(tables)


def run(first: int, count: int) -> dict[str, Any]:
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case"
        for seed in range(first, first + count):
            path.write_bytes(case(seed))
            signal.alarm(SECONDS_PER_CASE)  # a hang ends the process: no answer is a failure
            try:
                failures += [f"seed {seed}: {said}" for said in complaints(path)]
            except Exception as error:  # whatever it is, it must not have been raised
                failures.append(f"seed {seed}: {type(error).__name__}: {error}")
            signal.alarm(0)
    return {"failures": failures, "peak_kb": peak_kb(), "backend": backend.describe()}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))
