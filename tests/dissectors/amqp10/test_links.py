"""Links (1.0 §2.6): pairing by name and role, handles, termini, settle modes, ends, recovery."""

from __future__ import annotations

import json
from pathlib import Path

from dissectors.amqp10 import registry
from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.plain import guess
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


def test_attaches_pair_by_name_and_role_not_by_handle(tmp_path: Path) -> None:
    """§2.6.3: handles are each side's own."""
    talk = session().attached("a", SENDER, 1, remote=2).attached("b", RECEIVER, 2, remote=1)
    talk.transfer(CLIENT, 0, handle=1).transfer(SERVER, 0, handle=1).closed()
    tables = talk.tables(tmp_path)
    links = {row["name"]: row for row in tables["links"]}
    assert [(r["client_handle"], r["server_handle"], r["role"]) for r in links.values()] == [
        (1, 2, "sender"),
        (2, 1, "receiver"),
    ]
    found = {(r["direction"], r["link_id"]) for r in tables["transfers"]}
    assert found == {("c2s", links["a"]["link_id"]), ("s2c", links["b"]["link_id"])}


def test_one_name_in_both_directions_is_two_links(tmp_path: Path) -> None:
    """§2.6.1: a name is unique for each direction; `$cbs` clients do this."""
    tables = session().attached("cbs", SENDER, 0).attached("cbs", RECEIVER, 1).closed()
    rows = tables.tables(tmp_path)["links"]
    assert [(row["name"], row["role"], row["end_kind"]) for row in rows] == [
        ("cbs", "sender", "connection-end"),
        ("cbs", "receiver", "connection-end"),
    ]


def test_a_handle_is_free_again_after_detach(tmp_path: Path) -> None:
    talk = session().attached("a").transfer(CLIENT, 0)
    for side in (CLIENT, SERVER):
        talk.say(side, "detach", handle=0, closed=True)
    talk.attached("b").transfer(CLIENT, 1).closed()
    tables = talk.tables(tmp_path)
    assert [(row["name"], row["transfer_count"]) for row in tables["links"]] == [("a", 1), ("b", 1)]
    assert not tables["problems"]


def test_attach_with_a_handle_in_use_is_named(tmp_path: Path) -> None:
    codes = session().attached("a").attached("b").closed().tables(tmp_path).problem_codes()
    assert codes == {"state10.handle_in_use": 2}


def test_each_side_is_the_authority_on_its_own_terminus(tmp_path: Path) -> None:
    """§2.6.3: the source is as the sender states it, the target as the receiver does."""
    talk = session()
    asked = {
        "source": composite("source", address="asked-source"),
        "target": composite("target", address="asked-target"),
    }
    real = {
        "source": composite("source", address="real-source"),
        "target": composite("target", address="real-target"),
    }
    talk.say(CLIENT, "attach", name="l", handle=0, role=RECEIVER, **asked)
    talk.say(SERVER, "attach", name="l", handle=0, role=SENDER, initial_delivery_count=0, **real)
    (row,) = talk.closed().tables(tmp_path)["links"]
    assert (row["source_address"], row["target_address"]) == ("real-source", "asked-target")
    assert row["address"] == "real-source"
    details = json.loads(row["details"])
    assert details["client"]["source"]["address"] == "asked-source"
    assert details["server"]["target"]["address"] == "real-target"


def test_settle_modes_are_those_of_the_side_that_keeps_them(tmp_path: Path) -> None:
    talk = session()
    talk.say(CLIENT, "attach", name="l", handle=0, role=SENDER, snd_settle_mode=0,
             rcv_settle_mode=1, initial_delivery_count=0)  # fmt: skip
    talk.say(SERVER, "attach", name="l", handle=0, role=RECEIVER, snd_settle_mode=2,
             rcv_settle_mode=0)  # fmt: skip
    (row,) = talk.closed().tables(tmp_path)["links"]
    assert (row["snd_settle_mode"], row["rcv_settle_mode"]) == ("unsettled", "first")
    assert '"rcv-settle-mode":"second"' in row["details"]


