"""RabbitMQ with pika and amqplib: their counts and the broker's must be ours (AMQP 0-9-1)."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker, UnroutableError

from tests.live.counting import assert_whole, body_hashes, outcomes, where
from tests.live.node import run_client
from tests.live.rabbitmq import Broker
from tests.live.recording import Recording
from tests.tables import Tables, dissect

pytestmark = pytest.mark.live

Record = Callable[[int], Recording]
# Seconds; a consumer that waits this long for a message is a failure.
CONSUME_PATIENCE_S = 60


def connect(broker: Broker, **parameters: object) -> pika.BlockingConnection:
    return pika.BlockingConnection(
        pika.ConnectionParameters("127.0.0.1", broker.port, **parameters)  # type: ignore[arg-type]
    )


def fill(channel: BlockingChannel, queue: str, bodies: list[bytes]) -> None:
    channel.queue_declare(queue)
    for i, body in enumerate(bodies):
        channel.basic_publish("", queue, body, pika.BasicProperties(message_id=f"m{i}"))


def take(channel: BlockingChannel, queue: str, count: int):  # type: ignore[no-untyped-def]
    """The next deliveries, one at a time; the caller settles them."""
    messages = channel.consume(queue, inactivity_timeout=CONSUME_PATIENCE_S)
    for _ in range(count):
        method, properties, body = next(messages)
        assert method is not None, "no delivery came"
        yield method, properties, body


def dissected(recording: Recording) -> Tables:
    tables = dissect(recording.path)
    assert {row["dialect"] for row in tables["connections"]} == {"0-9-1"}
    assert_whole(tables)
    return tables


def test_confirmed_publishes_and_acknowledged_deliveries(broker: Broker, record: Record) -> None:
    queue = "live.confirm"
    bodies = [b"x" * size for size in (0, 1, 100, 5_000, 300_000)]
    received = []
    with record(broker.port) as recording, connect(broker, frame_max=4096) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        # With confirms pika's basic_publish returns when the broker's ack has come.
        fill(channel, queue, bodies)
        channel.basic_qos(prefetch_count=2)
        for method, _, body in take(channel, queue, len(bodies)):
            received.append(body)
            channel.basic_ack(method.delivery_tag)
        channel.cancel()
        left = channel.queue_declare(queue, passive=True).method.message_count
    assert left == broker.queues()[queue]["messages"] == 0

    tables = dissected(recording)
    published = where(tables["transfers"], kind="publish")
    delivered = where(tables["transfers"], kind="deliver")
    assert outcomes(published) == {"accepted": len(bodies)}
    assert outcomes(delivered) == {"accepted": len(received)}
    assert Counter(row["body_hash"] for row in published) == body_hashes(bodies)
    assert Counter(row["body_hash"] for row in delivered) == body_hashes(received)
    assert [row["body_bytes"] for row in delivered] == [len(body) for body in received]
    assert {row["queue"] for row in delivered} == {queue}
    assert {row["message_id"] for row in delivered} == {f"m{i}" for i in range(len(bodies))}
    # §4.2.3: a frame carries frame-max less its 8 octets of header and end.
    body_frames = sum(-(-len(body) // (4096 - 8)) for body in bodies)
    assert tables.names()["body"] == 2 * body_frames
    (connection_row,) = tables["connections"]
    assert connection_row["frame_max"] == 4096
    assert connection_row["client_product"].startswith("Pika")
    assert connection_row["server_product"] == "RabbitMQ"
    assert (connection_row["close_initiator"], connection_row["close_code"]) == ("client", 200)
    (consumer,) = where(tables["links"], kind="consumer")
    assert (consumer["queue"], consumer["prefetch_count"]) == (queue, 2)
    assert (consumer["transfer_count"], consumer["unsettled_count"]) == (len(received), 0)
    (session,) = tables["sessions"]
    assert session["is_confirming"]


def test_nack_and_reject_with_and_without_requeue(broker: Broker, record: Record) -> None:
    queue = "live.nack"
    bodies = [f"body {i}".encode() for i in range(12)]
    done: Counter[str] = Counter()
    redelivered = 0
    with record(broker.port) as recording, connect(broker) as connection:
        channel = connection.channel()
        fill(channel, queue, bodies)
        channel.basic_qos(prefetch_count=1)
        # Four messages are requeued once each and so come twice.
        for method, properties, _ in take(channel, queue, len(bodies) + 4):
            tag = method.delivery_tag
            redelivered += method.redelivered
            number = int(properties.message_id[1:])
            if number < 3 and not method.redelivered:
                channel.basic_nack(tag, requeue=True)
                done["released"] += 1
            elif number == 3 and not method.redelivered:
                channel.basic_reject(tag, requeue=True)
                done["released"] += 1
            elif number == 4:
                channel.basic_nack(tag, requeue=False)
                done["rejected"] += 1
            elif number == 5:
                channel.basic_reject(tag, requeue=False)
                done["rejected"] += 1
            else:
                channel.basic_ack(tag)
                done["accepted"] += 1
        channel.cancel()
    assert broker.settled_depth(queue, 0)["messages"] == 0

    tables = dissected(recording)
    delivered = where(tables["transfers"], kind="deliver")
    assert outcomes(delivered) == done
    again = where(delivered, is_redelivered=True)
    assert len(again) == redelivered == 4
    by_id = {row["transfer_id"]: row for row in delivered}
    for row in again:
        assert row["relation"] == "redelivery-of"
        earlier = by_id[row["related_transfer_id"]]
        assert (earlier["message_id"], earlier["outcome"]) == (row["message_id"], "released")
    # Not confirming: nobody says what became of the publishes.
    assert outcomes(where(tables["transfers"], kind="publish")) == {None: len(bodies)}


def test_multiple_acks_and_what_stays_unacknowledged(broker: Broker, record: Record) -> None:
    queue = "live.multiple"
    bodies = [bytes([i]) * 10 for i in range(20)]
    with record(broker.port) as recording, connect(broker) as connection:
        channel = connection.channel()
        fill(channel, queue, bodies)
        tags = [method.delivery_tag for method, _, _ in take(channel, queue, len(bodies))]
        channel.basic_ack(tags[6], multiple=True)
        channel.basic_nack(tags[9], multiple=True, requeue=False)
        # A round trip: the broker has seen the acks when it answers.
        channel.queue_declare(queue, passive=True)
        unacknowledged = broker.queues()[queue]["messages_unacknowledged"]
    assert unacknowledged == len(bodies) - 10
    broker.settled_depth(queue, unacknowledged)

    delivered = where(dissected(recording)["transfers"], kind="deliver")
    # basic.cancel is pika's; the deliveries after the last ack are settled by nobody.
    assert outcomes(delivered) == {"accepted": 7, "rejected": 3, None: unacknowledged}
    settled = [row for row in delivered if row["outcome"] is not None]
    assert {row["settle_kind"] for row in settled} == {"range"}
    assert {row["settled_by"] for row in settled} == {"receiver"}


def test_get_ok_and_get_empty(broker: Broker, record: Record) -> None:
    queue = "live.get"
    bodies = [b"one", b"two", b"three"]
    got = []
    with record(broker.port) as recording, connect(broker) as connection:
        channel = connection.channel()
        fill(channel, queue, bodies)
        for auto_ack in (False, True, False):
            method, _, body = channel.basic_get(queue, auto_ack=auto_ack)
            got.append(body)
            if not auto_ack:
                channel.basic_ack(method.delivery_tag)
        assert channel.basic_get(queue) == (None, None, None)
    assert broker.settled_depth(queue, 0)["messages"] == 0

    tables = dissected(recording)
    rows = where(tables["transfers"], kind="get")
    assert Counter(row["body_hash"] for row in rows) == body_hashes(got)
    assert outcomes(rows) == {"accepted": len(got)}
    assert len(where(rows, is_presettled=True, settle_kind="presettled")) == 1
    assert tables.names()["basic.get-empty"] == 1
    assert {row["queue"] for row in rows} == {queue}


def test_mandatory_publishes_come_back(broker: Broker, record: Record) -> None:
    queue = "live.return"
    returned = 0
    with record(broker.port) as recording, connect(broker) as connection:
        channel = connection.channel()
        channel.queue_declare(queue)
        channel.confirm_delivery()
        for key in (queue, "live.nowhere", queue, "live.nowhere", "live.nowhere"):
            try:
                channel.basic_publish("", key, key.encode(), mandatory=True)
            except UnroutableError as error:
                returned += len(error.messages)
        # Not mandatory and unroutable: dropped in silence, and confirmed.
        channel.basic_publish("", "live.nowhere", b"dropped")
    depth = broker.settled_depth(queue, 2)["messages"]

    transfers = dissected(recording)["transfers"]
    published = where(transfers, kind="publish")
    back = where(transfers, kind="return")
    assert len(back) == returned == 3
    assert {row["reply_code"] for row in back} == {312}
    assert outcomes(published) == {"accepted": 6}
    assert len(where(published, routing_key=queue)) == depth
    by_id = {row["transfer_id"]: row for row in published}
    assert {row["relation"] for row in back} == {"return-of"}
    tied = [by_id[row["related_transfer_id"]] for row in back]
    assert len({row["transfer_id"] for row in tied}) == returned
    assert {row["body_hash"] for row in tied} == {row["body_hash"] for row in back}


def test_transactions_commit_and_roll_back(broker: Broker, record: Record) -> None:
    queue = "live.tx"
    with record(broker.port) as recording:
        with connect(broker) as connection:
            channel = connection.channel()
            channel.queue_declare(queue)
            channel.tx_select()
            for i in range(5):
                channel.basic_publish("", queue, b"kept %d" % i)
            channel.tx_commit()
            for i in range(4):
                channel.basic_publish("", queue, b"undone %d" % i)
            channel.tx_rollback()
        committed = broker.settled_depth(queue, 5)["messages"]
        with connect(broker) as connection:
            channel = connection.channel()
            channel.tx_select()
            tags = [method.delivery_tag for method, _, _ in take(channel, queue, committed)]
            for tag in tags[:3]:
                channel.basic_ack(tag)
            channel.tx_commit()
            for tag in tags[3:]:
                channel.basic_ack(tag)
            channel.tx_rollback()
    left = broker.settled_depth(queue, 2)["messages"]

    tables = dissected(recording)
    published = where(tables["transfers"], kind="publish")
    by_outcome = Counter(row["transaction_outcome"] for row in published)
    assert by_outcome == {"committed": committed, "rolled-back": 4}
    delivered = where(tables["transfers"], kind="deliver")
    assert outcomes(delivered) == {"accepted": committed - left, None: left}
    assert sum(row["commit_count"] for row in tables["sessions"]) == 2
    assert sum(row["rollback_count"] for row in tables["sessions"]) == 2
    assert all(row["is_transactional"] for row in tables["sessions"])


def test_channel_errors(broker: Broker, record: Record) -> None:
    queue = "live.errors"
    refused = []

    def not_found(channel: BlockingChannel) -> None:
        channel.queue_declare("live.does-not-exist", passive=True)

    def other_durability(channel: BlockingChannel) -> None:
        channel.queue_declare(queue, durable=True)

    def unknown_tag(channel: BlockingChannel) -> None:
        channel.basic_ack(99)
        channel.queue_declare(queue, passive=True)

    def reserved_name(channel: BlockingChannel) -> None:
        channel.exchange_declare("amq.live")

    with record(broker.port) as recording, connect(broker) as connection:
        connection.channel().queue_declare(queue)
        for fault in (not_found, other_durability, unknown_tag, reserved_name):
            with pytest.raises(ChannelClosedByBroker) as caught:
                fault(connection.channel())
            refused.append((caught.value.reply_code, caught.value.reply_text))
    assert [code for code, _ in refused] == [404, 406, 406, 403]

    tables = dissect(recording.path)
    # An ack of what was never delivered is a fault on the wire, and is noted as such.
    assert_whole(tables, problems=("state09.unknown_tag",))
    assert tables.problem_codes()["state09.unknown_tag"] == 1
    ended = where(tables["sessions"], end_initiator="server")
    assert [(row["end_code"], row["end_reason"]) for row in ended] == refused
    assert [row["end_method"] for row in ended] == [
        "queue.declare",
        "queue.declare",
        "basic.ack",
        "exchange.declare",
    ]


def test_a_killed_consumer_gives_its_messages_back(broker: Broker, record: Record) -> None:
    queue = "live.killed"
    bodies = [b"message %d" % i for i in range(6)]
    with record(broker.port) as recording:
        with connect(broker) as connection:
            fill(connection.channel(), queue, bodies)
        script = Path(__file__).parent / "clients" / "dying_consumer.py"
        command = [sys.executable, str(script), str(broker.port), queue, str(len(bodies))]
        first = int(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)
        with connect(broker) as connection:
            channel = connection.channel()
            second = []
            for method, _, body in take(channel, queue, len(bodies)):
                second.append((method.redelivered, body))
                channel.basic_ack(method.delivery_tag)
            channel.cancel()
    assert broker.settled_depth(queue, 0)["messages"] == 0

    tables = dissected(recording)
    delivered = where(tables["transfers"], kind="deliver")
    assert outcomes(delivered) == {None: first, "accepted": len(second)}
    assert len(where(delivered, is_redelivered=True)) == sum(again for again, _ in second)


@pytest.mark.parametrize("multiple", [1, 5])
def test_amqplib_publishes_and_consumes(broker: Broker, record: Record, multiple: int) -> None:
    queue = f"live.amqplib.{multiple}"
    bodies = [f"message {i} ".ljust(20 * i) for i in range(23)]
    with record(broker.port) as recording:
        said = run_client(
            "amqplib_roundtrip.js", port=broker.port, queue=queue, bodies=bodies, multiple=multiple
        )
    assert broker.settled_depth(queue, 0)["messages"] == 0

    tables = dissected(recording)
    published = where(tables["transfers"], kind="publish")
    delivered = where(tables["transfers"], kind="deliver")
    assert len(published) == said["published"]
    assert outcomes(published) == {"accepted": said["confirmed"]}
    assert outcomes(delivered) == {"accepted": said["delivered"]}
    acks = where(tables["frames"], name="basic.ack", direction="c2s")
    assert len(acks) == said["ack_frames"]
    order = sorted(delivered, key=lambda row: row["delivery_id"])
    assert [row["message_id"] for row in order] == said["received"]
    assert Counter(row["body_hash"] for row in delivered) == body_hashes(
        [body.encode() for body in bodies]
    )
    assert len(tables["sessions"]) == 2
