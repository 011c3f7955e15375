"""A qpid-proton peer with proton and rhea clients: what both ends count must be ours (AMQP 1.0)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.live.counting import assert_whole, body_hashes, outcomes, where
from tests.live.node import run_client
from tests.live.proton_client import STATES, Receiver, Sender
from tests.live.proton_peer import DEFAULT_SIZE, Peer
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


@pytest.mark.parametrize("outcome", STATES)
def test_sent_messages_and_their_outcomes(record: Record, outcome: str) -> None:
    bodies = [b"%d" % i * 30 for i in range(25)]
    peer = Peer()
    with record(peer.port) as recording, peer:
        sender = Sender(peer.port, f"in.{outcome}", bodies).run()
    assert sender.outcomes == peer.outcomes_stated == {outcome: len(bodies)}

    tables = dissected(recording)
    rows = tables["transfers"]
    assert outcomes(rows) == sender.outcomes
    assert {row["direction"] for row in rows} == {"c2s"}
    assert {row["address"] for row in rows} == {f"in.{outcome}"}
    assert Counter(row["body_hash"] for row in rows) == body_hashes(bodies)
    assert [row["message_bytes"] for row in by_delivery(rows)] == sender.message_bytes
    assert [row["message_id"] for row in by_delivery(rows)] == [f"m{i}" for i in range(25)]
    condition = "amqp:not-allowed" if outcome == "rejected" else None
    assert {row["outcome_condition"] for row in rows} == {condition}
    (link,) = tables["links"]
    assert (link["role"], link["transfer_count"]) == ("sender", peer.received)
    assert link["unsettled_count"] == 0


def by_delivery(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: row["delivery_id"])


def test_presettled_messages(record: Record) -> None:
    bodies = [b"gone"] * 7
    peer = Peer()
    with record(peer.port) as recording, peer:
        sender = Sender(peer.port, "in.accepted", bodies, is_presettled=True).run()
    assert sender.sent == peer.received_presettled == len(bodies)

    rows = dissected(recording)["transfers"]
    assert len(where(rows, is_presettled=True, settled_by="sender")) == peer.received_presettled
    assert len(rows) == sender.sent


def test_received_messages_on_granted_credit(record: Record) -> None:
    wanted = ["accepted", "released", "rejected", "modified"] * 3
    peer = Peer()
    with record(peer.port) as recording, peer:
        receiver = Receiver(peer.port, "out.100", wanted, grants=[4, 7, 1]).run()
    assert receiver.outcomes == peer.outcomes_heard
    assert peer.sent == len(receiver.bodies) == 12

    tables = dissected(recording)
    assert outcomes(tables["transfers"]) == receiver.outcomes
    assert Counter(r["body_hash"] for r in tables["transfers"]) == body_hashes(receiver.bodies)
    granted = [
        row["granted"]
        for row in where(tables["credits"], event="flow", direction="c2s")
        if row["granted"]
    ]
    assert granted == [4, 7, 1]
    assert len(where(tables["credits"], event="credit-exhausted")) == 3


def test_drain(record: Record) -> None:
    peer = Peer()
    with record(peer.port) as recording, peer:
        receiver = Receiver(peer.port, "out.5", ["accepted"] * 5, grants=[3], drain=10).run()
    assert peer.sent == len(receiver.bodies) == 5
    assert peer.given_up == receiver.drained == 8

    tables = dissected(recording)
    assert outcomes(tables["transfers"]) == receiver.outcomes
    (asked,) = where(tables["credits"], event="flow", direction="c2s", is_drain=True)
    assert asked["link_credit"] == 10
    given_up = [row["granted"] for row in tables["credits"] if (row["granted"] or 0) < 0]
    assert sum(given_up) == -peer.given_up


@pytest.mark.parametrize("size", [SMALL_FRAME - 100, SMALL_FRAME, 10_000, 100_000])
def test_messages_of_several_frames(record: Record, size: int) -> None:
    bodies = [bytes([65 + i]) * size for i in range(3)]
    peer = Peer(connections=2)
    with record(peer.port) as recording, peer:
        sender = Sender(peer.port, "in.accepted", bodies).run()
        receiver = Receiver(
            peer.port, f"out.4.{size}", ["accepted"] * 4, max_frame_size=SMALL_FRAME
        ).run()
    assert peer.received_sizes == [size] * 3

    tables = dissected(recording)
    sent = where(tables["transfers"], direction="c2s")
    came = where(tables["transfers"], direction="s2c")
    assert Counter(row["body_hash"] for row in sent) == body_hashes(bodies)
    assert Counter(row["body_hash"] for row in came) == body_hashes(receiver.bodies)
    assert [row["message_bytes"] for row in by_delivery(sent)] == sender.message_bytes
    assert {row["body_bytes"] for row in came} == {size}
    # §2.3.1: no frame is larger than the receiver's max-frame-size.
    frames = where(tables["frames"], name="transfer", direction="s2c")
    assert max(row["size_bytes"] for row in frames) <= SMALL_FRAME
    assert sum(row["frame_count"] for row in came) == len(frames)
    assert all(row["frame_count"] >= row["message_bytes"] / SMALL_FRAME for row in came)
    assert len(where(frames, is_more=True)) == len(frames) - len(came)


@pytest.mark.parametrize("what", ["link", "session", "connection"])
def test_errors(record: Record, what: str) -> None:
    peer = Peer()
    with record(peer.port) as recording, peer:
        client = Receiver(peer.port, f"fail.{what}", ["accepted"]).run()
    assert client.error == (what, f"amqp:{what}-fault", f"the {what} must end")

    tables = dissected(recording)
    table, prefix = {
        "link": ("links", "end"),
        "session": ("sessions", "end"),
        "connection": ("connections", "close"),
    }[what]
    (row,) = tables[table]
    said = (what, row[f"{prefix}_condition"], row[f"{prefix}_reason"])
    assert said == client.error
    assert row[f"{prefix}_initiator"] == "server"


@pytest.mark.parametrize("outcome", STATES)
def test_rhea_sends(record: Record, outcome: str) -> None:
    sizes = [0, 10, 3_000, 50_000]
    peer = Peer()
    with record(peer.port) as recording, peer:
        said = run_client(
            "rhea_client.js", port=peer.port, role="sender", address=f"in.{outcome}", sizes=sizes
        )
    assert said["outcomes"] == peer.outcomes_stated == {outcome: len(sizes)}

    rows = dissected(recording)["transfers"]
    assert outcomes(rows) == peer.outcomes_stated
    assert [row["body_bytes"] for row in by_delivery(rows)] == sizes == peer.received_sizes


def test_rhea_sends_presettled(record: Record) -> None:
    peer = Peer()
    task = {"port": peer.port, "role": "sender", "address": "in.accepted", "presettled": True}
    with record(peer.port) as recording, peer:
        said = run_client("rhea_client.js", sizes=[5] * 9, **task)
    assert said["sent"] == peer.received_presettled == 9
    rows = dissected(recording)["transfers"]
    assert len(where(rows, is_presettled=True)) == len(rows) == said["sent"]


def test_rhea_receives_and_settles(record: Record) -> None:
    # In this order: rhea states one outcome for the first two deliveries, whatever it was told.
    wanted = ["accepted", "accepted", "released", "rejected", "modified"]
    peer = Peer()
    task = {"port": peer.port, "role": "receiver", "address": "out.50", "credit": len(wanted)}
    with record(peer.port) as recording, peer:
        said = run_client("rhea_client.js", outcomes=wanted, **task)
    assert said["outcomes"] == peer.outcomes_heard == Counter(wanted)

    rows = dissected(recording)["transfers"]
    assert outcomes(rows) == peer.outcomes_heard
    assert sum(row["body_bytes"] for row in rows) == said["body_bytes"] == 5 * DEFAULT_SIZE


def test_rhea_drains(record: Record) -> None:
    peer = Peer()
    task = {"port": peer.port, "role": "receiver", "address": "out.3", "credit": 20, "drain": True}
    with record(peer.port) as recording, peer:
        said = run_client("rhea_client.js", outcomes=["accepted"] * 3, **task)
    assert (said["received"], said["drained"], peer.given_up) == (3, 1, 17)

    tables = dissected(recording)
    assert len(tables["transfers"]) == said["received"]
    given_up = [row["granted"] for row in tables["credits"] if (row["granted"] or 0) < 0]
    assert sum(given_up) == -peer.given_up


def test_rhea_receives_several_frames(record: Record) -> None:
    peer = Peer()
    task = {"port": peer.port, "role": "receiver", "address": "out.2.30000", "credit": 2}
    with record(peer.port) as recording, peer:
        said = run_client(
            "rhea_client.js", outcomes=["accepted"] * 2, max_frame_size=SMALL_FRAME, **task
        )
    assert said["body_bytes"] == 60_000
    tables = dissected(recording)
    assert sum(row["body_bytes"] for row in tables["transfers"]) == said["body_bytes"]
    assert all(row["frame_count"] >= 30 for row in tables["transfers"])
