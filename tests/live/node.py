"""Run a client written for Node.js; it prints what it counted as one line of JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.live.needs import program, unavailable
from tests.live.waiting import PATIENCE_S

HERE = Path(__file__).resolve().parent
INSTALL = "npm install --prefix tests/live"


def run_client(script: str, **arguments: Any) -> dict[str, Any]:
    """What the client in `clients/` says after it has done what the arguments ask."""
    node = program("node", "nodejs")
    if not (HERE / "node_modules" / "rhea").is_dir():
        unavailable(f"the clients' packages are missing: {INSTALL}")
    done = subprocess.run(
        [node, str(HERE / "clients" / script), json.dumps(arguments)],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
    )
    assert done.returncode == 0, f"{script} failed:\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout)
