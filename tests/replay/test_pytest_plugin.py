"""The fixture for other people's tests, used as they would use it: in a test run of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from subprocess import run

import pytest

from replay.api import replay
from replay.script import Script
from tests.live.rabbitmq import Broker

Captured = Callable[[str], tuple[str, Script]]

TEST = """
from replay.safety import Consent

SAME_TARGET = Consent(captured_target=True)


def test_same(replay_session):
    replay_session({path!r}, to={url!r}, prefix="fixture.", consent=SAME_TARGET).assert_same()


def test_different(replay_session):
    replay_session(
        {path!r}, to={url!r}, prefix="fixture.", consent=SAME_TARGET, frame_max=4096,
        fail_on="soft",
    ).assert_same()
"""


@pytest.mark.live
def test_the_fixture_passes_and_fails(captured: Captured, broker: Broker, tmp_path: Path) -> None:
    path, _ = captured("publish")
    test = tmp_path / "test_incident.py"
    test.write_text(TEST.format(path=path, url=f"amqp://127.0.0.1:{broker.port}"))
    done = run(
        [sys.executable, "-m", "pytest", "-q", "-p", "replay.pytest_plugin", str(test)],
        capture_output=True,
        text=True,
        timeout=120,
        # Where the package is installed, pytest knows the plugin by its entry point already.
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "soft limits: connection: frame-max: captured 131072, live 4096" in done.stdout


def test_the_package_announces_the_fixture() -> None:
    tomllib = pytest.importorskip("tomllib")
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    announced = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["entry-points"]
    (module,) = announced["pytest11"].values()
    assert hasattr(import_module(module), "replay_session")


def test_unknown_settings_are_mistakes() -> None:
    with pytest.raises(TypeError, match="unknown settings: colour"):
        replay("x.pcap", to="amqp://127.0.0.1", colour="blue")
