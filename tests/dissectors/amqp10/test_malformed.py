"""Malformed frames and messages: a named problem for what is wrong, and everything around it is
read as usual."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from dissectors.amqp10.frames import encode_frame
from tests.dissectors.amqp10.dialogue import (
    CLIENT,
    RECEIVER,
    SERVER,
    Dialogue,
    message,
    performative,
    session,
)
from tests.samples import sample
from tests.tables import dissect


def frame(octets: str, channel: int = 0) -> bytes:
    return encode_frame(bytes.fromhex(octets.replace(" ", "")), channel)


#: A performative by hand, what is wrong with it, and what its row still shows.
FRAMES = {
    "a string that is no UTF-8": (
        "005310 c00603 a101ff 43 43",
        {"type10.bad_text"},
        "open",
    ),
    "a mandatory field that is missing": ("005310 45", {"composite10.missing_field"}, "open"),
    "a field of another type": ("005310 c00302 43 43", {"composite10.wrong_type"}, "open"),
    "a boolean that is neither": (
        "005316 c00503 43 5602 40",
        {"type10.bad_boolean"},
        "detach",
    ),
    "more fields than there are": ("005317 c00403 404041", {"composite10.extra_field"}, "end"),
    "a list that counts wrong": ("005317 c00205 40", {"type10.bad_count"}, "end"),
    "an unknown performative": ("00537f 45", {"frame10.unknown_performative"}, "unknown"),
    "no performative": ("a1026869", {"frame10.unknown_performative"}, "unknown"),
    "a section": ("00537545", {"frame10.unknown_performative"}, "unknown"),
    "an unknown format code": (
        "005318 c00301 3f00",
        None,
        "close",
    ),
}


@pytest.mark.parametrize("what", FRAMES)
def test_a_malformed_performative_is_named_and_the_rest_goes_on(tmp_path: Path, what: str) -> None:
    octets, codes, name = FRAMES[what]
    talk = Dialogue().opened().octets(CLIENT, frame(octets)).begun(1).closed()
    tables = talk.tables(tmp_path)
    found = set(tables.problem_codes())
    assert found
    assert "frame.bug" not in found
    if codes is not None:
        assert codes & found, found
    odd = [r for r in tables["frames"] if r["status"] in ("malformed", "unknown")]
    assert [r["name"] for r in odd] == [name]
    assert tables.names()["begin"] == 2


def test_a_link_to_what_is_no_target_has_no_address(tmp_path: Path) -> None:
    """The target is an outcome: once, this ended the dissection of a capture with snapped
    packets, and was a bug's row in others."""
    attach = frame("005312 c00d07 a1016c 43 42 404040 00532445", 1)
    talk = Dialogue().opened().begun(1).octets(CLIENT, attach).closed()
    tables = talk.tables(tmp_path)
    assert not [code for code in tables.problem_codes() if code.startswith("frame.")]
    assert [(r["name"], r["address"]) for r in tables["links"]] == [("l", None)]


def test_a_bad_value_does_not_hide_its_neighbours(tmp_path: Path) -> None:
    """A hostname that is no text; the fields behind it are read."""
    body = "005310 c00e04 a10163 a102ffff 7000001000 60000a".replace(" ", "")
    length = (len(body) - 8) // 2
    body = body[:8] + f"{length - 1:02x}" + body[10:]
    talk = (
        Dialogue().header(CLIENT).header(SERVER).octets(CLIENT, encode_frame(bytes.fromhex(body)))
    )
    talk.say(SERVER, "open", container_id="s").closed()
    tables = talk.tables(tmp_path)
    (row,) = tables["connections"]
    assert (row["client_container"], row["vhost"]) == ("c", None)
    assert (row["frame_max"], row["channel_max"]) == (4096, 10)
    assert tables.problem_codes() == {"type10.bad_text": 1}
    shown = json.loads(next(r["fields"] for r in tables["frames"] if r["name"] == "open"))
    assert shown["hostname"] == {"$malformed": "type10.bad_text", "raw": "a102ffff"}


