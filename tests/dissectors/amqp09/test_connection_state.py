"""Connections, channels, consumers and credit of the 0-9 family."""

from __future__ import annotations

import json

import pytest

from dissectors.amqp09.dialects import HEADER_OF
from tests.builders.amqp09 import CLIENT, SERVER, Wire09, table
from tests.live.counting import where
from tests.tables import Tables


def opened(*channels: int, **start: object) -> Wire09:
    return Wire09().start(**start).open(*channels)  # type: ignore[arg-type]


def only(tables: Tables, name: str) -> dict:
    (row,) = tables[name]
    return row


# -- connection ---------------------------------------------------------------------------


def test_what_was_negotiated() -> None:
    row = only(opened().close().tables(), "connections")
    assert (row["frame_max"], row["channel_max"], row["heartbeat_ms"]) == (131072, 2047, 60_000)
    assert (row["vhost"], row["mechanism"], row["locale"]) == ("/", "PLAIN", "en_US")
    assert (row["server_product"], row["server_version"]) == ("RabbitMQ", "3.10.8")
    assert (row["client_product"], row["client_version"]) == ("builder", "1")
    assert row["auth_outcome"] == "ok"
    assert row["opened_ts_ns"] < row["closed_ts_ns"]
    details = json.loads(row["details"])
    assert details["mechanisms"] == "PLAIN"
    assert details["server_properties"]["product"] == "RabbitMQ"


@pytest.mark.parametrize(
    ("offered", "chosen", "agreed"),
    [(1000, 500, 500), (1000, 0, 1000), (0, 500, 500), (0, 0, None)],
)
def test_zero_is_no_limit(offered: int, chosen: int, agreed: int | None) -> None:
    wire = Wire09().say(CLIENT, b"AMQP\0\0\x09\x01")
    wire.server(0, "connection.tune", frame_max=offered, channel_max=offered)
    wire.client(0, "connection.tune-ok", frame_max=chosen, channel_max=chosen)
    row = only(wire.tables(), "connections")
    assert (row["frame_max"], row["channel_max"]) == (agreed, agreed)


def test_server_refuses_the_version() -> None:
    wire = Wire09().say(CLIENT, b"AMQP\x01\x01\x00\x09").say(SERVER, b"AMQP" + HEADER_OF["0-9-1"])
    wire.talk.close()
    tables = wire.tables()
    row = only(tables, "connections")
    assert tables.problem_codes() == {"detect.refused_version": 1}
    assert row["close_initiator"] == "server"
    assert "0-9-1" in row["close_reason"]


def test_refused_credentials() -> None:
    wire = Wire09().say(CLIENT, b"AMQP\0\0\x09\x01")
    wire.server(0, "connection.start", server_properties=table(product="RabbitMQ"))
    wire.client(0, "connection.start-ok", mechanism="PLAIN", response=b"\0u\0p")
    wire.server(0, "connection.close", reply_code=403, reply_text="ACCESS_REFUSED")
    wire.client(0, "connection.close-ok")
    row = only(wire.tables(), "connections")
    assert (row["auth_outcome"], row["close_code"], row["close_initiator"]) == (
        "refused", 403, "server",
    )  # fmt: skip


def test_close_names_the_method_at_fault() -> None:
    wire = opened()
    wire.server(0, "connection.close", reply_code=540, reply_text="no", class_id=40, method_id=10)
    wire.client(0, "connection.close-ok")
    tables = wire.tables()
    row = only(tables, "connections")
    assert (row["close_method"], row["close_reason"]) == ("exchange.declare", "no")
    session = only(tables, "sessions")
    assert session["end_reason"] == "connection closed"


def test_both_sides_close_at_once() -> None:
    wire = opened()
    wire.client(0, "connection.close", reply_code=200, reply_text="bye")
    wire.server(0, "connection.close", reply_code=320, reply_text="forced")
    wire.client(0, "connection.close-ok").server(0, "connection.close-ok")
    tables = wire.tables()
    row = only(tables, "connections")
    assert (row["close_initiator"], row["close_code"]) == ("client", 200)
    assert tables.problem_codes() == {}


def test_blocked_and_unblocked() -> None:
    wire = opened().server(0, "connection.blocked", reason="low on memory")
    tables = wire.server(0, "connection.unblocked").close().tables()
    rows = [(r["event"], r["is_active"], r["reason"], r["direction"]) for r in tables["credits"]]
    assert rows == [("blocked", False, "low on memory", "s2c"), ("unblocked", True, None, "s2c")]


