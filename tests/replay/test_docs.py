"""The page on replay: its examples run, its tables are those of the code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replay.api import replay
from replay.report import SAME
from replay.rules import RULES
from replay.safety import Consent
from tests.live.rabbitmq import Broker
from tests.samples import sample

PAGE = Path(__file__).resolve().parents[2] / "docs" / "replay.md"
MAIN = "import sys; from amqpscope.cli.main import main; main()"
SERVED = "--listen 127.0.0.1:5680"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


def examples() -> list[tuple[str, int]]:
    lines = [line for block in blocks("sh") for line in block.splitlines() if line]
    found = []
    for line in lines:
        command, _, remark = line.partition("  # exits ")
        found.append((command, int(remark or 0)))
    return found


def test_every_rule_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (hard|soft) \| (.*) \|$", page, re.M)
    assert rows == [(rule.id, rule.severity, rule.doc) for rule in RULES.values()]


@pytest.mark.live
def test_the_examples_run_as_they_stand(broker: Broker, tmp_path: Path) -> None:
    shutil.copy(sample("01"), tmp_path / "trace.pcap")
    commands = [example for example in examples() if SERVED not in example[0]]
    assert len(commands) >= 9
    for command, code in commands:
        arguments = command.replace(":5673", f":{broker.port}").split()[1:]
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=120,
        )
        assert done.returncode == code, f"{command}\n{done.stdout}{done.stderr}"
    assert (tmp_path / "result.xml").exists() and (tmp_path / "live.pcap").exists()


@pytest.mark.live
def test_the_server_of_the_page_serves(tmp_path: Path) -> None:
    """The captured client, replayed, is a client of the captured server."""
    (command,) = [command for command, _ in examples() if SERVED in command]
    shutil.copy(sample("01"), tmp_path / "trace.pcap")
    arguments = command.replace(":5680", ":0").split()[1:]
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    port = int(said.rpartition(":")[2])
    report = replay(
        sample("01"), to=f"amqp://127.0.0.1:{port}", speed="max", consent=Consent(destructive=True)
    )
    output, _ = process.communicate(timeout=60)
    assert report.exit_code == SAME
    assert process.returncode == SAME, output


@pytest.mark.live
def test_the_fixture_of_the_page_works(broker: Broker, tmp_path: Path) -> None:
    (code,) = blocks("python")
    shutil.copy(sample("01"), tmp_path / "trace.pcap")
    (tmp_path / "conftest.py").write_text(
        "import pytest\n"
        "pytest_plugins = ['replay.pytest_plugin']\n"
        "@pytest.fixture\n"
        f"def broker_url():\n    return 'amqp://127.0.0.1:{broker.port}'\n"
    )
    (tmp_path / "test_incident.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        # Where the package is installed, pytest knows the plugin by its entry point already.
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
