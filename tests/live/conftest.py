"""The live peers and the recorder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.rabbitmq import Broker
from tests.live.recording import Recording


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("rabbitmq"))
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


@pytest.fixture
def record(tmp_path: Path) -> Callable[[int], Recording]:
    """`with record(port) as recording:` captures what passes over that port."""
    return lambda port: Recording(tmp_path / "live.pcap", port)
