"""Captures begun or torn in mid-connection (1.0 §2.5 to §2.7 read backwards): what the frames that
are there tell of sessions, links and roles, and that it is marked as inferred."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissectors.amqp10.frames import encode_frame
from tests.dissectors.amqp10.dialogue import (
    CLIENT,
    RECEIVER,
    SENDER,
    SERVER,
    Dialogue,
    composite,
    message,
    performative,
    session,
)


def midstream() -> Dialogue:
    return Dialogue(is_whole=False)


def test_links_and_roles_from_transfers(tmp_path: Path) -> None:
    talk = midstream()
    for delivery_id in range(5, 9):
        talk.transfer(CLIENT, delivery_id, handle=3, channel=1)
    talk.say(SERVER, "disposition", 1, role=RECEIVER, first=2, last=7, settled=True)
    tables = talk.tables(tmp_path)
    (ours,), (link,) = tables["sessions"], tables["links"]
    assert (ours["is_inferred"], ours["channel"], ours["remote_channel"]) == (True, 1, 1)
    assert (link["is_inferred"], link["role"], link["client_handle"]) == (True, "sender", 3)
    settled = {row["delivery_id"]: row["settled_ts_ns"] is not None for row in tables["transfers"]}
    assert settled == {5: True, 6: True, 7: True, 8: False}
    assert not tables["problems"]


@pytest.mark.parametrize(
    ("side", "given", "role"),
    [
        (CLIENT, {"link_credit": 10}, "receiver"),
        (SERVER, {"link_credit": 10}, "sender"),
        (CLIENT, {"link_credit": 0, "drain": True}, "sender"),
        (CLIENT, {"link_credit": 4, "available": 9}, "sender"),
    ],
)
def test_roles_from_flows(tmp_path: Path, side: int, given: dict, role: str) -> None:
    """§2.7.4: only receivers grant; only senders know what is available."""
    talk = midstream()
    flow = {"next_incoming_id": 4, "incoming_window": 8, "next_outgoing_id": 1,
            "outgoing_window": 8, "handle": 0, "delivery_count": 4}  # fmt: skip
    for _ in range(3):
        talk.say(side, "flow", **flow, **given)
    (link,) = talk.tables(tmp_path)["links"]
    assert (link["role"], link["is_inferred"]) == (role, True)


def test_a_transfer_corrects_what_a_flow_suggested(tmp_path: Path) -> None:
    talk = midstream().credit(CLIENT, 5, 3).credit(CLIENT, 5, 3)
    talk.transfer(CLIENT, 7).transfer(CLIENT, 8)
    tables = talk.tables(tmp_path)
    (link,) = tables["links"]
    assert (link["role"], link["transfer_count"]) == ("sender", 2)
    assert not tables["problems"]


def test_credit_is_known_from_the_first_flow_on(tmp_path: Path) -> None:
    talk = midstream().transfer(SERVER, 70).credit(CLIENT, 10, 500).transfer(SERVER, 71)
    talk.credit(CLIENT, 10, 501)
    rows = [r for r in talk.tables(tmp_path)["credits"] if r["event"] == "flow"]
    assert [(r["granted"], r["sender_credit"]) for r in rows] == [(10, 10), (1, 10)]


def test_a_message_whose_first_part_was_not_seen(tmp_path: Path) -> None:
    whole = message(b"x" * 500)
    talk = midstream()
    talk.transfer(CLIENT, None, payload=whole[200:400], more=True)
    talk.transfer(CLIENT, None, payload=whole[400:]).transfer(CLIENT, 4).transfer(CLIENT, 5)
    rows = talk.tables(tmp_path)["transfers"]
    assert sorted((r["is_complete"], r["delivery_id"] or 0) for r in rows) == [
        (False, 0),
        (True, 4),
        (True, 5),
    ]
    assert {r["body_hash"] is None for r in rows if not r["is_complete"]} == {True}


def test_later_parts_that_repeat_the_delivery_id_are_no_first_part(tmp_path: Path) -> None:
    """qpid-proton puts delivery-id, tag and format on each transfer of a message (§2.7.5)."""
    whole = message(b"x" * 500)
    given = {"delivery_tag": b"t", "message_format": 0}
    talk = midstream().transfer(CLIENT, 3, payload=whole[200:400], more=True, **given)
    talk.transfer(CLIENT, 3, payload=whole[400:], **given).transfer(CLIENT, 4, **given)
    tables = talk.tables(tmp_path)
    rows = {row["delivery_id"]: row for row in tables["transfers"]}
    assert (rows[3]["is_complete"], rows[3]["body_hash"]) == (False, None)
    assert rows[4]["is_complete"]
    assert not tables["problems"]


def test_what_was_lost_before_the_answering_open_is_no_fault_of_the_answer(tmp_path: Path) -> None:
    """Clients may send open, begin and attach in one go (§2.4.1)."""
    talk = Dialogue().header(CLIENT).header(SERVER)
    lose(talk, CLIENT, 120)
    windows = {"next_outgoing_id": 0, "incoming_window": 100, "outgoing_window": 100}
    talk.say(SERVER, "open", container_id="server")
    talk.say(SERVER, "begin", remote_channel=0, **windows)
    talk.say(SERVER, "attach", name="n", handle=0, role=RECEIVER)
    tables = talk.credit(SERVER, 5).transfer(CLIENT, 0).transfer(CLIENT, 1).tables(tmp_path)
    assert set(tables.problem_codes()) == {"tcp.gap"}
    assert len(tables["transfers"]) == 2


def test_attach_after_a_start_in_mid_connection_is_not_inferred(tmp_path: Path) -> None:
    talk = midstream().transfer(CLIENT, 0).transfer(CLIENT, 1).attached("new", RECEIVER, 5)
    rows = talk.tables(tmp_path)["links"]
    assert [(row["name"], row["is_inferred"]) for row in rows] == [(None, True), ("new", False)]


def test_a_stream_that_begins_inside_a_frame(tmp_path: Path) -> None:
    frame = encode_frame(performative("transfer", handle=0, delivery_id=0) + message(b"y" * 90))
    talk = midstream().octets(CLIENT, frame[37:])
    for delivery_id in range(1, 5):
        talk.transfer(CLIENT, delivery_id)
    tables = talk.tables(tmp_path)
    assert sorted(row["delivery_id"] for row in tables["transfers"]) == [1, 2, 3, 4]
    (connection,) = tables["connections"]
    assert connection["skipped_bytes"] == len(frame) - 37


def test_garbage_between_frames_is_passed_over(tmp_path: Path) -> None:
    talk = session().attached().transfer(CLIENT, 0).octets(CLIENT, b"\xff" * 77)
    talk.transfer(CLIENT, 1).transfer(CLIENT, 2)
    tables = talk.tables(tmp_path)
    assert sorted(row["delivery_id"] for row in tables["transfers"]) == [0, 1, 2]
    assert tables.problem_codes() == {"frame.garbage": 1}
    (connection,) = tables["connections"]
    assert connection["skipped_bytes"] == 77


def lose(talk: Dialogue, side: int, size: int) -> Dialogue:
    """Octets of a side that no packet holds."""
    talk.talk.seq[side] += size
    return talk


def test_a_gap_inside_a_message_costs_only_its_body(tmp_path: Path) -> None:
    frame = encode_frame(
        performative("transfer", handle=0, delivery_id=0, delivery_tag=b"t")
        + message(b"z" * 300, properties={"message-id": "cut"})
    )
    talk = session().attached().octets(CLIENT, frame[:100])
    lose(talk, CLIENT, 50).octets(CLIENT, frame[150:]).transfer(CLIENT, 1)
    talk.settle(SERVER, RECEIVER, 0, 1).closed()
    tables = talk.tables(tmp_path)
    rows = {row["delivery_id"]: row for row in tables["transfers"]}
    assert (rows[0]["is_complete"], rows[0]["outcome"]) == (False, "accepted")
    assert (rows[1]["is_complete"], rows[1]["outcome"]) == (True, "accepted")
    assert {"tcp.gap", "frame.holed"} == set(tables.problem_codes())


def test_a_snap_length_that_cuts_attach_leaves_its_first_fields(tmp_path: Path) -> None:
    attach = encode_frame(performative(
        "attach", name="n" * 20, handle=4, role=SENDER, initial_delivery_count=0,
        properties={"long": "x" * 90},
    ))  # fmt: skip
    talk = session().octets(CLIENT, attach[:60])
    lose(talk, CLIENT, len(attach) - 60).transfer(CLIENT, 0, handle=4)
    tables = talk.closed().tables(tmp_path)
    (link,) = tables["links"]
    assert (link["name"], link["client_handle"], link["role"]) == ("n" * 20, 4, "sender")
    assert (link["is_inferred"], link["transfer_count"]) == (False, 1)
    (row,) = (r for r in tables["frames"] if r["name"] == "attach")
    assert row["status"] == "incomplete"


def test_what_may_have_been_settled_in_a_gap_is_not_settled_by_the_end(tmp_path: Path) -> None:
    source = composite("source", address="q", default_outcome=composite("released"))
    talk = session().attached("l", RECEIVER, source=source).credit(CLIENT, 5).transfer(SERVER, 0)
    lose(talk, CLIENT, 28).settle(CLIENT, RECEIVER, 7).transfer(SERVER, 1).closed()
    rows = {row["delivery_id"]: row for row in talk.tables(tmp_path)["transfers"]}
    assert (rows[0]["outcome"], rows[0]["settle_kind"]) == (None, None)
    assert (rows[1]["outcome"], rows[1]["settle_kind"]) == ("released", "implicit")


def test_handles_and_channels_used_again_behind_a_gap_are_no_fault(tmp_path: Path) -> None:
    talk = session().attached("before").transfer(CLIENT, 0)
    lose(lose(talk, CLIENT, 100), SERVER, 100)
    talk.begun().attached("behind").transfer(CLIENT, 0).closed()
    tables = talk.tables(tmp_path)
    assert set(tables.problem_codes()) == {"tcp.gap"}
    assert [row["name"] for row in tables["links"]] == ["before", "behind"]


def test_the_ledger_balances_in_every_case(tmp_path: Path) -> None:
    talk = session().attached().transfer(CLIENT, 0).octets(CLIENT, b"\x00" * 33)
    lose(talk, CLIENT, 44).transfer(CLIENT, 1).transfer(CLIENT, 2).octets(CLIENT, b"\0\0\0\x40\x02")
    (row,) = talk.tables(tmp_path)["connections"]
    parts = ("decoded_bytes", "skipped_bytes", "missing_bytes", "leftover_bytes")
    assert sum(row[p] for p in parts) == row["bytes_c2s"] + row["bytes_s2c"]
