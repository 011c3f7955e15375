"""Deliveries and their settlement (1.0 §2.6.12, §2.7.5, §2.7.6): joined from frames, ranges in
both roles, states without settlement, and what happens when nobody settles."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from xxhash import xxh3_64_hexdigest

from dissectors.amqp10 import state, unsettled
from tests.dissectors.amqp10.dialogue import (
    CLIENT,
    RECEIVER,
    SENDER,
    SERVER,
    Dialogue,
    composite,
    message,
    session,
)
from tests.tables import Tables

LAST = 0xFFFFFFFF


def sending(count: int = 0, **given: object) -> Dialogue:
    """A client that sends, with credit."""
    return session().attached(role=SENDER, count=count, **given).credit(SERVER, 50, count)


def by_id(tables: Tables) -> dict[int, dict]:
    return {row["delivery_id"]: row for row in tables["transfers"]}


# -- joining --------------------------------------------------------------------------------


def test_parts_are_joined_and_read_as_one_message(tmp_path: Path) -> None:
    """§2.7.5: a continuation may leave out delivery-id, tag and format."""
    body = bytes(range(256)) * 4
    whole = message(body, properties={"message-id": "joined"})
    talk = sending().transfer(CLIENT, 0, more=True, payload=whole[:10])
    talk.transfer(CLIENT, None, more=True, payload=whole[10:300])
    talk.transfer(CLIENT, None, payload=whole[300:]).settle(SERVER, RECEIVER, 0).closed()
    (row,) = talk.tables(tmp_path)["transfers"]
    assert (row["frame_count"], row["message_bytes"], row["body_bytes"]) == (3, len(whole), 1024)
    assert (row["message_id"], row["body_hash"]) == ("joined", xxh3_64_hexdigest(body))


def test_parts_are_joined_by_link_when_they_interleave(tmp_path: Path) -> None:
    talk = session().attached("a", handle=0).attached("b", handle=1)
    first, second = message(b"a" * 50), message(b"b" * 70)
    talk.transfer(CLIENT, 0, handle=0, more=True, payload=first[:20])
    talk.transfer(CLIENT, 1, handle=1, more=True, payload=second[:30])
    talk.transfer(CLIENT, None, handle=0, payload=first[20:])
    talk.transfer(CLIENT, None, handle=1, payload=second[30:]).closed()
    rows = by_id(talk.tables(tmp_path))
    assert rows[0]["body_hash"] == xxh3_64_hexdigest(b"a" * 50)
    assert rows[1]["body_hash"] == xxh3_64_hexdigest(b"b" * 70)


def test_parts_may_be_empty(tmp_path: Path) -> None:
    talk = sending().transfer(CLIENT, 0, more=True, payload=message(b"x"))
    talk.transfer(CLIENT, None, payload=b"").closed()
    (row,) = talk.tables(tmp_path)["transfers"]
    assert (row["is_complete"], row["body_bytes"], row["frame_count"]) == (True, 1, 2)


def test_several_data_sections_are_one_body(tmp_path: Path) -> None:
    section = message(b"one") + message(b"two")
    talk = sending().transfer(CLIENT, 0, payload=section).closed()
    (row,) = talk.tables(tmp_path)["transfers"]
    assert (row["body_bytes"], row["body_hash"]) == (6, xxh3_64_hexdigest(b"onetwo"))


def test_aborted_deliveries_are_void(tmp_path: Path) -> None:
    """§2.7.5: settled implicitly, content discarded."""
    talk = sending().transfer(CLIENT, 0, more=True).transfer(CLIENT, None, aborted=True)
    talk.transfer(CLIENT, 1).settle(SERVER, RECEIVER, 1).closed()
    tables = talk.tables(tmp_path)
    row = by_id(tables)[0]
    assert (row["is_aborted"], row["is_complete"], row["outcome"]) == (True, False, None)
    assert (row["settled_by"], row["body_hash"]) == ("implicit", None)
    assert tables["links"][0]["unsettled_count"] == 0


def test_a_delivery_begun_inside_another_is_named(tmp_path: Path) -> None:
    talk = sending().transfer(CLIENT, 0, more=True).transfer(CLIENT, 1).closed()
    tables = talk.tables(tmp_path)
    assert tables.problem_codes() == {"state10.unfinished_delivery": 1}
    assert [by_id(tables)[i]["is_complete"] for i in (0, 1)] == [False, True]


def test_a_first_transfer_without_id_is_named_and_kept(tmp_path: Path) -> None:
    tables = sending().transfer(CLIENT, None).closed().tables(tmp_path)
    assert tables.problem_codes() == {"state10.missing_delivery_id": 1}
    assert len(tables["transfers"]) == 1


def test_messages_beyond_the_limit_are_counted_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "MAX_MESSAGE_BYTES", 1000)
    talk = sending()
    for number in range(4):
        talk.transfer(CLIENT, 0 if number == 0 else None, more=number < 3, payload=b"x" * 400)
    talk.settle(SERVER, RECEIVER, 0).closed()
    tables = talk.tables(tmp_path)
    (row,) = tables["transfers"]
    assert (row["message_bytes"], row["is_complete"], row["body_hash"]) == (1600, False, None)
    assert row["outcome"] == "accepted"
    assert tables.problem_codes() == {"message10.too_large": 1}


def test_unfinished_messages_together_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "MAX_HELD_BYTES", 1000)
    talk = session()
    for handle in range(4):
        talk.attached(f"l{handle}", handle=handle)
    for handle in range(4):
        talk.transfer(CLIENT, handle, handle=handle, more=True, payload=message(b"x" * 380))
    for handle in range(4):
        talk.transfer(CLIENT, None, handle=handle, payload=b"")
    tables = talk.closed().tables(tmp_path)
    complete = [by_id(tables)[i]["is_complete"] for i in range(4)]
    assert complete == [True, True, False, False]
    assert tables.problem_codes() == {"message10.too_large": 2}


# -- settlement -----------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["accepted", "released", "rejected", "modified"])
def test_receiver_settles_first(tmp_path: Path, outcome: str) -> None:
    talk = sending().transfer(CLIENT, 0).settle(SERVER, RECEIVER, 0, state=outcome).closed()
    (row,) = talk.tables(tmp_path)["transfers"]
    assert (row["outcome"], row["settled_by"], row["settle_kind"]) == (
        outcome,
        "receiver",
        "single",
    )
    assert row["settled_ts_ns"] == row["outcome_ts_ns"] > row["last_ts_ns"]


def test_rejected_with_its_condition(tmp_path: Path) -> None:
    rejected = composite("rejected", error=composite("error", condition="amqp:decode-error"))
    talk = sending().transfer(CLIENT, 0).settle(SERVER, RECEIVER, 0, state=rejected).closed()
    (row,) = talk.tables(tmp_path)["transfers"]
    assert row["outcome_condition"] == "amqp:decode-error"


def test_receiver_settles_second(tmp_path: Path) -> None:
    """§2.6.12: outcome unsettled, sender settles, receiver settles."""
    talk = sending(rcv_settle_mode=1).transfer(CLIENT, 0)
    talk.settle(SERVER, RECEIVER, 0, settled=False).settle(CLIENT, SENDER, 0, state=None)
    talk.settle(SERVER, RECEIVER, 0).closed()
    tables = talk.tables(tmp_path)
    (row,) = tables["transfers"]
    assert (row["outcome"], row["settled_by"]) == ("accepted", "sender")
    assert row["outcome_ts_ns"] < row["settled_ts_ns"]
    assert not tables["problems"]


def test_states_may_change_until_settlement(tmp_path: Path) -> None:
    received = composite("received", section_number=0, section_offset=100)
    talk = sending().transfer(CLIENT, 0).settle(SERVER, RECEIVER, 0, state=received, settled=False)
    talk.settle(SERVER, RECEIVER, 0, state="released", settled=False)
    talk.settle(SERVER, RECEIVER, 0, state="accepted").closed()
    tables = talk.tables(tmp_path)
    (row,) = tables["transfers"]
    assert row["outcome"] == "accepted"
    stated = [r for r in tables["frames"] if r["name"] == "disposition"]
    assert [r["outcome"] for r in stated] == ["received", "released", "accepted"]
    # A received is no outcome (§3.4): the first one came with the second disposition.
    assert row["outcome_ts_ns"] == stated[1]["ts_ns"]


def test_ranges_reach_over_links_and_skip_what_is_settled(tmp_path: Path) -> None:
    talk = session().attached("a", handle=0).attached("b", handle=1)
    for delivery_id in range(6):
        talk.transfer(CLIENT, delivery_id, handle=delivery_id % 2)
    talk.settle(SERVER, RECEIVER, 2, state="released").settle(SERVER, RECEIVER, 0, 5).closed()
    tables = talk.tables(tmp_path)
    kinds = Counter((r["outcome"], r["settle_kind"]) for r in tables["transfers"])
    assert kinds == {("accepted", "range"): 5, ("released", "single"): 1}


def test_ranges_wrap(tmp_path: Path) -> None:
    """§2.8.9: delivery numbers are serial numbers."""
    talk = sending(count=LAST - 1)
    for delivery_id in (LAST - 1, LAST, 0, 1):
        talk.transfer(CLIENT, delivery_id)
    tables = talk.settle(SERVER, RECEIVER, LAST, 0).closed().tables(tmp_path)
    assert {i: row["outcome"] for i, row in by_id(tables).items()} == {
        LAST - 1: None,
        LAST: "accepted",
        0: "accepted",
        1: None,
    }


def test_a_range_made_to_hurt_is_quick(tmp_path: Path) -> None:
    talk = sending().transfer(CLIENT, 5).settle(SERVER, RECEIVER, 0, 2**31 - 1).closed()
    (row,) = talk.tables(tmp_path)["transfers"]
    assert row["outcome"] == "accepted"


def test_a_range_that_runs_backwards_is_named(tmp_path: Path) -> None:
    codes = sending().transfer(CLIENT, 0).settle(SERVER, RECEIVER, 3, 1).closed()
    assert codes.tables(tmp_path).problem_codes() == {"state10.bad_range": 1}


def test_the_sender_may_settle_too(tmp_path: Path) -> None:
    talk = sending().transfer(CLIENT, 0).transfer(CLIENT, 1)
    rows = talk.settle(CLIENT, SENDER, 0, 1, state=None).closed().tables(tmp_path)["transfers"]
    assert {(r["settled_by"], r["settle_kind"], r["outcome"]) for r in rows} == {
        ("sender", "range", None)
    }


def test_a_disposition_of_what_was_never_sent_is_named(tmp_path: Path) -> None:
    talk = sending().transfer(CLIENT, 0).settle(SERVER, RECEIVER, 7).closed()
    assert talk.tables(tmp_path).problem_codes() == {"state10.unknown_delivery": 1}


def test_settled_again_is_no_problem(tmp_path: Path) -> None:
    talk = sending().transfer(CLIENT, 0).settle(SERVER, RECEIVER, 0).settle(CLIENT, SENDER, 0)
    assert not talk.closed().tables(tmp_path)["problems"]


def test_presettled(tmp_path: Path) -> None:
    talk = sending().transfer(CLIENT, 0, settled=True).closed()
    (row,) = talk.tables(tmp_path)["transfers"]
    assert (row["is_presettled"], row["settled_by"], row["settle_kind"]) == (
        True,
        "sender",
        "presettled",
    )


def test_settled_on_any_part_settles_the_delivery(tmp_path: Path) -> None:
    """§2.7.5: settled on a later transfer counts for the whole delivery."""
    talk = (
        sending().transfer(CLIENT, 0, more=True).transfer(CLIENT, None, settled=True, payload=b"")
    )
    (row,) = talk.closed().tables(tmp_path)["transfers"]
    assert row["is_presettled"]


def test_settled_by_the_receiver_while_the_sender_still_sends(tmp_path: Path) -> None:
    talk = sending().transfer(CLIENT, 0, more=True).settle(SERVER, RECEIVER, 0, state="rejected")
    talk.transfer(CLIENT, None, settled=True, payload=b"").closed()
    (row,) = talk.tables(tmp_path)["transfers"]
    assert (row["outcome"], row["settled_by"], row["frame_count"]) == ("rejected", "receiver", 2)


def test_settled_without_state_has_the_default_outcome(tmp_path: Path) -> None:
    """§3.5.3: the outcome for deliveries that are settled without one."""
    source = composite("source", address="q", default_outcome=composite("modified"))
    talk = session().attached(role=RECEIVER, source=source).credit(CLIENT, 5)
    talk.transfer(SERVER, 0).settle(CLIENT, RECEIVER, 0, state=None).closed()
    (row,) = talk.tables(tmp_path)["transfers"]
    assert row["outcome"] == "modified"


@pytest.mark.parametrize(
    ("end", "policy", "is_settled"),
    [
        ("closed", "never", True),
        ("detach", "link-detach", True),
        ("detach", "session-end", False),
        ("end", "session-end", True),
        ("end", "connection-close", False),
        ("close", "connection-close", True),
        ("close", "never", False),
    ],
)
def test_what_the_end_of_a_terminus_settles(
    tmp_path: Path, end: str, policy: str, is_settled: bool
) -> None:
    """§3.5.3, §3.5.6: with its source gone, what is unsettled has the default outcome."""
    source = composite(
        "source", address="q", expiry_policy=policy, default_outcome=composite("released")
    )
    talk = session().attached(role=RECEIVER, source=source).credit(CLIENT, 5).transfer(SERVER, 0)
    if end in ("closed", "detach"):
        for side in (CLIENT, SERVER):
            talk.say(side, "detach", handle=0, closed=end == "closed")
    elif end == "end":
        talk.say(CLIENT, "end").say(SERVER, "end")
    tables = (talk.closed() if end == "close" else talk).tables(tmp_path)
    (row,) = tables["transfers"]
    assert (row["settled_ts_ns"] is not None) == is_settled
    assert row["outcome"] == ("released" if is_settled else None)
    assert row["settled_by"] == ("implicit" if is_settled else None)
    assert tables["links"][0]["unsettled_count"] == 1


def test_unsettled_when_the_capture_ends(tmp_path: Path) -> None:
    tables = sending().transfer(CLIENT, 0).tables(tmp_path)
    (row,) = tables["transfers"]
    assert (row["outcome"], row["settled_ts_ns"], row["is_complete"]) == (None, None, True)
    assert tables["links"][0]["unsettled_count"] == 1


def test_too_many_unsettled_are_written_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unsettled, "MAX_UNSETTLED", 5)
    talk = sending()
    for delivery_id in range(9):
        talk.transfer(CLIENT, delivery_id)
    tables = talk.closed().tables(tmp_path)
    assert sorted(row["delivery_id"] for row in tables["transfers"]) == list(range(9))
    assert tables.problem_codes() == {"state10.limit": 1}


def test_a_transfer_against_the_direction_of_its_link_is_named(tmp_path: Path) -> None:
    talk = session().attached(role=RECEIVER).transfer(CLIENT, 0).closed()
    assert talk.tables(tmp_path).problem_codes() == {"state10.wrong_direction": 1}