def test_settle_modes_have_defaults(tmp_path: Path) -> None:
    """§2.7.3: mixed and first when nothing is said."""
    (row,) = session().attached().closed().tables(tmp_path)["links"]
    assert (row["snd_settle_mode"], row["rcv_settle_mode"]) == ("mixed", "first")


def test_the_smaller_max_message_size_counts_and_zero_is_no_limit(tmp_path: Path) -> None:
    talk = session()
    for name, sizes, handle in (("a", (0, 4096), 0), ("b", (0, None), 1), ("c", (10, 5), 2)):
        for side, role, size in ((CLIENT, SENDER, sizes[0]), (SERVER, RECEIVER, sizes[1])):
            talk.say(side, "attach", name=name, handle=handle, role=role, max_message_size=size,
                     initial_delivery_count=0)  # fmt: skip
    rows = talk.closed().tables(tmp_path)["links"]
    assert [row["max_message_size"] for row in rows] == [4096, None, 5]


def test_dynamic_nodes_get_the_address_that_the_owner_gives(tmp_path: Path) -> None:
    """§3.5.3: the client asks, the server names."""
    talk = session()
    talk.say(CLIENT, "attach", name="l", handle=0, role=RECEIVER,
             source=composite("source", dynamic=True))  # fmt: skip
    talk.say(SERVER, "attach", name="l", handle=0, role=SENDER, initial_delivery_count=0,
             source=composite("source", address="temp-1", dynamic=True))  # fmt: skip
    (row,) = talk.closed().tables(tmp_path)["links"]
    assert (row["is_dynamic"], row["address"]) == (True, "temp-1")


def test_a_refused_link_has_no_terminus_and_says_why(tmp_path: Path) -> None:
    """§2.6.3: a null terminus, then a detach with the error."""
    error = composite("error", condition="amqp:not-found", description="no such node")
    talk = session()
    talk.say(CLIENT, "attach", name="l", handle=0, role=RECEIVER,
             source=composite("source", address="q"))  # fmt: skip
    talk.say(SERVER, "attach", name="l", handle=0, role=SENDER, initial_delivery_count=0)
    talk.say(SERVER, "detach", handle=0, closed=True, error=error)
    talk.say(CLIENT, "detach", handle=0, closed=True).closed()
    (row,) = talk.tables(tmp_path)["links"]
    assert (row["end_condition"], row["end_reason"]) == ("amqp:not-found", "no such node")
    assert (row["end_kind"], row["end_initiator"]) == ("closed", "server")
    details = json.loads(row["details"])
    assert "source" in details["client"]
    assert "source" not in details.get("server", {})


def test_a_link_stolen_by_a_second_attach(tmp_path: Path) -> None:
    """§2.6.1: the link goes to the new session; the old endpoint learns it by `stolen`."""
    talk = Dialogue().opened().begun(0).begun(1).attached("l", channel=0).attached("l", channel=1)
    error = composite("error", condition="amqp:link:stolen")
    talk.say(SERVER, "detach", 0, handle=0, closed=True, error=error)
    talk.say(CLIENT, "detach", 0, handle=0, closed=True).closed()
    tables = talk.tables(tmp_path)
    found = {row["session_id"]: row for row in tables["links"]}
    assert (found[1]["end_kind"], found[1]["end_condition"]) == ("stolen", "amqp:link:stolen")
    assert (found[1]["end_initiator"], found[2]["end_kind"]) == ("server", "connection-end")
    assert not tables["problems"]


def test_messages_and_their_body_octets_are_counted_by_link(tmp_path: Path) -> None:
    talk = session().attached("a", handle=0).attached("b", handle=1)
    for number, (handle, size) in enumerate([(0, 10), (1, 200), (0, 3)]):
        talk.transfer(CLIENT, number, handle=handle, payload=message(b"x" * size))
    found = {row["name"]: row for row in talk.closed().tables(tmp_path)["links"]}
    assert (found["a"]["transfer_count"], found["a"]["body_bytes"]) == (2, 13)
    assert (found["b"]["transfer_count"], found["b"]["body_bytes"]) == (1, 200)


