"""Client programs of 0-9-1, written with pika: each is recorded once and then replayed."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker, UnroutableError

PATIENCE_S = 30


def connect(port: int, **parameters: object) -> pika.BlockingConnection:
    return pika.BlockingConnection(
        pika.ConnectionParameters("127.0.0.1", port, **parameters)  # type: ignore[arg-type]
    )


def take(channel: BlockingChannel, queue: str, count: int, **how: object):  # type: ignore[no-untyped-def]
    messages = channel.consume(queue, inactivity_timeout=PATIENCE_S, **how)  # type: ignore[arg-type]
    for _ in range(count):
        method, properties, body = next(messages)
        assert method is not None, "no delivery came"
        yield method, properties, body


def publish(port: int, **parameters: object) -> None:
    """Confirms, returns, and bodies over several frames."""
    with connect(port, **parameters) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare("sc.publish")
        for size in (0, 1, 200, 9_000, 60_000):
            channel.basic_publish("", "sc.publish", b"p" * size)
        with suppress(UnroutableError):
            channel.basic_publish("", "sc.nowhere", b"returned", mandatory=True)
        channel.queue_delete("sc.publish")


def publish_small_frames(port: int) -> None:
    publish(port, frame_max=4096)


def consume(port: int) -> None:
    """Ack, nack with requeue, reject, no-ack, and get until empty."""
    with connect(port) as connection:
        channel = connection.channel()
        channel.queue_declare("sc.consume")
        for i in range(12):
            channel.basic_publish("", "sc.consume", b"message %d" % i)
        channel.basic_qos(prefetch_count=1)
        for number, (method, _, _) in enumerate(take(channel, "sc.consume", 8)):
            if number == 1:
                channel.basic_nack(method.delivery_tag, requeue=True)
            elif number == 3:
                channel.basic_reject(method.delivery_tag, requeue=False)
            else:
                channel.basic_ack(method.delivery_tag)
        channel.cancel()
        channel.basic_get("sc.consume", auto_ack=True)
        method, _, _ = channel.basic_get("sc.consume")
        channel.basic_ack(method.delivery_tag)
        for _ in take(channel, "sc.consume", 1, auto_ack=True):
            pass
        channel.cancel()
        channel.queue_purge("sc.consume")
        assert channel.basic_get("sc.consume")[0] is None
        channel.queue_delete("sc.consume")


def rpc(port: int) -> None:
    """A server-named reply queue; request and reply on two channels; its name in a body too."""
    with connect(port) as connection:
        asking, serving = connection.channel(), connection.channel()
        serving.queue_declare("sc.rpc")
        reply_queue = asking.queue_declare("", exclusive=True).method.queue
        for number in range(3):
            asking.basic_publish(
                "",
                "sc.rpc",
                f"answer to {reply_queue}".encode(),
                pika.BasicProperties(reply_to=reply_queue, correlation_id=f"call {number}"),
            )
            method, properties, body = next(take(serving, "sc.rpc", 1))
            serving.basic_publish(
                "",
                properties.reply_to,
                b"echo " + body,
                pika.BasicProperties(correlation_id=properties.correlation_id),
            )
            serving.basic_ack(method.delivery_tag)
            for method, _, _ in take(asking, reply_queue, 1):
                asking.basic_ack(method.delivery_tag)
        asking.cancel()
        serving.cancel()
        serving.queue_delete("sc.rpc")


def transactions(port: int) -> None:
    """Publishes rolled back and committed; acks rolled back and said again."""
    with connect(port) as connection:
        channel = connection.channel()
        channel.queue_declare("sc.tx")
        channel.tx_select()
        channel.basic_publish("", "sc.tx", b"never there")
        channel.tx_rollback()
        for i in range(3):
            channel.basic_publish("", "sc.tx", b"committed %d" % i)
        channel.tx_commit()
        tags = [method.delivery_tag for method, _, _ in take(channel, "sc.tx", 3)]
        channel.basic_ack(tags[-1], multiple=True)
        channel.tx_rollback()
        channel.basic_ack(tags[0])
        channel.basic_ack(tags[-1], multiple=True)
        channel.tx_commit()
        channel.cancel()
        channel.queue_delete("sc.tx")
        channel.tx_commit()


def channel_errors(port: int) -> None:
    """404 and 406, each on a channel of its own, and life goes on."""
    with connect(port) as connection:
        sound = connection.channel()
        sound.queue_declare("sc.errors")
        for mistake in (
            lambda c: c.queue_declare("sc.absent", passive=True),
            lambda c: c.queue_declare("sc.errors", durable=True),
            lambda c: c.basic_consume("sc.absent", lambda *_: None),
        ):
            channel = connection.channel()
            with suppress(ChannelClosedByBroker):
                mistake(channel)
        sound.queue_delete("sc.errors")


def exchange(port: int) -> None:
    """A direct exchange and a queue bound to it."""
    with connect(port) as connection:
        channel = connection.channel()
        channel.exchange_declare("sc.exchange", "direct")
        channel.queue_declare("sc.bound")
        channel.queue_bind("sc.bound", "sc.exchange", "key")
        channel.basic_publish("sc.exchange", "key", b"routed")
        for method, _, _ in take(channel, "sc.bound", 1):
            channel.basic_ack(method.delivery_tag)
        channel.cancel()
        channel.queue_delete("sc.bound")
        channel.exchange_delete("sc.exchange")


def idle(port: int) -> None:
    """Nothing but heartbeats for longer than two of their intervals."""
    with connect(port, heartbeat=2) as connection:
        connection.channel()
        connection.process_data_events(time_limit=5)


def two_connections(port: int) -> None:
    """A publisher and a consumer at full speed."""
    with connect(port) as out, connect(port) as back:
        sending, receiving = out.channel(), back.channel()
        sending.queue_declare("sc.two")
        sending.confirm_delivery()
        receiving.basic_qos(prefetch_count=20)
        for i in range(100):
            sending.basic_publish("", "sc.two", b"number %d" % i)
        for method, _, _ in take(receiving, "sc.two", 100):
            receiving.basic_ack(method.delivery_tag)
        receiving.cancel()
        sending.queue_delete("sc.two")


def get_across_connections(port: int) -> None:
    """One connection publishes without confirms, another gets: only time tells it that it may."""
    with connect(port) as out, connect(port) as back:
        sending, receiving = out.channel(), back.channel()
        sending.queue_declare("sc.across")
        for i in range(3):
            sending.basic_publish("", "sc.across", b"number %d" % i)
            # The gap is what is captured, and what replays keep: long for a broker under load.
            time.sleep(0.1)
            assert receiving.basic_get("sc.across", auto_ack=True)[0] is not None
        sending.queue_delete("sc.across")


SCENARIOS: dict[str, Callable[[int], None]] = {
    "publish": publish,
    "publish-small-frames": publish_small_frames,
    "consume": consume,
    "rpc": rpc,
    "transactions": transactions,
    "channel-errors": channel_errors,
    "exchange": exchange,
    "idle": idle,
    "two-connections": two_connections,
    "get-across-connections": get_across_connections,
}
