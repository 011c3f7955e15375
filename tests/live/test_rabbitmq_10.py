"""RabbitMQ's AMQP 1.0 with proton and rhea clients: their counts and the broker's must be ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from proton import Event

from tests.live.counting import assert_whole, body_hashes, outcomes, where
from tests.live.node import run_client
from tests.live.proton_client import Receiver, Sender
from tests.live.rabbitmq import Broker
from tests.live.recording import Recording
from tests.tables import Tables, dissect

pytestmark = pytest.mark.live

Record = Callable[[int], Recording]
SMALL_FRAME = 1024


def dissected(recording: Recording) -> Tables:
    tables = dissect(recording.path)
    assert {row["dialect"] for row in tables["connections"]} == {"1.0"}
    assert_whole(tables)
    return tables


def address(queue: str) -> str:
    """A durable queue that the broker makes when it is first named."""
    return f"/queue/{queue}"


def test_sent_and_received(broker: Broker, record: Record) -> None:
    queue = "live10.roundtrip"
    bodies = [b"%d" % i * 40 for i in range(30)]
    with record(broker.port) as recording:
        sender = Sender(broker.port, address(queue), bodies).run()
        waiting = broker.settled_depth(queue, len(bodies))
        receiver = Receiver(broker.port, address(queue), ["accepted"] * 30, grants=[10, 20]).run()
    assert sender.outcomes == receiver.outcomes == {"accepted": len(bodies)}
    assert waiting["messages_ready"] == len(bodies)
    assert broker.settled_depth(queue, 0)["messages"] == 0

    tables = dissected(recording)
    sent = where(tables["transfers"], direction="c2s")
    came = where(tables["transfers"], direction="s2c")
    assert outcomes(sent) == sender.outcomes
    assert outcomes(came) == receiver.outcomes
    hashes = Counter(row["body_hash"] for row in sent)
    assert hashes == Counter(row["body_hash"] for row in came) == body_hashes(bodies)
    assert {row["address"] for row in sent + came} == {address(queue)}
    assert {row["auth_outcome"] for row in tables["connections"]} == {"ok"}
    assert {row["server_product"] for row in tables["connections"]} == {"RabbitMQ"}
    granted = [
        row["granted"]
        for row in where(tables["credits"], event="flow", direction="c2s")
        if row["granted"]
    ]
    assert granted == [10, 20]


def test_outcomes_requeue_and_drop(broker: Broker, record: Record) -> None:
    """Released messages come again, rejected ones do not: the broker's depth tells."""
    queue = "live10.outcomes"
    bodies = [b"message %d" % i for i in range(6)]
    Sender(broker.port, address(queue), bodies).run()
    broker.settled_depth(queue, len(bodies))
    wanted = ["accepted", "rejected", "released", "accepted", "released", "rejected"]
    with record(broker.port) as recording:
        first = Receiver(broker.port, address(queue), wanted).run()
    assert first.outcomes == Counter(wanted)
    left = broker.settled_depth(queue, 2)
    assert left["messages"] == first.outcomes["released"]

    rows = dissected(recording)["transfers"]
    assert outcomes(rows) == first.outcomes
    assert Counter(row["body_hash"] for row in rows) == body_hashes(bodies)
    rejected = where(rows, outcome="rejected")
    assert {row["outcome_condition"] for row in rejected} == {"amqp:not-allowed"}


def test_presettled(broker: Broker, record: Record) -> None:
    queue = "live10.presettled"
    with record(broker.port) as recording:
        sender = Sender(broker.port, address(queue), [b"gone"] * 12, is_presettled=True).run()
    assert sender.sent == broker.settled_depth(queue, 12)["messages"]

    tables = dissected(recording)
    rows = where(tables["transfers"], is_presettled=True, settle_kind="presettled")
    assert len(rows) == len(tables["transfers"]) == sender.sent
    assert tables.names()["disposition"] == 0


def test_messages_of_several_frames(broker: Broker, record: Record) -> None:
    queue = "live10.frames"
    bodies = [b"f" * size for size in (100, SMALL_FRAME, 60_000)]
    with record(broker.port) as recording:
        sender = Sender(broker.port, address(queue), bodies, max_frame_size=SMALL_FRAME).run()
        receiver = Receiver(
            broker.port, address(queue), ["accepted"] * 3, max_frame_size=SMALL_FRAME
        ).run()
    assert sorted(receiver.bodies) == sorted(bodies)

    tables = dissected(recording)
    came = where(tables["transfers"], direction="s2c")
    assert Counter(row["body_hash"] for row in came) == body_hashes(bodies)
    frames = where(tables["frames"], name="transfer", direction="s2c")
    assert sum(row["frame_count"] for row in came) == len(frames) > len(came)
    assert max(row["size_bytes"] for row in frames) <= SMALL_FRAME
    assert {row["frame_max"] for row in tables["connections"]} == {SMALL_FRAME}
    assert outcomes(where(tables["transfers"], direction="c2s")) == sender.outcomes


class Hoarder(Receiver):
    """Takes what it has credit for, settles nothing, and goes."""

    def on_message(self, event: Event) -> None:
        self.bodies.append(bytes(event.message.body))
        if len(self.bodies) == self.granted:
            self.finish()


def test_unsettled_when_the_client_goes(broker: Broker, record: Record) -> None:
    """What nobody settled is ready again, as the default outcome that the broker stated says."""
    queue = "live10.unsettled"
    Sender(broker.port, address(queue), [b"left"] * 4).run()
    broker.settled_depth(queue, 4)
    with record(broker.port) as recording:
        receiver = Hoarder(broker.port, address(queue), [], grants=[4]).run()
    assert broker.settled_depth(queue, 4)["messages_ready"] == len(receiver.bodies) == 4

    tables = dissected(recording)
    assert outcomes(tables["transfers"]) == {"released": 4}
    assert {row["settled_by"] for row in tables["transfers"]} == {"implicit"}
    (link,) = tables["links"]
    assert link["unsettled_count"] == 4


@pytest.mark.parametrize(
    ("where_to", "condition"),
    [
        ("/amq/queue/live10.missing", "amqp:not-found"),
        ("/bogus/address/form/x", "amqp:invalid-field"),
    ],
)
def test_errors(broker: Broker, record: Record, where_to: str, condition: str) -> None:
    with record(broker.port) as recording:
        client = Receiver(broker.port, where_to, ["accepted"]).run()
    assert client.error is not None
    what, name, description = client.error
    assert (what, name) == ("session", condition)

    (row,) = dissected(recording)["sessions"]
    assert (row["end_condition"], row["end_reason"]) == (name, description)
    assert row["end_initiator"] == "server"


def test_rhea_sends_and_receives(broker: Broker, record: Record) -> None:
    queue = "live10.rhea"
    sizes = [1, 500, 20_000, 3]
    task = {"port": broker.port, "address": address(queue)}
    with record(broker.port) as recording:
        sent = run_client("rhea_client.js", role="sender", sizes=sizes, **task)
        broker.settled_depth(queue, len(sizes))
        came = run_client(
            "rhea_client.js", role="receiver", credit=4, outcomes=["accepted"] * 4, **task
        )
    assert sent["outcomes"] == came["outcomes"] == {"accepted": len(sizes)}
    assert broker.settled_depth(queue, 0)["messages"] == 0

    rows = dissected(recording)["transfers"]
    assert outcomes(where(rows, direction="c2s")) == sent["outcomes"]
    received = where(rows, direction="s2c")
    assert outcomes(received) == came["outcomes"]
    assert sum(row["body_bytes"] for row in received) == came["body_bytes"] == sum(sizes)
