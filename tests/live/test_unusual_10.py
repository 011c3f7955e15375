"""Two qpid-proton peers where clients seldom go: what each did is in our tables (AMQP 1.0)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.live.counting import assert_whole, outcomes, where
from tests.live.recording import Recording
from tests.live.transacting_peers import Coordinating, Transacting
from tests.live.unusual_peers import (
    Confirming,
    Deciding,
    Filler,
    Listening,
    Narrow,
    Streamer,
)
from tests.tables import dissect

pytestmark = pytest.mark.live

Record = Callable[[int], Recording]


def test_parts_of_messages_by_turns_one_aborted_one_settled(record: Record) -> None:
    peer = Listening()
    with record(peer.port) as recording, peer:
        client = Streamer(peer.port).run()
    assert client.settled == 1

    tables = dissect(recording.path)
    assert_whole(tables)
    rows = {bytes.fromhex(row["delivery_tag"]).decode(): row for row in tables["transfers"]}
    assert [tag for tag, row in rows.items() if row["is_aborted"]] == ["t1"]
    whole = {tag: row["message_bytes"] for tag, row in rows.items() if not row["is_aborted"]}
    assert whole == dict(peer.received)
    assert all(client.sizes[tag] == size for tag, size in whole.items())
    assert {tag: row["is_presettled"] for tag, row in rows.items() if tag != "t1"} == {
        "t0": False, "t2": True,
    }  # fmt: skip
    order = [row["transfer_id"] for row in tables["frames"] if row["name"] == "transfer"]
    assert len(set(pairwise(order))) > len(rows), "they did not interleave"


def test_the_sender_settles_after_the_receiver_decided(record: Record) -> None:
    """1.0 §2.6.12, rcv-settle-mode second."""
    peer = Deciding()
    with record(peer.port) as recording, peer:
        client = Confirming(peer.port).run()

    tables = dissect(recording.path)
    assert_whole(tables)
    assert outcomes(tables["transfers"]) == client.outcomes
    assert {row["settled_by"] for row in tables["transfers"]} == {"sender"}
    (link,) = tables["links"]
    assert (link["rcv_settle_mode"], link["unsettled_count"]) == ("second", 0)


def test_a_session_window_that_holds_up_its_sender(record: Record) -> None:
    peer = Narrow()
    with record(peer.port) as recording, peer:
        client = Filler(peer.port).run()

    tables = dissect(recording.path)
    assert_whole(tables)
    rows = sorted(tables["transfers"], key=lambda row: row["delivery_id"])
    assert [row["message_bytes"] for row in rows] == client.sizes
    windows = [row["server_incoming_window"] for row in tables["credits"]]
    assert min(window for window in windows if window is not None) == 0
    frames = where(tables["frames"], name="transfer")
    (session,) = tables["sessions"]
    assert session["server_incoming_window"] < len(frames)
    assert where(tables["credits"], event="window-exhausted")


def test_transactions_and_what_is_released_after_a_rollback(record: Record) -> None:
    peer = Coordinating()
    with record(peer.port) as recording, peer:
        client = Transacting(peer.port).run()
    assert client.ended == ["committed", "rolled-back"]

    tables = dissect(recording.path)
    assert_whole(tables)
    (control,) = where(tables["links"], kind="coordinator")
    work = [row for row in tables["transfers"] if row["link_id"] != control["link_id"]]
    counted = Counter((r["direction"], r["transaction_outcome"], r["outcome"]) for r in work)
    assert counted == {
        ("c2s", "committed", "accepted"): 3,
        ("s2c", "committed", "accepted"): 2,
        ("c2s", "rolled-back", None): 3,
        ("s2c", "rolled-back", "released"): 2,
    }
    (session,) = tables["sessions"]
    assert (session["commit_count"], session["rollback_count"]) == (1, 1)
