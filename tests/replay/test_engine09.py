"""The 0-9 client engine in dialogue: what it sends when, and what it waits for."""

from __future__ import annotations

import pytest

from dissectors.amqp09.headers import decode_header
from replay.engine import Credentials, Settings, make_engine
from replay.rewrite import Rewriter
from replay.script import CLIENT, SERVER
from tests.replay.dialogue09 import (
    DIALECT,
    PROTOCOL,
    argument,
    client,
    content,
    conversation,
    let_in,
    method,
    names,
    sent,
    start,
    tune,
)

C, S = CLIENT, SERVER
CHANNEL = [(C, method(1, "channel.open")), (S, method(1, "channel.open-ok"))]
OPENED = method(1, "channel.open-ok")


def publish(body: bytes, key: str = "q", **properties: object) -> list[tuple[int, bytes]]:
    octets = [method(1, "basic.publish", routing_key=key), *content(1, body, **properties)]
    return [(C, one) for one in octets]


def deliver(tag: int, body: bytes, consumer: str = "t", redelivered: bool = False) -> bytes:
    return b"".join(
        [
            method(1, "basic.deliver", consumer_tag=consumer, delivery_tag=tag,
                   redelivered=redelivered, routing_key="q"),
            *content(1, body),
        ]
    )  # fmt: skip


def delivered(tag: int, body: bytes, consumer: str = "t") -> list[tuple[int, bytes]]:
    octets = [method(1, "basic.deliver", consumer_tag=consumer, delivery_tag=tag, routing_key="q"),
              *content(1, body)]  # fmt: skip
    return [(S, one) for one in octets]


CONSUME = [
    (C, method(1, "basic.consume", queue="q", consumer_tag="t")),
    (S, method(1, "basic.consume-ok", consumer_tag="t")),
]
CONSUMING = method(1, "basic.consume-ok", consumer_tag="t")


def test_the_handshake_sends_our_credentials_and_the_lower_limits() -> None:
    settings = Settings(credentials=Credentials("me", "mine"))
    engine = make_engine(conversation(*CHANNEL), "client", settings)
    engine.start(0)
    assert engine.urgent(0) == PROTOCOL
    assert engine.poll(0) is None and engine.waiting_for == "connection.start"
    engine.receive(start(), 0)
    start_ok = engine.urgent(0)
    assert argument(start_ok, "response") == b"\0me\0mine"
    assert b"secret" not in start_ok
    assert engine.secrets == [b"\0me\0mine"]
    engine.receive(tune(frame_max=4096), 0)
    octets = engine.urgent(0)
    assert argument(octets[:20], "frame-max") == 4096
    assert argument(octets[20:], "virtual-host") == "/"
    assert engine.poll(0) is None and engine.waiting_for == "connection.open-ok"


@pytest.mark.parametrize(
    ("mechanism", "response"), [("ANONYMOUS", b""), ("EXTERNAL", b""), ("PLAIN", b"\0guest\0guest")]
)
def test_mechanisms(mechanism: str, response: bytes) -> None:
    settings = Settings(credentials=Credentials(mechanism=mechanism))
    engine = make_engine(conversation(*CHANNEL), "client", settings)
    engine.start(0)
    engine.urgent(0)
    engine.receive(start(), 0)
    octets = engine.urgent(0)
    assert (argument(octets, "mechanism"), argument(octets, "response")) == (mechanism, response)


def test_a_mechanism_that_the_server_does_not_offer() -> None:
    engine = make_engine(conversation(*CHANNEL), "client", Settings())
    engine.start(0)
    engine.urgent(0)
    engine.receive(start(mechanisms=b"EXTERNAL"), 0)
    assert engine.failure == "not let in: the server offers EXTERNAL, not PLAIN"


def test_a_step_waits_for_the_reply_captured_before_it() -> None:
    declare = method(1, "queue.declare", queue="q")
    engine = client(*CHANNEL, (C, declare))
    assert sent(engine) == [method(1, "channel.open")]
    assert engine.waiting_for == "channel.open-ok on channel 1"
    engine.receive(OPENED, 0)
    assert sent(engine) == [declare]


def test_frames_that_nobody_can_read_go_out_as_they_are() -> None:
    odd = [
        method(1, "queue.declare", queue="q")[:-1] + b"\x00",  # frame-end
        b"\x01\x00\x01\x00\x00\x00\x04\x00\x32\x00\x63\xce",  # method 50.99
        b"\x04\x00\x01\x00\x00\x00\x03abc\xce",  # frame type 4
        b"\x03\x00\x01\x00\x00\x00\x03abc\xce",  # a body of nothing
    ]
    engine = client(*CHANNEL, *((C, one) for one in odd), rewriter=Rewriter(prefix="p."))
    sent(engine)
    engine.receive(OPENED, 0)
    assert sent(engine) == odd