MESSAGES = {
    "no section": (b"\xa1\x02hi", "message10.unknown_section"),
    "sections out of order": (
        message(b"a") + bytes.fromhex("00537045"),
        "message10.section_order",
    ),
    "two kinds of body": (message(b"a") + bytes.fromhex("00537740"), "message10.mixed_body"),
    "two values": (bytes.fromhex("0053774000537740"), "message10.mixed_body"),
    "cut": (message(b"a" * 50)[:-10], "type10.truncated"),
    "an unknown format code": (bytes.fromhex("0053773f"), "type10.unknown_constructor"),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_a_malformed_message_is_named_and_its_delivery_goes_on(tmp_path: Path, what: str) -> None:
    payload, code = MESSAGES[what]
    talk = session().attached().transfer(CLIENT, 0, payload=payload).transfer(CLIENT, 1)
    tables = talk.settle(SERVER, RECEIVER, 0, 1).closed().tables(tmp_path)
    assert code in tables.problem_codes()
    assert [row["outcome"] for row in tables["transfers"]] == ["accepted", "accepted"]


def test_octets_of_another_message_format_are_not_judged(tmp_path: Path) -> None:
    """§2.8.11: only the standard's own format has sections."""
    talk = session().attached().transfer(CLIENT, 0, payload=b"not ours", message_format=0x500)
    tables = talk.closed().tables(tmp_path)
    (row,) = tables["transfers"]
    assert row["body_bytes"] == 8
    assert not tables["problems"]


def test_sections_with_symbolic_descriptors(tmp_path: Path) -> None:
    symbol = b"amqp:properties:list"
    properties = b"\x00\xa3" + bytes((len(symbol),)) + symbol + bytes.fromhex("c00501a1026964")
    talk = session().attached().transfer(CLIENT, 0, payload=properties + message(b"x")).closed()
    tables = talk.tables(tmp_path)
    assert [row["message_id"] for row in tables["transfers"]] == ["id"]
    assert not tables["problems"]


@pytest.mark.parametrize("name", ["12b", "17", "19a"])
def test_mutated_samples_never_break_the_decoder(tmp_path: Path, name: str) -> None:
    """Single octets changed at random: no bug, no byte unaccounted for."""
    chance = random.Random(name)
    with open(sample(name), "rb") as file:
        original = file.read()
    for number in range(6):
        octets = bytearray(original)
        for _ in range(40):
            at = chance.randrange(24, len(octets))
            octets[at] = chance.randrange(256)
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(octets)
        tables = dissect(str(path))
        assert "frame.bug" not in tables.problem_codes()
        for row in tables["connections"]:
            parts = ("decoded_bytes", "skipped_bytes", "missing_bytes", "leftover_bytes")
            assert sum(row[p] for p in parts) == row["bytes_c2s"] + row["bytes_s2c"]


def test_mutated_frames_never_break_the_decoder(tmp_path: Path) -> None:
    """The same inside frames only, so that every one is still cut and read."""
    chance = random.Random(10)
    bodies = [
        performative("attach", name="l", handle=0, role=True, unsettled={}, properties={"a": 1}),
        performative("transfer", handle=0, delivery_id=0, delivery_tag=b"t") + message(b"m"),
        performative("flow", incoming_window=1, next_outgoing_id=0, outgoing_window=1, handle=0,
                     delivery_count=1, link_credit=5),
        performative("disposition", role=True, first=0, last=5, settled=True),
        performative("begin", next_outgoing_id=0, incoming_window=1, outgoing_window=1),
        performative("detach", handle=0, closed=True),
    ]  # fmt: skip
    talk = session().attached()
    for _ in range(1500):
        body = bytearray(chance.choice(bodies))
        for _ in range(chance.randrange(1, 4)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        talk.octets(chance.randrange(2), encode_frame(bytes(body), chance.randrange(2)))
    tables = talk.tables(tmp_path)
    assert "frame.bug" not in tables.problem_codes()
    assert sum(tables.names().values()) == 1500 + 8
