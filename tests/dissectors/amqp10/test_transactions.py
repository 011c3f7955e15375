"""Transactions (1.0 §4): what is done in one takes effect when it is discharged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.message import encode_section
from tests.dissectors.amqp10.dialogue import (
    CLIENT,
    RECEIVER,
    SENDER,
    SERVER,
    Dialogue,
    composite,
    session,
)
from tests.tables import Tables

TXN = b"\x01\x02"
CONTROL, WORK = 0, 1


def request(name: str, **given: Any) -> bytes:
    return encode_section(STANDARD, "amqp-value", composite(name, **given))


def declared() -> Dialogue:
    """A control link, a link for the work, and one transaction."""
    talk = session().attached("control", handle=CONTROL, target=composite("coordinator"))
    talk.attached("work", handle=WORK).credit(SERVER, 9, handle=WORK)
    talk.transfer(CLIENT, 0, handle=CONTROL, payload=request("declare"))
    return talk.settle(SERVER, RECEIVER, 0, state=composite("declared", txn_id=TXN))


def received_in_transaction() -> Dialogue:
    """A control link, a message that came on a link for the work, and a transaction."""
    talk = session().attached("control", handle=0, target=composite("coordinator"))
    talk.attached("work", RECEIVER, handle=1).credit(CLIENT, 5, handle=1)
    talk.transfer(SERVER, 0, handle=1)
    talk.transfer(CLIENT, 0, handle=0, payload=request("declare"))
    talk.settle(SERVER, RECEIVER, 0, state=composite("declared", txn_id=TXN))
    return talk


def in_transaction(outcome: str | None = None) -> Any:
    stated = None if outcome is None else composite(outcome)
    return composite("transactional-state", txn_id=TXN, outcome=stated)


def discharge(talk: Dialogue, delivery_id: int, fail: bool, state: str = "accepted") -> Dialogue:
    payload = request("discharge", txn_id=TXN, fail=fail)
    talk.transfer(CLIENT, delivery_id, handle=CONTROL, payload=payload)
    return talk.settle(SERVER, RECEIVER, delivery_id, state=state)


def sent(tables: Tables) -> dict[str, Any]:
    (link,) = (row for row in tables["links"] if row["name"] == "work")
    (row,) = (r for r in tables["transfers"] if r["link_id"] == link["link_id"])
    return row


@pytest.mark.parametrize(
    ("fail", "answer", "fate", "outcome"),
    [
        (False, "accepted", "committed", "accepted"),
        (True, "accepted", "rolled-back", None),
        (False, "rejected", "rolled-back", None),
    ],
)
def test_the_outcome_of_what_is_sent_takes_effect_at_discharge(
    tmp_path: Path, fail: bool, answer: str, fate: str, outcome: str | None
) -> None:
    """§4.3, §4.4.1: a discharge that is not accepted rolls back."""
    talk = declared().transfer(CLIENT, 1, handle=WORK, state=in_transaction())
    talk.settle(SERVER, RECEIVER, 1, state=in_transaction("accepted"))
    tables = discharge(talk, 2, fail, answer).closed().tables(tmp_path)
    row = sent(tables)
    assert (row["transaction_id"], row["transaction_outcome"]) == (TXN.hex(), fate)
    assert row["outcome"] == outcome
    frames = [r for r in tables["frames"] if r["name"] == "disposition"]
    assert row["settled_ts_ns"] == frames[-1]["ts_ns"]
    (ours,) = tables["sessions"]
    assert (ours["commit_count"], ours["rollback_count"]) == (
        (1, 0) if fate == "committed" else (0, 1)
    )


def test_acceptance_of_what_came_takes_effect_at_discharge(tmp_path: Path) -> None:
    """§4.4.2: retirement inside a transaction."""
    talk = received_in_transaction()
    talk.settle(CLIENT, RECEIVER, 0, state=in_transaction("accepted"))
    row = sent(discharge(talk, 1, False).closed().tables(tmp_path))
    assert (row["outcome"], row["transaction_outcome"]) == ("accepted", "committed")


def test_what_is_said_after_the_rollback_stands(tmp_path: Path) -> None:
    """qpid-proton releases the deliveries of a transaction that it has rolled back."""
    talk = received_in_transaction()
    talk.settle(CLIENT, RECEIVER, 0, state=in_transaction("accepted"), settled=False)
    row = sent(discharge(talk, 1, True).settle(CLIENT, RECEIVER, 0, state="released")
               .closed().tables(tmp_path))  # fmt: skip
    assert (row["outcome"], row["transaction_outcome"]) == ("released", "rolled-back")
    assert (row["settled_by"], row["settle_kind"]) == ("receiver", "single")


def test_a_transaction_that_nobody_discharges_stays_open(tmp_path: Path) -> None:
    talk = declared().transfer(CLIENT, 1, handle=WORK, state=in_transaction())
    talk.settle(SERVER, RECEIVER, 1, state=in_transaction("accepted"))
    row = sent(talk.tables(tmp_path))
    assert (row["transaction_outcome"], row["outcome"]) == ("open", None)


def test_the_end_of_the_control_link_rolls_back(tmp_path: Path) -> None:
    """§4.2: transactions end with the control link that declared them."""
    talk = declared().transfer(CLIENT, 1, handle=WORK, state=in_transaction())
    talk.settle(SERVER, RECEIVER, 1, state=in_transaction("accepted"))
    for side in (CLIENT, SERVER):
        talk.say(side, "detach", handle=CONTROL, closed=True)
    tables = talk.closed().tables(tmp_path)
    assert sent(tables)["transaction_outcome"] == "rolled-back"
    assert tables["sessions"][0]["rollback_count"] == 1


def test_the_control_link_is_a_coordinator(tmp_path: Path) -> None:
    tables = declared().closed().tables(tmp_path)
    assert {row["name"]: row["kind"] for row in tables["links"]} == {
        "control": "coordinator",
        "work": "link",
    }
    (row,) = tables["transfers"]
    # `declared` answers the request and is none of the outcomes of a message (§3.4).
    assert row["outcome"] is None
    assert [row["outcome"] for row in tables["frames"] if row["outcome"]] == ["declared"]


def test_other_messages_to_a_coordinator_are_named(tmp_path: Path) -> None:
    talk = session().attached("control", target=composite("coordinator")).transfer(CLIENT, 0)
    assert talk.closed().tables(tmp_path).problem_codes() == {"state10.bad_coordination": 1}


def test_discharge_of_what_was_not_declared_is_named(tmp_path: Path) -> None:
    talk = session().attached("control", target=composite("coordinator"))
    tables = discharge(talk, 0, False).closed().tables(tmp_path)
    assert tables.problem_codes() == {"state10.unknown_transaction": 1}


def test_a_rejected_delivery_outside_is_settled_at_once(tmp_path: Path) -> None:
    talk = declared().transfer(CLIENT, 1, handle=WORK).settle(SERVER, RECEIVER, 1, state="released")
    row = sent(talk.settle(CLIENT, SENDER, 1).closed().tables(tmp_path))
    assert (row["outcome"], row["transaction_id"]) == ("released", None)