def test_a_prefix_is_put_before_names_but_not_before_those_of_the_broker() -> None:
    lines = [
        (C, method(1, "queue.declare", queue="q")),
        (S, method(1, "queue.declare-ok", queue="q")),
        (C, method(1, "queue.bind", queue="q", exchange="amq.topic", routing_key="k")),
    ]
    engine = client(*CHANNEL, *lines, rewriter=Rewriter(prefix="p.", mapping={"other": "o"}))
    sent(engine)
    engine.receive(OPENED, 0)
    (declare,) = sent(engine)
    assert argument(declare, "queue") == "p.q"
    engine.receive(method(1, "queue.declare-ok", queue="p.q"), 0)
    (bind,) = sent(engine)
    said = [argument(bind, name) for name in ("queue", "exchange", "routing-key")]
    assert said == ["p.q", "amq.topic", "k"]


def test_a_name_that_the_server_made_is_replaced_everywhere() -> None:
    old, new = "amq.gen-captured", "amq.gen-of-another-length"
    lines = [
        (C, method(1, "queue.declare")),
        (S, method(1, "queue.declare-ok", queue=old)),
        *publish(b"to " + old.encode(), key="q", reply_to=old),
        *publish(b"direct", key=old),
    ]
    engine = client(*CHANNEL, *lines)
    sent(engine)
    engine.receive(OPENED, 0)
    assert names(sent(engine)) == ["queue.declare"]
    engine.receive(method(1, "queue.declare-ok", queue=new), 0)
    publish_1, header, body, publish_2, *_ = sent(engine)
    decoded = decode_header(header[7:-1], DIALECT, ("rabbitmq",))
    assert not isinstance(decoded, Exception)
    assert decoded.as_dict()["reply-to"] == new
    assert body[7:-1] == b"to " + new.encode()
    assert decoded.body_size == len(body[7:-1])
    assert argument(publish_1, "routing-key") == "q"
    assert argument(publish_2, "routing-key") == new
    assert len(engine.body_hashes) == 1


def test_a_name_made_on_another_connection_is_waited_for() -> None:
    rewriter = Rewriter()
    rewriter.expect("amq.gen-x")
    engine = client(*CHANNEL, *publish(b"x", key="amq.gen-x"), rewriter=rewriter)
    sent(engine)
    engine.receive(OPENED, 0)
    assert sent(engine) == [] and engine.waiting_for == "the live name of amq.gen-x"
    rewriter.learn("amq.gen-x", "amq.gen-y")
    assert argument(sent(engine)[0], "routing-key") == "amq.gen-y"


def test_bodies_are_cut_to_a_smaller_frame_max() -> None:
    body = bytes(range(256)) * 40
    lines = conversation(*CHANNEL, *publish(body))
    engine = make_engine(lines, "client", Settings())
    let_in(engine, frame_max=4096)
    sent(engine)
    engine.receive(OPENED, 0)
    _, _, bodies = sent(engine)
    sizes = []
    whole = b""
    while bodies:
        size = int.from_bytes(bodies[3:7], "big")
        sizes.append(8 + size)
        whole += bodies[7 : 7 + size]
        bodies = bodies[8 + size :]
    assert sizes == [4096, 4096, 2072]
    assert whole == body


def test_acks_carry_live_tags_by_content() -> None:
    lines = [*CONSUME, *delivered(1, b"a"), *delivered(2, b"b"),
             (C, method(1, "basic.ack", delivery_tag=1)),
             (C, method(1, "basic.ack", delivery_tag=2))]  # fmt: skip
    engine = client(*CHANNEL, *lines)
    sent(engine)
    engine.receive(OPENED, 0)
    sent(engine)
    engine.receive(CONSUMING, 0)
    assert sent(engine) == []
    assert engine.waiting_for == "delivery 1 on channel 1 (as captured)"
    engine.receive(deliver(7, b"b") + deliver(8, b"a"), 0)
    assert [argument(one, "delivery-tag") for one in sent(engine)] == [8, 7]


def test_a_consumer_tag_that_the_server_made_is_cancelled_by_its_live_name() -> None:
    lines = [
        (C, method(1, "basic.consume", queue="q")),
        (S, method(1, "basic.consume-ok", consumer_tag="amq.ctag-1")),
        (C, method(1, "basic.cancel", consumer_tag="amq.ctag-1")),
    ]
    engine = client(*CHANNEL, *lines)
    sent(engine)
    engine.receive(OPENED, 0)
    sent(engine)
    engine.receive(method(1, "basic.consume-ok", consumer_tag="amq.ctag-2"), 0)
    (cancel,) = sent(engine)
    assert argument(cancel, "consumer-tag") == "amq.ctag-2"