def test_a_stolen_link_that_nobody_detaches_was_ended_by_the_thief(tmp_path: Path) -> None:
    talk = Dialogue().opened().begun(0).begun(1).attached("l", channel=0).attached("l", channel=1)
    first, _ = sorted(talk.closed().tables(tmp_path)["links"], key=lambda row: row["link_id"])
    assert (first["end_kind"], first["end_initiator"]) == ("stolen", "client")


def resumable(talk: Dialogue, unsettled: dict | None = None, **given: object) -> Dialogue:
    source = composite("source", address="q", expiry_policy="never")
    maps = {} if unsettled is None else {"unsettled": guess(STANDARD.types, unsettled)}
    return talk.attached("l", SENDER, source=source, **maps, **given)


def test_resumed_deliveries_are_tied_to_their_first_attempt(tmp_path: Path) -> None:
    """§2.6.13: detached, attached again, and sent again with resume=true and the same tag."""
    talk = resumable(session()).credit(SERVER, 10)
    talk.transfer(CLIENT, 0, delivery_tag=b"one").transfer(CLIENT, 1, delivery_tag=b"two")
    for side in (CLIENT, SERVER):
        talk.say(side, "detach", handle=0)
    resumable(talk, {b"one": None, b"two": composite("accepted")})
    talk.transfer(CLIENT, 2, delivery_tag=b"one", resume=True).settle(SERVER, RECEIVER, 2).closed()
    tables = talk.tables(tmp_path)
    rows = {(row["delivery_id"], row["is_resumed"]): row for row in tables["transfers"]}
    again, first = rows[(2, True)], rows[(0, False)]
    assert (again["relation"], again["related_transfer_id"]) == ("resume-of", first["transfer_id"])
    assert (again["outcome"], first["outcome"]) == ("accepted", None)
    first_link, second_link = tables["links"]
    assert first_link["end_kind"] == "detached"
    assert json.loads(second_link["details"])["resumes_link_id"] == first_link["link_id"]
    # The map told a state of the second one that no disposition had told.
    assert rows[(1, False)]["outcome_ts_ns"] is not None


def test_unsettled_maps_are_shown(tmp_path: Path) -> None:
    talk = resumable(session(), {b"t": composite("received", section_number=1, section_offset=2)})
    (row,) = talk.closed().tables(tmp_path)["links"]
    shown = json.loads(row["details"])["client"]["unsettled"]
    assert shown == {
        "$map": [
            [{"$binary": "74"}, {"$type": "received", "section-number": 1, "section-offset": 2}]
        ]
    }


def test_unanswered_attach(tmp_path: Path) -> None:
    talk = session().say(CLIENT, "attach", name="l", handle=0, role=SENDER,
                         initial_delivery_count=0).closed()  # fmt: skip
    (row,) = talk.tables(tmp_path)["links"]
    assert (row["established_ts_ns"], row["server_handle"]) == (None, None)


def test_links_beyond_the_limit_are_written_not_lost(tmp_path: Path, monkeypatch: object) -> None:
    talk = session()
    for number in range(40):
        talk.attached(f"l{number}", handle=number)
    monkeypatch.setattr(registry, "MAX_LINKS", 16)  # type: ignore[attr-defined]
    tables = talk.closed().tables(tmp_path)
    assert sorted(row["name"] for row in tables["links"]) == sorted(f"l{n}" for n in range(40))
    assert tables.problem_codes()["state10.limit"] == 1


def test_links_are_written_as_they_end(tmp_path: Path) -> None:
    """Connections live for weeks and may open a link per message."""
    talk = session()
    for number in range(50):
        talk.attached(f"l{number}")
        for side in (CLIENT, SERVER):
            talk.say(side, "detach", handle=0, closed=True)
    rows = talk.closed().tables(tmp_path)["links"]
    assert [row["link_id"] for row in rows] == list(range(1, 51))
    assert {row["end_kind"] for row in rows} == {"closed"}
