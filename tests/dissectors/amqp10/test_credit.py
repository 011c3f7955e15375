"""Link credit (1.0 §2.6.7, §2.7.4): grants, use, drain, echo; each a row with the state after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.dissectors.amqp10.dialogue import CLIENT, RECEIVER, SENDER, SERVER, Dialogue, session
from tests.tables import Tables

LAST = 0xFFFFFFFF


def receiving(**given: Any) -> Dialogue:
    return session().attached(role=RECEIVER, **given)


def steps(tables: Tables, *columns: str) -> list[tuple[Any, ...]]:
    rows = [r for r in tables["credits"] if r["link_id"] is not None and r["event"] != "attach"]
    return [tuple(row[c] for c in ("event", *columns)) for row in rows]


def test_grants_and_use(tmp_path: Path) -> None:
    talk = receiving().credit(CLIENT, 2).transfer(SERVER, 0).transfer(SERVER, 1)
    talk.credit(CLIENT, 3, 2).closed()
    tables = talk.tables(tmp_path)
    assert steps(tables, "granted", "sender_credit", "receiver_credit", "unsettled_count") == [
        ("flow", 2, 2, 2, 0),
        ("credit-exhausted", None, 0, 0, 2),
        ("flow", 3, 3, 3, 2),
    ]
    assert tables["links"][0]["initial_credit"] == 2


def test_messages_on_their_way_use_the_new_credit(tmp_path: Path) -> None:
    """§2.6.7: link-credit_snd := delivery-count_rcv + link-credit_rcv - delivery-count_snd."""
    talk = receiving().credit(CLIENT, 5)
    for delivery_id in range(3):
        talk.transfer(SERVER, delivery_id)
    talk.credit(CLIENT, 5, 1).closed()
    last = steps(talk.tables(tmp_path), "granted", "sender_credit", "receiver_credit")[-1]
    assert last == ("flow", 1, 3, 5)


def test_an_aborted_delivery_uses_credit(tmp_path: Path) -> None:
    """qpid-proton's delivery-count counts it as well."""
    talk = receiving().credit(CLIENT, 2).transfer(SERVER, 0, more=True)
    talk.transfer(SERVER, None, payload=b"", aborted=True).transfer(SERVER, 1)
    talk.credit(CLIENT, 3, 2).closed()
    assert steps(talk.tables(tmp_path), "granted", "sender_credit", "receiver_credit") == [
        ("flow", 2, 2, 2),
        ("credit-exhausted", None, 0, 0),
        ("flow", 3, 3, 3),
    ]


def test_a_delivery_of_many_frames_uses_one_credit(tmp_path: Path) -> None:
    talk = receiving().credit(CLIENT, 1).transfer(SERVER, 0, more=True).transfer(SERVER, None)
    events = [event for (event,) in steps(talk.closed().tables(tmp_path))]
    assert events == ["flow", "credit-exhausted"]


def test_drain_gives_up_what_is_left(tmp_path: Path) -> None:
    """§2.6.7: the sender advances its delivery-count over the credit it cannot use."""
    talk = receiving().credit(CLIENT, 10, drain=True).transfer(SERVER, 0)
    talk.credit(SERVER, 0, 10, drain=True).closed()
    tables = talk.tables(tmp_path)
    assert steps(tables, "granted", "sender_credit", "is_drain", "delivery_count") == [
        ("flow", 10, 10, True, 0),
        ("flow", -9, 0, True, 10),
    ]


def test_credit_taken_back(tmp_path: Path) -> None:
    """§2.6.7: a link-credit of zero stops the link."""
    talk = receiving().credit(CLIENT, 10).credit(CLIENT, 0).closed()
    assert steps(talk.tables(tmp_path), "granted", "sender_credit") == [
        ("flow", 10, 10),
        ("flow", -10, 0),
    ]


def test_echo_and_available(tmp_path: Path) -> None:
    talk = receiving().credit(CLIENT, 4, echo=True).credit(SERVER, 4, available=17).closed()
    tables = talk.tables(tmp_path)
    assert steps(tables, "is_echo", "available") == [("flow", True, None), ("flow", False, 17)]


def test_counts_wrap(tmp_path: Path) -> None:
    talk = receiving(count=LAST).credit(CLIENT, 2, LAST).transfer(SERVER, 0).transfer(SERVER, 1)
    talk.credit(CLIENT, 5, 1).closed()
    tables = talk.tables(tmp_path)
    assert steps(tables, "granted", "sender_credit") == [
        ("flow", 2, 2),
        ("credit-exhausted", None, 0),
        ("flow", 5, 5),
    ]
    assert tables["links"][0]["initial_delivery_count"] == LAST


def test_a_receiver_that_does_not_know_the_count_yet(tmp_path: Path) -> None:
    """§2.7.4: without delivery-count it is the sender's initial one."""
    talk = receiving(count=7).credit(CLIENT, 3, None).transfer(SERVER, 0).closed()
    (row,) = (r for r in talk.tables(tmp_path)["credits"] if r["event"] == "flow")
    assert (row["delivery_count"], row["sender_credit"], row["granted"]) == (None, 3, 3)


def test_a_flow_without_handle_is_the_sessions(tmp_path: Path) -> None:
    talk = session().say(CLIENT, "flow", next_incoming_id=0, incoming_window=9,
                         next_outgoing_id=0, outgoing_window=9).closed()  # fmt: skip
    row = talk.tables(tmp_path)["credits"][-1]
    assert (row["link_id"], row["incoming_window"], row["client_incoming_window"]) == (None, 9, 9)


def test_the_client_as_sender(tmp_path: Path) -> None:
    talk = session().attached(role=SENDER).credit(SERVER, 1).transfer(CLIENT, 0).closed()
    tables = talk.tables(tmp_path)
    rows = [r for r in tables["credits"] if r["event"] in ("flow", "credit-exhausted")]
    assert [(r["event"], r["direction"], r["sender_credit"]) for r in rows] == [
        ("flow", "s2c", 1),
        ("credit-exhausted", "c2s", 0),
    ]
