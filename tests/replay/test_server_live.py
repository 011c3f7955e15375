"""The mock server: unmodified pika programs pass on it, and changed ones are told apart."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pika
import pytest
from pika.exceptions import AMQPError

from replay.report import DIFFERENT, SAME, Report, as_text
from replay.script import Script
from replay.server import ServerOptions, serve
from tests.replay.scenarios import SCENARIOS, connect

pytestmark = pytest.mark.live

Captured = Callable[[str], tuple[str, Script]]


def served(script: Script, program: Callable[[int], None], **options: object) -> Report:
    """The report of serving a script to a program."""
    reports: list[Report] = []
    ports: list[int] = []
    is_listening = threading.Event()

    def listening(port: int) -> None:
        ports.append(port)
        is_listening.set()

    wanted = ServerOptions(max_time_s=30.0, **options)  # type: ignore[arg-type]
    thread = threading.Thread(target=lambda: reports.append(serve(script, wanted, listening)))
    thread.start()
    assert is_listening.wait(10)
    try:
        program(ports[0])
    finally:
        thread.join(40)
    assert not thread.is_alive()
    return reports[0]


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "idle"])
def test_the_program_that_was_captured_passes(scenario: str, captured: Captured) -> None:
    _, script = captured(scenario)
    report = served(script, SCENARIOS[scenario])
    assert report.exit_code == SAME, as_text(report)
    assert report.differences == [], as_text(report)


def test_a_heartbeat_keeps_the_connection(captured: Captured) -> None:
    _, script = captured("idle")
    assert served(script, SCENARIOS["idle"]).exit_code == SAME


def test_another_body_and_another_declaration_are_told(captured: Captured) -> None:
    _, script = captured("exchange")

    def changed(port: int) -> None:
        with connect(port) as connection:
            channel = connection.channel()
            channel.exchange_declare("sc.exchange", "direct", durable=True)
            channel.queue_declare("sc.bound")
            channel.queue_bind("sc.bound", "sc.exchange", "key")
            channel.basic_publish("sc.exchange", "key", b"changed")
            method, _, _ = next(channel.consume("sc.bound", inactivity_timeout=10))
            channel.basic_nack(method.delivery_tag, requeue=False)
            channel.cancel()
            channel.queue_delete("sc.bound")
            channel.exchange_delete("sc.exchange")

    report = served(script, changed)
    assert report.exit_code == DIFFERENT, as_text(report)
    texts = [(d.rule, d.text) for d in report.differences if d.severity == "hard"]
    assert ("fields", "exchange.declare durable: captured false, live true") in texts
    outcomes = [(d.captured, d.live) for d in report.differences if d.rule == "outcome"]
    assert outcomes == [("accepted", "rejected")]
    messages = [d.text.split(":")[0] for d in report.differences if d.rule == "messages"]
    assert messages == ["publish missing", "publish not captured"]


def test_a_method_left_out_is_told(captured: Captured) -> None:
    _, script = captured("exchange")

    def changed(port: int) -> None:
        with connect(port) as connection:
            channel = connection.channel()
            channel.exchange_declare("sc.exchange", "direct")
            channel.queue_declare("sc.bound")
            channel.basic_publish("sc.exchange", "key", b"routed")
            method, _, _ = next(channel.consume("sc.bound", inactivity_timeout=10))
            channel.basic_ack(method.delivery_tag)
            channel.cancel()
            channel.queue_delete("sc.bound")
            channel.exchange_delete("sc.exchange")

    report = served(script, changed)
    assert [(d.rule, d.captured, d.live) for d in report.differences] == [
        ("sequence", "queue.bind", "nothing")
    ]


@pytest.mark.parametrize("unmatched", ["close", "error"])
def test_what_was_not_captured_is_answered(unmatched: str, captured: Captured) -> None:
    _, script = captured("exchange")
    said: list[AMQPError] = []

    def changed(port: int) -> None:
        connection = connect(port)
        try:
            connection.channel().tx_select()
        except AMQPError as error:
            said.append(error)
        if connection.is_open:
            connection.close()

    report = served(script, changed, unmatched=unmatched)
    assert report.exit_code == DIFFERENT, as_text(report)
    kind = {"close": pika.exceptions.ConnectionClosedByBroker,
            "error": pika.exceptions.ChannelClosedByBroker}[unmatched]  # fmt: skip
    assert [type(error) for error in said] == [kind]
    assert said[0].reply_code == 540  # type: ignore[attr-defined]
    assert report.connections[0].notes == ["tx.select on channel 1 is not in the capture"]