def test_odd_virtual_hosts() -> None:
    wire = Wire09().say(CLIENT, b"AMQP\0\0\x09\x01")
    wire.client(0, "connection.open", virtual_host="/ünï/%2f ☃")
    assert only(wire.tables(), "connections")["vhost"] == "/ünï/%2f ☃"


# -- channels -----------------------------------------------------------------------------


def test_channel_numbers_are_used_again() -> None:
    wire = opened().publish(1, b"first")
    wire.client(1, "channel.close", reply_code=200).server(1, "channel.close-ok")
    tables = wire.open(1).publish(1, b"second").close().tables()
    assert [row["session_id"] for row in tables["sessions"]] == [1, 2]
    assert [row["channel"] for row in tables["sessions"]] == [1, 1]
    assert [row["transfer_count"] for row in tables["sessions"]] == [1, 1]
    assert tables.problem_codes() == {}


def test_channels_close_at_once_from_both_sides() -> None:
    wire = opened()
    wire.client(1, "channel.close", reply_code=200, reply_text="bye")
    wire.server(1, "channel.close", reply_code=404, reply_text="gone")
    tables = wire.client(1, "channel.close-ok").server(1, "channel.close-ok").close().tables()
    session = only(tables, "sessions")
    assert (session["end_initiator"], session["end_code"]) == ("client", 200)
    assert tables.problem_codes() == {}


def test_what_crosses_a_server_close_is_kept() -> None:
    wire = opened().server(1, "channel.close", reply_code=404, reply_text="no queue", class_id=60,
                           method_id=40)  # fmt: skip
    tables = wire.publish(1, b"too late").client(1, "channel.close-ok").close().tables()
    session = only(tables, "sessions")
    assert (session["end_code"], session["end_method"]) == (404, "basic.publish")
    assert len(where(tables["transfers"], is_complete=True)) == 1


def test_channel_flow() -> None:
    wire = opened().server(1, "channel.flow", active=False).client(1, "channel.flow-ok")
    tables = wire.server(1, "channel.flow", active=True).close().tables()
    assert [(r["event"], r["is_active"], r["session_id"]) for r in tables["credits"]] == [
        ("channel-flow", False, 1), ("channel-flow", True, 1),
    ]  # fmt: skip


def test_contents_of_many_channels_interleave() -> None:
    wire = opened(1, 2, 3)
    make = wire.make
    for channel in (1, 2, 3):
        wire.say(CLIENT, make.method(channel, "basic.publish", routing_key=f"q{channel}"))
    for channel in (3, 1, 2):
        wire.say(CLIENT, make.header(channel, 6))
    for part in (b"ab", b"cd", b"ef"):
        for channel in (2, 3, 1):
            wire.say(CLIENT, make.body(channel, part))
    rows = wire.close().tables()["transfers"]
    assert len(rows) == 3
    assert all(r["is_complete"] and r["frame_count"] == 5 for r in rows)
    assert len({r["body_hash"] for r in rows}) == 1


