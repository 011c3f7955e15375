"""A broker per module, captures of the scenarios against it, and replays of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replay.plan import Plan, describe
from replay.report import Report
from replay.run import ClientOptions, replay_client
from replay.safety import Consent
from replay.script import Script, read_script
from tests.live.rabbitmq import Broker
from tests.live.recording import Recording
from tests.replay.scenarios import SCENARIOS

PREFIX = "again."


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("rabbitmq"))
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


@pytest.fixture(scope="module")
def captured(
    broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[str, Script]]:
    """A scenario's capture, recorded when first asked for, and its script."""
    folder = tmp_path_factory.mktemp("captures")
    known: dict[str, tuple[str, Script]] = {}

    def capture(name: str) -> tuple[str, Script]:
        if name not in known:
            with Recording(folder / f"{name}.pcap", broker.port) as recording:
                SCENARIOS[name](broker.port)
            known[name] = (recording.path, read_script(recording.path))
        return known[name]

    return capture


class Replayer:
    """Replays to one port, under a prefix, with our own consent."""

    def __init__(self, port: int) -> None:
        self.port = port

    def __call__(
        self, path: str, script: Script | None = None, save_live: Path | None = None, **plan: object
    ) -> Report:
        script = script or read_script(path)
        wanted = Plan([path], target=f"amqp://127.0.0.1:{self.port}", prefix=PREFIX, speed="max")
        wanted.max_time_s = 60.0
        for name, value in plan.items():
            setattr(wanted, name, value)
        describe(script, wanted)
        options = ClientOptions(
            consent=Consent(captured_target=True, destructive=True),
            save_live=str(save_live) if save_live else None,
        )
        return replay_client(wanted, script, options)


@pytest.fixture
def replay(broker: Broker) -> Replayer:
    return Replayer(broker.port)