def test_a_multiple_that_would_settle_others_is_written_as_single_ones() -> None:
    lines = [*CONSUME, *delivered(1, b"a"), *delivered(2, b"b"),
             (C, method(1, "basic.ack", delivery_tag=2, multiple=True))]  # fmt: skip
    engine = client(*CHANNEL, *lines)
    sent(engine)
    engine.receive(OPENED, 0)
    sent(engine)
    engine.receive(CONSUMING + deliver(1, b"stranger") + deliver(2, b"a") + deliver(3, b"b"), 0)
    (octets,) = sent(engine)
    first, second = octets[: len(octets) // 2], octets[len(octets) // 2 :]
    said = [(argument(one, "delivery-tag"), argument(one, "multiple")) for one in (first, second)]
    assert said == [(2, False), (3, False)]


def test_the_window_of_unconfirmed_publishes_is_kept() -> None:
    lines = [
        (C, method(1, "confirm.select")), (S, method(1, "confirm.select-ok")),
        *publish(b"1"), (S, method(1, "basic.ack", delivery_tag=1)), *publish(b"2"),
    ]  # fmt: skip
    for causality, before in (("window", 0), ("protocol", 3)):
        engine = client(*CHANNEL, *lines, causality=causality)
        sent(engine)
        engine.receive(OPENED, 0)
        sent(engine)
        engine.receive(method(1, "confirm.select-ok"), 0)
        assert len(sent(engine)) == 3 + before
        if not before:
            assert engine.waiting_for == "1 confirms on channel 1"
            engine.receive(method(1, "basic.ack", delivery_tag=1), 0)
            assert len(sent(engine)) == 3


def test_a_dead_channel_is_skipped_until_it_is_opened_again() -> None:
    lines = [
        (C, method(1, "queue.declare", queue="q")), (S, method(1, "queue.declare-ok", queue="q")),
        *publish(b"lost"),
        (C, method(1, "channel.close")), (S, method(1, "channel.close-ok")), *CHANNEL,
    ]  # fmt: skip
    engine = client(*CHANNEL, *lines)
    sent(engine)
    engine.receive(OPENED, 0)
    sent(engine)
    engine.receive(method(1, "channel.close", reply_code=406, reply_text="no"), 0)
    assert names([engine.urgent(0)]) == ["channel.close-ok"]
    assert sent(engine) == [method(1, "channel.open")]
    texts = [note.text for note in engine.notes]
    assert texts == [
        "basic.publish: channel 1 was closed by the server",
        "channel.close: channel 1 was closed by the server",
    ]


def test_what_is_given_up_is_noted_and_not_waited_for_again() -> None:
    engine = client(*CHANNEL, (C, method(1, "queue.declare", queue="q")))
    sent(engine)
    engine.skip_wait(0)
    assert [(n.severity, n.text) for n in engine.notes] == [
        ("hard", "no channel.open-ok came on channel 1")
    ]
    assert names(sent(engine)) == ["queue.declare"]


def test_a_blocked_connection_holds_publishes_and_is_never_given_up() -> None:
    engine = client(*CHANNEL, *publish(b"x"))
    sent(engine)
    engine.receive(OPENED + method(0, "connection.blocked", reason="low on memory"), 0)
    assert sent(engine) == [] and engine.waiting_for == "connection.unblocked (low on memory)"
    engine.skip_wait(0)
    assert sent(engine) == []
    engine.receive(method(0, "connection.unblocked"), 0)
    assert len(sent(engine)) == 3


def test_heartbeats_are_our_own() -> None:
    engine = make_engine(conversation(*CHANNEL), "client", Settings(heartbeat_s=2))
    let_in(engine)
    second = 1_000_000_000
    assert engine.urgent(second // 2) == b""
    assert engine.urgent(second) == b"\x08\x00\x00\x00\x00\x00\x00\xce"
    engine.urgent(5 * second)
    assert engine.failure == "the peer missed its heartbeats"


def test_a_capture_begun_in_mid_connection_gets_its_channels_opened() -> None:
    script = conversation(
        *publish(b"x"), (S, method(1, "basic.ack", delivery_tag=9)), handshake=False
    )
    engine = make_engine(script, "client", Settings())
    let_in(engine)
    assert names(sent(engine)) == ["channel.open"]
    engine.receive(OPENED, 0)
    assert names(sent(engine)) == ["confirm.select"]
    engine.receive(method(1, "confirm.select-ok"), 0)
    assert names(sent(engine)) == ["basic.publish", "header", "body"]


def test_secrets_are_not_sent_again() -> None:
    engine = client(*CHANNEL, (C, method(0, "connection.update-secret", new_secret=b"s")))
    sent(engine)
    engine.receive(OPENED, 0)
    assert sent(engine) == []
    assert engine.notes[0].code == "secret"


def test_octets_that_are_no_frames_end_the_run() -> None:
    engine = client(*CHANNEL)
    engine.receive(b"HTTP/1.1 400 Bad Request\r\n\r\n", 0)
    assert engine.failure is not None and engine.failure.startswith("the peer announces a frame")


def test_cut_anywhere_the_octets_say_the_same() -> None:
    lines = [*CONSUME, *delivered(1, b"a"), (C, method(1, "basic.ack", delivery_tag=1))]
    stream = OPENED + CONSUMING + deliver(5, b"a")
    engine = client(*CHANNEL, *lines)
    found = []
    for octet in stream:
        found += sent(engine)
        engine.receive(bytes((octet,)), 0)
    found += sent(engine)
    assert names(found) == ["channel.open", "basic.consume", "basic.ack"]
    assert argument(found[-1], "delivery-tag") == 5