def test_large_body_over_many_frames() -> None:
    body = bytes(range(256)) * 2000
    tables = opened().publish(1, body, cut=1000).close().tables(has_payloads=True)
    row = only(tables, "transfers")
    assert (row["body_bytes"], row["frame_count"]) == (len(body), 2 + len(body) // 1000)
    assert only(tables, "payloads")["body"] == body


# -- consumers ----------------------------------------------------------------------------


def test_server_named_queue_and_consumer() -> None:
    wire = opened().client(1, "queue.declare", exclusive=True)
    wire.server(1, "queue.declare-ok", queue="amq.gen-1")
    wire.client(1, "basic.consume").server(1, "basic.consume-ok", consumer_tag="amq.ctag-1")
    tables = wire.deliver(1, 1, b"x", consumer_tag="amq.ctag-1").close().tables()
    (consumer,) = where(tables["links"], kind="consumer")
    assert (consumer["name"], consumer["queue"]) == ("amq.ctag-1", "amq.gen-1")
    assert consumer["is_dynamic"]
    assert not consumer["is_inferred"]
    assert only(tables, "transfers")["queue"] == "amq.gen-1"


def test_delivery_before_consume_ok() -> None:
    wire = opened().client(1, "basic.consume", queue="q")
    wire.deliver(1, 1, b"x", consumer_tag="t").server(1, "basic.consume-ok", consumer_tag="t")
    tables = wire.close().tables()
    (consumer,) = where(tables["links"], kind="consumer")
    assert (consumer["name"], consumer["queue"], consumer["transfer_count"]) == ("t", "q", 1)


def test_consumers_of_one_channel_without_waiting() -> None:
    wire = opened()
    for queue in ("a", "b", "c"):
        wire.client(1, "basic.consume", queue=queue)
    for queue in ("a", "b", "c"):
        wire.server(1, "basic.consume-ok", consumer_tag=f"tag-{queue}")
    tables = wire.close().tables()
    names = {r["queue"]: r["name"] for r in where(tables["links"], kind="consumer")}
    assert names == {q: f"tag-{q}" for q in ("a", "b", "c")}


def test_cancel_by_client_server_and_without_waiting() -> None:
    wire = opened()
    for tag in ("mine", "theirs", "hasty"):
        wire.consume(1, tag=tag)
    wire.client(1, "basic.cancel", consumer_tag="mine")
    wire.deliver(1, 1, b"on its way", consumer_tag="mine")
    wire.server(1, "basic.cancel-ok", consumer_tag="mine")
    wire.server(1, "basic.cancel", consumer_tag="theirs", nowait=True)
    wire.client(1, "basic.cancel", consumer_tag="hasty", nowait=True)
    wire.deliver(1, 2, b"on its way", consumer_tag="hasty")
    tables = wire.ack(1, 2, multiple=True).close().tables()
    consumers = {r["name"]: r for r in where(tables["links"], kind="consumer")}
    assert {n: r["end_initiator"] for n, r in consumers.items()} == {
        "mine": "client", "theirs": "server", "hasty": "client",
    }  # fmt: skip
    assert {r["end_kind"] for r in consumers.values()} == {"cancelled"}
    assert [consumers[n]["transfer_count"] for n in ("mine", "theirs", "hasty")] == [1, 0, 1]
    assert tables.problem_codes() == {}
    assert {r["outcome"] for r in tables["transfers"]} == {"accepted"}


def test_consumer_arguments_and_bits() -> None:
    wire = opened().consume(1, exclusive=True, no_ack=True, arguments=table(x="y"))
    (consumer,) = where(wire.close().tables()["links"], kind="consumer")
    assert consumer["is_exclusive"]
    assert consumer["is_no_ack"]
    assert json.loads(consumer["details"]) == {"arguments": {"x": "y"}}


# -- prefetch -----------------------------------------------------------------------------


def exhausted(tables: Tables) -> list[tuple]:
    rows = where(tables["credits"], event="credit-exhausted")
    return [(r["session_id"], r["link_id"], r["prefetch_count"]) for r in rows]


def test_prefetch_as_rabbitmq_means_it() -> None:
    """Not global: each new consumer. Global: all consumers of the channel."""
    wire = opened().client(1, "basic.qos", prefetch_count=2).consume(1, tag="a")
    wire.client(1, "basic.qos", prefetch_count=3, global_=True).consume(1, tag="b")
    for tag, consumer in enumerate("abab", 1):
        wire.deliver(1, tag, b"x", consumer_tag=consumer)
    tables = wire.close().tables()
    a, b = sorted(where(tables["links"], kind="consumer"), key=lambda r: r["name"])
    assert (a["prefetch_count"], b["prefetch_count"]) == (2, 2)
    assert exhausted(tables) == [(1, a["link_id"], 2), (1, None, 3), (1, b["link_id"], 2)]


@pytest.mark.parametrize(
    ("product", "version"), [("Apache Qpid", "9.0"), ("RabbitMQ", "3.2.4"), ("OpenAMQ", "1.0")]
)
def test_prefetch_as_the_specification_means_it(product: str, version: str) -> None:
    """Not global: the channel. Global: the connection. (RabbitMQ did so before 3.3.)"""
    dialect = "0-9" if product == "OpenAMQ" else "0-9-1"
    wire = Wire09(dialect).start(product, version).open(1, 2)
    wire.client(1, "basic.qos", prefetch_count=2).client(2, "basic.qos", prefetch_count=3,
                                                         global_=True)  # fmt: skip
    wire.consume(1, tag="a").consume(1, tag="b").consume(2, tag="c")
    wire.deliver(1, 1, b"x", consumer_tag="a").deliver(1, 2, b"x", consumer_tag="b")
    tables = wire.deliver(2, 1, b"x", consumer_tag="c").close().tables()
    assert exhausted(tables) == [(1, None, 2), (None, None, 3)]


def test_a_limit_of_the_channel_is_reached_again_after_an_ack() -> None:
    wire = Wire09().start().open()
    wire.client(1, "basic.qos", prefetch_count=2, global_=True).server(1, "basic.qos-ok")
    wire.consume(1).deliver(1, 1, b"x").deliver(1, 2, b"x").ack(1, 1).deliver(1, 3, b"x")
    tables = wire.close().tables()
    assert exhausted(tables) == [(1, None, 2), (1, None, 2)]
    rows = where(tables["credits"], event="credit-exhausted")
    assert [row["unsettled_count"] for row in rows] == [2, 2]
