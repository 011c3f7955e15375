"""Load mode: copies that do not meet, in several processes, added up in one report."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from replay.load import Progress, copy_prefix, replay_load
from replay.plan import Plan, describe
from replay.report import SAME, as_text
from replay.run import ClientOptions
from replay.safety import Consent
from replay.script import Script
from tests.live.rabbitmq import Broker

pytestmark = pytest.mark.live

COPIES = 4


def test_copies_are_all_the_same(
    captured: Callable[[str], tuple[str, Script]], broker: Broker
) -> None:
    path, script = captured("two-connections")
    plan = Plan([path], target=f"amqp://127.0.0.1:{broker.port}", mode="load", speed="max")
    plan.prefix, plan.copies, plan.max_time_s = "load.", COPIES, 60.0
    describe(script, plan)
    seen: list[Progress] = []
    options = ClientOptions(consent=Consent(captured_target=True))
    report = replay_load(plan, script, options, 2, seen.append)
    assert report.exit_code == SAME, as_text(report)
    ids = [c.connection_id for c in report.connections]
    assert len(ids) == len(set(ids)) == 2 * COPIES
    one_copy = sum(c.sent_steps for c in report.connections) // COPIES
    assert report.load["frames_sent"] == one_copy * COPIES > 300 * COPIES
    captured_spread, live = report.latency["settlement"]
    assert captured_spread is not None and live is not None
    assert live.count == COPIES * captured_spread.count
    assert seen and seen[-1].elapsed_s > 0
    assert not any(name.startswith("load.") for name in broker.queues())


def test_prefixes_differ() -> None:
    assert len({copy_prefix("p.", number) for number in range(100)}) == 100
