"""A peer that behaves otherwise is found out, and the report says precisely how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from pika.adapters.blocking_connection import BlockingChannel

from replay.compare import Difference
from replay.report import DIFFERENT, FAILED, Report, as_text
from replay.script import Script
from tests.live.rabbitmq import Broker
from tests.replay.conftest import PREFIX, Replayer
from tests.replay.scenarios import connect

pytestmark = pytest.mark.live

Captured = Callable[[str], tuple[str, Script]]


def hard(report: Report) -> list[Difference]:
    return [d for d in report.differences if d.severity == "hard"]


@contextmanager
def admin(port: int) -> Iterator[BlockingChannel]:
    """Not open while a scenario is recorded: it would be in the capture."""
    with connect(port) as connection:
        yield connection.channel()


def test_a_policy_that_makes_the_broker_nack(
    captured: Captured, replay: Replayer, broker: Broker
) -> None:
    path, script = captured("publish")
    broker.ctl(
        "set_policy", "full", f"^{PREFIX}", '{"max-length": 2, "overflow": "reject-publish"}'
    )
    try:
        report = replay(path, script)
    finally:
        broker.ctl("clear_policy", "full")
    assert report.exit_code == DIFFERENT, as_text(report)
    found = hard(report)
    assert {d.rule for d in found} == {"outcome"}
    assert [(d.captured, d.live) for d in found] == [("accepted", "rejected")] * 3
    assert [d.text.split(" (")[0] for d in found] == ["publish 3", "publish 4", "publish 5"]


def test_a_queue_that_exists_makes_a_404_vanish(captured: Captured, replay: Replayer) -> None:
    path, script = captured("channel-errors")
    with admin(replay.port) as channel:
        channel.queue_declare(PREFIX + "sc.absent")
        report = replay(path, script, step_timeout_s=4.0)
        channel.queue_delete(PREFIX + "sc.absent")
    assert report.exit_code == DIFFERENT, as_text(report)
    first, *_ = [d for d in hard(report) if d.rule == "sequence"]
    assert first.where == "channel 2", as_text(report)
    assert first.captured is not None and first.captured.startswith("channel.close 404 (NOT_FOUND")
    assert first.live == "queue.declare-ok, channel.close-ok"


def test_an_exchange_of_another_type(captured: Captured, replay: Replayer) -> None:
    path, script = captured("exchange")
    with admin(replay.port) as channel:
        channel.exchange_declare(PREFIX + "sc.exchange", "topic")
        report = replay(path, script, step_timeout_s=4.0)
        channel.exchange_delete(PREFIX + "sc.exchange")
        channel.queue_delete(PREFIX + "sc.bound")
    assert report.exit_code == DIFFERENT, as_text(report)
    (found,) = [d for d in hard(report) if d.rule == "sequence"]
    assert found.captured is not None and found.captured.startswith("exchange.declare-ok")
    assert found.live is not None and found.live.startswith(
        "channel.close 406 (PRECONDITION_FAILED"
    )


def test_an_empty_queue_misses_deliveries(captured: Captured, replay: Replayer) -> None:
    """Only the consumer is replayed: nobody fills its queue."""
    path, script = captured("two-connections")
    consumer = script.only([script.connections[1].connection_id])
    with admin(replay.port) as channel:
        channel.queue_declare(PREFIX + "sc.two")
        report = replay(path, consumer, step_timeout_s=4.0)
        channel.queue_delete(PREFIX + "sc.two")
    assert report.exit_code == DIFFERENT, as_text(report)
    missing = [d for d in hard(report) if d.rule == "deliveries"]
    # Twenty are spelled out, the rest is a number.
    assert len(missing) == 21
    assert missing[0].text.startswith("deliver missing: sc.two, 8 bytes")
    assert missing[-1].text == "and 80 more of rule deliveries"
    # A prefetch of twenty was captured: that many are given up at once, not one by one.
    assert report.connections[0].notes[0].startswith("deliveries 1 to ")
    assert len(report.connections[0].notes) < 20


def test_a_broker_alarm_stops_at_max_time(
    captured: Captured, replay: Replayer, broker: Broker
) -> None:
    path, script = captured("publish")
    broker.ctl("set_vm_memory_high_watermark", "0.00001")
    try:
        report = replay(path, script, max_time_s=8.0, step_timeout_s=4.0)
    finally:
        broker.ctl("set_vm_memory_high_watermark", "0.6")
    assert report.exit_code == FAILED, as_text(report)
    assert report.stopped == "stopped after 8 s (--max-time)"
    assert [d.text for d in hard(report) if d.rule == "blocked"] == [
        "the broker blocked the connection: low on memory"
    ]
