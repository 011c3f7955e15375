"""RabbitMQ with pika where clients seldom go: what each side did is in our tables (AMQP 0-9-1)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pika
import pytest
from pika import frame, spec
from pika.exceptions import ChannelClosedByBroker

from tests.live.counting import body_hashes, outcomes, where
from tests.live.rabbitmq import Broker
from tests.live.test_rabbitmq_09 import Record, connect, dissected, fill, take
from tests.live.waiting import until
from tests.tables import dissect

pytestmark = pytest.mark.live

FRAME_MAX = 4096
# Octets of a frame that are not its payload (0-9-1 §4.2.3).
FRAME_OVERHEAD = 8


@pytest.mark.parametrize("tag", [2, 99])
def test_an_ack_that_the_broker_refuses_settles_nothing(
    broker: Broker, record: Record, tag: int
) -> None:
    """Up to a tag that was acknowledged before, and to one that was never delivered."""
    queue = f"live.refused.{tag}"
    with record(broker.port) as recording, connect(broker) as connection:
        channel = connection.channel()
        fill(channel, queue, [b"one", b"two", b"three", b"four"])
        tags = [method.delivery_tag for method, _, _ in take(channel, queue, 4)]
        channel.basic_ack(tags[1])
        channel.basic_ack(tag, multiple=True)
        with pytest.raises(ChannelClosedByBroker) as refused:
            channel.queue_declare(queue, passive=True)
    assert refused.value.reply_code == 406
    depth = broker.settled_depth(queue, 3)["messages"]

    tables = dissect(recording.path)
    assert tables.problem_codes() == {"state09.unknown_tag": 1}
    delivered = where(tables["transfers"], kind="deliver")
    assert outcomes(delivered) == {"accepted": 1, None: depth}


def test_recover_gives_back_what_is_not_acknowledged(broker: Broker, record: Record) -> None:
    queue = "live.recover"
    with record(broker.port) as recording, connect(broker) as connection:
        channel = connection.channel()
        fill(channel, queue, [b"message %d" % i for i in range(5)])
        first, *_ = [method.delivery_tag for method, _, _ in take(channel, queue, 5)]
        channel.basic_ack(first)
        channel.basic_recover(requeue=True)
        again = [method.redelivered for method, _, _ in take(channel, queue, 4)]
        channel.basic_ack(0, multiple=True)
        channel.cancel()
    assert broker.settled_depth(queue, 0)["messages"] == 0

    delivered = where(dissected(recording)["transfers"], kind="deliver")
    assert outcomes(delivered) == {"accepted": 5, "released": 4}
    tied = where(delivered, is_redelivered=True, relation="redelivery-of")
    assert len(tied) == sum(again) == 4


def test_acks_and_nacks_of_transactions(broker: Broker, record: Record) -> None:
    queue = "live.tx.mixed"
    with record(broker.port) as recording, connect(broker) as connection:
        channel = connection.channel()
        fill(channel, queue, [b"message %d" % i for i in range(5)])
        channel.tx_select()
        tags = [method.delivery_tag for method, _, _ in take(channel, queue, 5)]
        channel.basic_ack(tags[0])
        channel.basic_nack(tags[1])
        channel.tx_rollback()
        channel.basic_ack(tags[1], multiple=True)
        channel.basic_reject(tags[2])
        channel.tx_commit()
        ((method, _, _),) = take(channel, queue, 1)
        channel.basic_ack(tags[3])
        channel.queue_declare(queue, passive=True)
    assert broker.settled_depth(queue, 3)["messages"] == 3

    rows = where(dissected(recording)["transfers"], kind="deliver")
    rows.sort(key=lambda row: row["delivery_id"])
    assert [(row["outcome"], row["transaction_outcome"]) for row in rows] == [
        ("accepted", "committed"),
        ("accepted", "committed"),
        ("released", "committed"),
        (None, "open"),
        (None, None),
        (None, None),
    ]
    assert (rows[5]["is_redelivered"], rows[5]["relation"]) == (method.redelivered, "redelivery-of")


def frames_of(number: int, queue: str, body: bytes) -> Iterator[bytes]:
    """A publish, cut as the frame-max asks; pika itself never interleaves messages."""
    step = FRAME_MAX - FRAME_OVERHEAD
    yield frame.Method(number, spec.Basic.Publish(exchange="", routing_key=queue)).marshal()
    yield frame.Header(number, len(body), pika.BasicProperties(type=queue)).marshal()
    for at in range(0, len(body), step):
        yield frame.Body(number, body[at : at + step]).marshal()


def test_large_bodies_of_several_channels_interleave(broker: Broker, record: Record) -> None:
    step = FRAME_MAX - FRAME_OVERHEAD
    sizes = [0, 1, step - 1, step, step + 1, 2 * step, 100_000, 0]
    rng = random.Random(9)
    bodies = [rng.randbytes(size) for size in sizes]
    received: Counter[tuple[str, bytes]] = Counter()

    def on_message(channel, method, properties, body) -> None:  # type: ignore[no-untyped-def]
        received[properties.type, body] += 1
        channel.basic_ack(method.delivery_tag)

    with record(broker.port) as recording, connect(broker, frame_max=FRAME_MAX) as connection:
        queues = [f"live.interleaved.{i}" for i in range(3)]
        talks = []
        for queue in queues:
            channel = connection.channel()
            channel.queue_declare(queue)
            channel.basic_consume(queue, on_message)
            number = channel.channel_number
            talks.append([f for body in bodies for f in frames_of(number, queue, body)])
        while talks:
            talk = rng.choice(talks)
            connection._impl._output_marshaled_frames([talk.pop(0)])
            if not talk:
                talks.remove(talk)

        def has_come() -> bool:
            connection.process_data_events(0)
            return received.total() == len(queues) * len(bodies)

        until(has_come, "all messages come")
        # The queue goes, and with it the consumer: basic.cancel comes from the broker.
        for queue in queues:
            channel.queue_delete(queue)

    tables = dissected(recording)
    published = where(tables["transfers"], kind="publish")
    delivered = where(tables["transfers"], kind="deliver")
    wanted = Counter({h: n * len(queues) for h, n in body_hashes(bodies).items()})
    assert Counter(row["body_hash"] for row in published) == wanted
    assert Counter(row["body_hash"] for row in delivered) == wanted
    assert outcomes(delivered) == {"accepted": received.total()}
    assert Counter(row["subject"] for row in delivered) == Counter(
        dict.fromkeys(queues, len(bodies))
    )
    consumers = where(tables["links"], kind="consumer")
    assert {(row["end_kind"], row["end_initiator"]) for row in consumers} == {
        ("cancelled", "server")
    }


def test_redelivery_on_another_channel_and_a_number_used_again(
    broker: Broker, record: Record
) -> None:
    queue = "live.across"
    with record(broker.port) as recording, connect(broker) as connection:
        for turn in range(3):
            channel = connection.channel(1)
            if turn == 0:
                fill(channel, queue, [b"a", b"b"])
            got = [channel.basic_get(queue)[0] for _ in range(2)]
            if turn == 2:
                channel.basic_ack(got[-1].delivery_tag, multiple=True)
            channel.close()
    assert broker.settled_depth(queue, 0)["messages"] == 0

    tables = dissected(recording)
    assert [row["channel"] for row in tables["sessions"]] == [1, 1, 1]
    rows = sorted(where(tables["transfers"], kind="get"), key=lambda row: row["transfer_id"])
    assert [row["delivery_id"] for row in rows] == [1, 2] * 3
    assert [row["outcome"] for row in rows] == [None] * 4 + ["accepted"] * 2
    assert [row["is_redelivered"] for row in rows] == [False] * 2 + [True] * 4
    tied = [row["related_transfer_id"] for row in rows[2:]]
    assert tied == [row["transfer_id"] for row in rows[:4]]


def test_direct_reply_to(broker: Broker, record: Record) -> None:
    queue = "live.rpc"
    replies = []

    def serve(channel, method, properties, body) -> None:  # type: ignore[no-untyped-def]
        answer = pika.BasicProperties(correlation_id=properties.correlation_id)
        channel.basic_publish("", properties.reply_to, b"re: " + body, answer)

    with record(broker.port) as recording, connect(broker) as server, connect(broker) as client:
        serving, asking = server.channel(), client.channel()
        serving.queue_declare(queue)
        serving.basic_consume(queue, serve, auto_ack=True)
        asking.basic_consume(
            "amq.rabbitmq.reply-to",
            lambda _, __, properties, body: replies.append((properties.correlation_id, body)),
            auto_ack=True,
        )
        for i in range(4):
            asked = pika.BasicProperties(reply_to="amq.rabbitmq.reply-to", correlation_id=f"c{i}")
            asking.basic_publish("", queue, b"%d" % i, asked)

        def has_come() -> bool:
            server.process_data_events(0)
            client.process_data_events(0)
            return len(replies) == 4

        until(has_come, "the replies come")

    rows = where(dissected(recording)["transfers"], kind="deliver", queue="amq.rabbitmq.reply-to")
    assert [row["correlation_id"] for row in rows] == [name for name, _ in replies]
    assert Counter(row["body_hash"] for row in rows) == body_hashes([body for _, body in replies])
    assert all(row["is_presettled"] for row in rows)
