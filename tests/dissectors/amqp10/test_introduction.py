"""The elements of AMQP 1.0 as its introduction by one of its authors teaches them, slide by slide:
each test is named after the element and shows it in the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dissectors.amqp10.composites import STANDARD, Vocabulary
from dissectors.amqp10.definitions import ARCHETYPES, DEFINITIONS, RESTRICTED
from dissectors.amqp10.frames import SASL_PROTOCOL, encode_frame
from dissectors.amqp10.message import decode_message, encode_section
from dissectors.amqp10.schema import Definition, Field
from dissectors.amqp10.types import FINAL, Described
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
from tests.dissectors.amqp10.proton_oracle import proton_tree
from tests.tables import Tables


def only(tables: Tables, table: str) -> dict[str, Any]:
    (row,) = tables[table]
    return row


def granted(tables: Tables) -> list[int]:
    return [r["granted"] for r in tables["credits"] if r["event"] == "flow" and r["granted"]]


# -- connections, security, sessions, links ---------------------------------------------------


def test_connection(tmp_path: Path) -> None:
    """OPEN(container-id, hostname=ep.example.com) ⇄ OPEN(max-frame-size=262144), CLOSE ⇄ CLOSE."""
    talk = Dialogue().header(CLIENT).header(SERVER)
    talk.say(CLIENT, "open", container_id="0", hostname="ep.example.com")
    talk.say(SERVER, "open", container_id="0", max_frame_size=262144)
    row = only(talk.closed().tables(tmp_path), "connections")
    assert (row["vhost"], row["frame_max"]) == ("ep.example.com", 262144)
    assert (row["close_initiator"], row["tcp_end"]) == ("client", "fin")


def test_security_layers(tmp_path: Path) -> None:
    """SASL is negotiated by its own preamble (protocol id 3) before that of AMQP; EXTERNAL binds
    the client's TLS identity."""
    talk = Dialogue().header(CLIENT, SASL_PROTOCOL).header(SERVER, SASL_PROTOCOL)
    talk.say(SERVER, "sasl-mechanisms", sasl_server_mechanisms=["EXTERNAL"])
    talk.say(CLIENT, "sasl-init", mechanism="EXTERNAL", hostname="ep.example.com")
    talk.say(SERVER, "sasl-outcome", code=0).opened().closed()
    tables = talk.tables(tmp_path)
    row = only(tables, "connections")
    assert (row["mechanism"], row["auth_outcome"]) == ("EXTERNAL", "ok")
    headers = [json.loads(r["fields"]) for r in tables["frames"] if r["name"] == "protocol-header"]
    assert [h["protocol"] for h in headers] == ["sasl", "sasl", "amqp", "amqp"]


def test_session(tmp_path: Path) -> None:
    """[CH3] BEGIN(remote-channel=null) ⇄ [CH7] BEGIN(remote-channel=3), END ⇄ END."""
    talk = Dialogue().opened().begun(3, remote=7).say(CLIENT, "end", 3).say(SERVER, "end", 7)
    row = only(talk.closed().tables(tmp_path), "sessions")
    assert (row["channel"], row["remote_channel"], row["end_initiator"]) == (3, 7, "client")
    assert row["established_ts_ns"] > row["begin_ts_ns"]


def test_link(tmp_path: Path) -> None:
    """ATTACH(name=N, handle=1, role=sender, A → B) ⇄ ATTACH(name=N, handle=2, role=receiver)."""
    termini = {
        "source": composite("source", address="A"),
        "target": composite("target", address="B"),
    }
    talk = session().attached("N", SENDER, 1, remote=2, **termini)
    for side, handle in ((CLIENT, 1), (SERVER, 2)):
        talk.say(side, "detach", handle=handle, closed=True)
    row = only(talk.closed().tables(tmp_path), "links")
    assert (row["name"], row["client_handle"], row["server_handle"]) == ("N", 1, 2)
    assert (row["source_address"], row["target_address"], row["role"]) == ("A", "B", "sender")
    assert row["end_kind"] == "closed"


def test_links_in_either_direction_by_either_peer(tmp_path: Path) -> None:
    talk = session().say(SERVER, "attach", name="N", handle=0, role=RECEIVER)
    talk.say(CLIENT, "attach", name="N", handle=0, role=SENDER, initial_delivery_count=0).closed()
    row = only(talk.tables(tmp_path), "links")
    assert (row["role"], row["begin_ts_ns"] < row["established_ts_ns"]) == ("sender", True)


# -- message transfers -------------------------------------------------------------------------


def test_settlement_at_most_once(tmp_path: Path) -> None:
    """Fire and forget: TRANSFER(settled=true)."""
    talk = session().attached().transfer(CLIENT, 0, settled=True).closed()
    row = only(talk.tables(tmp_path), "transfers")
    assert (row["is_presettled"], row["settle_kind"]) == (True, "presettled")


def test_settlement_at_least_once(tmp_path: Path) -> None:
    """→ TRANSFER(settled=false), ← DISPOSITION(settled=true, state)."""
    talk = session().attached().transfer(CLIENT, 0, settled=False).settle(SERVER, RECEIVER, 0)
    row = only(talk.closed().tables(tmp_path), "transfers")
    assert (row["is_presettled"], row["settled_by"], row["outcome"]) == (
        False,
        "receiver",
        "accepted",
    )


def test_settlement_exactly_once(tmp_path: Path) -> None:
    """Both sides hold the state until the other is known to have it."""
    talk = session().attached(rcv_settle_mode=1).transfer(CLIENT, 0, settled=False)
    talk.settle(SERVER, RECEIVER, 0, settled=False).settle(CLIENT, SENDER, 0).closed()
    row = only(talk.tables(tmp_path), "transfers")
    assert (row["outcome"], row["settled_by"]) == ("accepted", "sender")


STATES = {
    "received": composite("received", section_number=0, section_offset=0),
    "accepted": composite("accepted"),
    "rejected": composite("rejected", error=composite("error", condition="amqp:not-allowed")),
    "released": composite("released"),
    "modified": composite("modified", delivery_failed=True, undeliverable_here=True),
}


@pytest.mark.parametrize("name", STATES)
def test_delivery_states(tmp_path: Path, name: str) -> None:
    """One intermediary state, four terminal ones."""
    is_terminal = name != "received"
    talk = session().attached().transfer(CLIENT, 0)
    talk.settle(SERVER, RECEIVER, 0, state=STATES[name], settled=is_terminal)
    tables = talk.tables(tmp_path)
    assert only(tables, "transfers")["outcome"] == (name if is_terminal else None)
    stated = next(r for r in tables["frames"] if r["name"] == "disposition")
    assert stated["outcome"] == name


def test_recovering_links(tmp_path: Path) -> None:
    """ATTACH with what each side still has unsettled, then TRANSFER(resume=true)."""
    lasting = composite("source", address="A", expiry_policy="never")
    maps = [
        {b"1": None, b"2": None, b"3": composite("accepted"), b"4": None},
        {b"1": composite("released"), b"2": None, b"3": composite("accepted")},
    ]
    talk = session().attached("N", SENDER, source=lasting)
    for number in range(1, 5):
        talk.transfer(CLIENT, number, delivery_tag=b"%d" % number)
    for side in (CLIENT, SERVER):
        talk.say(side, "detach", handle=0)
    for side, role in ((CLIENT, SENDER), (SERVER, RECEIVER)):
        pairs = tuple(
            (FINAL.make("binary", tag), FINAL.make("null", None) if state is None else state)
            for tag, state in maps[side].items()
        )
        talk.say(side, "attach", name="N", handle=0, role=role, source=lasting,
                 unsettled=FINAL.make("map", pairs), initial_delivery_count=4)  # fmt: skip
    talk.transfer(CLIENT, 5, delivery_tag=b"2", resume=True).settle(SERVER, RECEIVER, 5).closed()
    tables = talk.tables(tmp_path)
    (again,) = (r for r in tables["transfers"] if r["is_resumed"])
    first = next(r for r in tables["transfers"] if r["delivery_id"] == 2)
    assert (again["relation"], again["related_transfer_id"]) == ("resume-of", first["transfer_id"])
    assert len(tables["transfers"]) == 5
    details = json.loads(tables["links"][1]["details"])
    assert len(details["client"]["unsettled"]["$map"]) == 4
    assert len(details["server"]["unsettled"]["$map"]) == 3


def test_request_and_response(tmp_path: Path) -> None:
    """Two links; the reply names its request by correlation-id, the request its reply-to."""
    talk = session().attached("requests", SENDER, 0).attached("replies", RECEIVER, 1)
    request = {"message-id": "m-1", "reply-to": "C"}
    talk.transfer(CLIENT, 0, handle=0, payload=message(properties=request))
    reply = message(properties={"correlation-id": "m-1", "to": "C"})
    talk.transfer(SERVER, 0, handle=1, payload=reply).closed()
    tables = talk.tables(tmp_path)
    rows = {row["direction"]: row for row in tables["transfers"]}
    assert rows["c2s"]["message_id"] == rows["s2c"]["correlation_id"] == "m-1"
    assert rows["c2s"]["reply_to"] == rows["s2c"]["to"] == "C"


# -- flow control ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["open", "begin", "attach", "flow", "transfer", "disposition", "detach", "end", "close"],
)
def test_body_frame_types(name: str) -> None:
    """The nine of them, in the order of their descriptors."""
    definition = STANDARD.by_name[name]
    assert "frame" in definition.provides
    assert definition.code == 0x10 + [d.name for d in DEFINITIONS].index(name)
    assert definition.symbol == f"amqp:{name}:list"


def test_session_flow_control(tmp_path: Path) -> None:
    """Transfers decrement the window; none left suspends them; FLOW opens it again."""
    talk = session(incoming_window=2).attached().transfer(CLIENT, 0).transfer(CLIENT, 1)
    talk.say(SERVER, "flow", next_incoming_id=2, incoming_window=2, next_outgoing_id=0,
             outgoing_window=2).closed()  # fmt: skip
    rows = talk.tables(tmp_path)["credits"]
    assert [(r["event"], r["server_incoming_window"]) for r in rows[-2:]] == [
        ("window-exhausted", 0),
        ("flow", 2),
    ]


def test_link_flow_control(tmp_path: Path) -> None:
    """Transfers decrement the credit; only the receiver can raise it."""
    talk = session().attached().credit(SERVER, 1).transfer(CLIENT, 0).credit(SERVER, 4, 1).closed()
    tables = talk.tables(tmp_path)
    assert granted(tables) == [1, 4]
    assert [r["sender_credit"] for r in tables["credits"] if r["event"] == "credit-exhausted"] == [
        0
    ]


def test_two_flow_controls_do_not_mix(tmp_path: Path) -> None:
    """Credit without window, and window without credit: each stall has its own event."""
    talk = session(incoming_window=1).attached("a", handle=0).attached("b", handle=1)
    talk.credit(SERVER, 5, handle=0, incoming_window=1)
    talk.transfer(CLIENT, 0, handle=0)
    talk.credit(SERVER, 1, handle=1, next_incoming_id=1, incoming_window=9)
    talk.transfer(CLIENT, 1, handle=1).closed()
    events = [
        (r["event"], r["link_id"], r["sender_credit"], r["server_incoming_window"])
        for r in talk.tables(tmp_path)["credits"]
        if r["event"].endswith("exhausted")
    ]
    assert events == [("window-exhausted", None, None, 0), ("credit-exhausted", 2, 0, 8)]


def receiver() -> Dialogue:
    return session().attached(role=RECEIVER)


def test_api_pattern_imperative_receive(tmp_path: Path) -> None:
    """receiver.Receive(): one credit at a time."""
    talk = receiver()
    for number in range(3):
        talk.credit(CLIENT, 1, number).transfer(SERVER, number)
    assert granted(talk.closed().tables(tmp_path)) == [1, 1, 1]


def test_api_pattern_reactive_subscribe(tmp_path: Path) -> None:
    """observer.Subscribe(callback): credit for as many as can be worked on at once."""
    talk = receiver().credit(CLIENT, 3)
    for number in range(3):
        talk.transfer(SERVER, number).settle(CLIENT, RECEIVER, number)
        talk.credit(CLIENT, 3, number + 1)
    tables = talk.closed().tables(tmp_path)
    assert granted(tables) == [3, 1, 1, 1]
    assert not [r for r in tables["credits"] if r["event"] == "credit-exhausted"]


def test_api_pattern_throttled_send(tmp_path: Path) -> None:
    """queueClient.Send(): the queue's credit holds the sender back."""
    talk = session().attached().credit(SERVER, 2).transfer(CLIENT, 0).transfer(CLIENT, 1)
    tables = talk.wait(500).credit(SERVER, 2, 2).closed().tables(tmp_path)
    stalled, resumed = tables["credits"][-2:]
    assert stalled["event"] == "credit-exhausted"
    assert resumed["ts_ns"] - stalled["ts_ns"] >= 500_000_000


def test_api_pattern_prefetch(tmp_path: Path) -> None:
    """receiver.SetPrefetch(10): topped up when half is used."""
    talk = receiver().credit(CLIENT, 10)
    for number in range(5):
        talk.transfer(SERVER, number)
    tables = talk.credit(CLIENT, 10, 5).closed().tables(tmp_path)
    assert granted(tables) == [10, 5]
    assert only(tables, "links")["initial_credit"] == 10


def test_api_pattern_timeout_by_drain(tmp_path: Path) -> None:
    """FLOW(link-credit=1) … FLOW(drain=true): what is pending completes, the rest is given up."""
    talk = receiver().credit(CLIENT, 1).wait(100).credit(CLIENT, 1, drain=True)
    tables = talk.credit(SERVER, 0, 1, drain=True).closed().tables(tmp_path)
    assert granted(tables) == [1, -1]
    assert tables["credits"][-1]["sender_credit"] == 0


def test_api_pattern_pause_by_zero_credit(tmp_path: Path) -> None:
    """FLOW(link-credit=0) stops the link at once; more credit resumes it."""
    talk = receiver().credit(CLIENT, 1).credit(CLIENT, 0).credit(CLIENT, 2).closed()
    assert granted(talk.tables(tmp_path)) == [1, -1, 2]


# -- types and messages ------------------------------------------------------------------------

#: Octets of data by type and format code, as the table of fixed sizes shows them.
FIXED_SIZES = {
    "null": {0x40: 0},
    "boolean": {0x41: 0, 0x42: 0, 0x56: 1},
    "ubyte": {0x50: 1},
    "ushort": {0x60: 2},
    "uint": {0x43: 0, 0x52: 1, 0x70: 4},
    "ulong": {0x44: 0, 0x53: 1, 0x80: 8},
    "byte": {0x51: 1},
    "short": {0x61: 2},
    "int": {0x54: 1, 0x71: 4},
    "long": {0x55: 1, 0x81: 8},
    "float": {0x72: 4},
    "double": {0x82: 8},
    "decimal32": {0x74: 4},
    "decimal64": {0x84: 8},
    "decimal128": {0x94: 16},
    "char": {0x73: 4},
    "timestamp": {0x83: 8},
    "uuid": {0x98: 16},
}


@pytest.mark.parametrize("name", FIXED_SIZES)
def test_fixed_size_primitives(name: str) -> None:
    rows = {row.code: row.width for row in FINAL.by_type[name]}
    assert rows == FIXED_SIZES[name]


@pytest.mark.parametrize("name", ["binary", "string", "symbol"])
def test_variable_size_primitives(name: str) -> None:
    """One octet of size up to 255 octets of data, four beyond."""
    data: Any = b"x" if name == "binary" else "x"
    assert FINAL.encode(FINAL.make(name, data * 255))[1] == 255
    assert FINAL.encode(FINAL.make(name, data * 256))[1:5] == b"\x00\x00\x01\x00"


def test_array_is_monomorphic_list_and_map_are_not() -> None:
    array = FINAL.make_array("string", ["a", "b"])
    assert FINAL.encode(array).hex() == "e00602a101610162"
    mixed = FINAL.make("list", (FINAL.make("uint", 0), FINAL.make("string", "a")))
    assert FINAL.encode(mixed).hex() == "c0050243a10161"
    pairs = FINAL.make("map", ((FINAL.make("string", "a"), FINAL.make("uint", 1)),))
    assert FINAL.encode(pairs).hex() == "c10602a101615201"


def test_composite_type() -> None:
    """The list of `properties` in schema order, trailing elements left out."""
    octets = FINAL.encode(composite("properties", message_id="i", subject="s"))
    assert octets.hex() == "005373" + "c00904" + "a10169" + "4040" + "a10173"
    assert proton_tree(octets)[2] == (
        "list",
        [("string", "i"), ("null", None), ("null", None), ("string", "s")],
    )


def test_restricted_type(tmp_path: Path) -> None:
    """sender-settle-mode is a ubyte with named choices, seconds a uint without."""
    rows = {row.name: row for row in RESTRICTED}
    assert rows["sender-settle-mode"].source == "ubyte"
    assert rows["sender-settle-mode"].choices == {0: "unsettled", 1: "settled", 2: "mixed"}
    assert (rows["seconds"].source, rows["seconds"].choices) == ("uint", {})
    talk = session().attached(snd_settle_mode=1).closed()
    assert only(talk.tables(tmp_path), "links")["snd_settle_mode"] == "settled"


def test_message_sections(tmp_path: Path) -> None:
    """Bare message inside, annotations around it; all of them reach the row."""
    sections = {
        "header": {"durable": True, "priority": 9, "ttl": 60_000},
        "delivery_annotations": {"x-route": "a"},
        "message_annotations": {"x-opt-seq": 5},
        "properties": {"message-id": "m", "group-sequence": 3},
        "application_properties": {"tenant": "t"},
        "footer": {"x-crc": 7},
    }
    talk = session().attached().transfer(CLIENT, 0, payload=message(b"body", **sections)).closed()
    row = only(talk.tables(tmp_path), "transfers")
    assert (row["is_durable"], row["priority"], row["ttl_ms"]) == (True, 9, 60_000)
    assert (row["message_id"], row["body_kind"], row["body_bytes"]) == ("m", "data", 4)
    assert json.loads(row["properties"]) == {
        "delivery-annotations": {"x-route": "a"},
        "message-annotations": {"x-opt-seq": 5},
        "properties": {"group-sequence": 3},
        "application-properties": {"tenant": "t"},
        "footer": {"x-crc": 7},
    }


BODIES = {
    "data": (encode_section(STANDARD, "data", b"raw"), 3),
    "sequence": (encode_section(STANDARD, "amqp-sequence", [1, 2]), 7),
    "value": (encode_section(STANDARD, "amqp-value", None), 1),
}


@pytest.mark.parametrize("kind", BODIES)
def test_message_body(tmp_path: Path, kind: str) -> None:
    """One or more data, one or more sequences, or a single value, null included."""
    section, size = BODIES[kind]
    several = section * (1 if kind == "value" else 2)
    talk = session().attached().transfer(CLIENT, 0, payload=several).closed()
    tables = talk.tables(tmp_path)
    row = only(tables, "transfers")
    assert row["body_kind"] == kind
    assert row["body_bytes"] == (size if kind == "value" else 2 * size)
    assert not tables["problems"]


BOOKS = [
    ("Normal Accidents", ["Charles Perrow"], "978-0-691-00412-9"),
    ("Rockets and People, V3", ["Boris Chertok", "Asif Siddiqi"], "978-0-160-81733-5"),
]


def test_json_to_amqp_without_schema() -> None:
    """A map of lists and maps, the authors an array of strings."""
    books = tuple(
        FINAL.make("map", tuple(
            (FINAL.make("string", key), value)
            for key, value in (
                ("title", FINAL.make("string", title)),
                ("authors", FINAL.make_array("string", authors)),
                ("isbn", FINAL.make("string", isbn)),
            )
        ))
        for title, authors, isbn in BOOKS
    )  # fmt: skip
    whole = FINAL.make("map", ((FINAL.make("string", "books"), FINAL.make("list", books)),))
    octets = FINAL.encode(whole)
    assert FINAL.decode(octets, 0, len(octets), []) == whole
    _, [(_, (_, shown))] = proton_tree(octets)
    assert [dict(book[1])[("string", "title")] for book in shown] == [
        ("string", title) for title, _, _ in BOOKS
    ]


BOOK = Definition(
    "book",
    "example:book:list",
    0x00000003_00000002,
    (
        Field("title", "string", mandatory=True),
        Field("authors", "string", multiple=True),
        Field("isbn", "string"),
    ),
)


@pytest.mark.parametrize("book", BOOKS)
def test_json_to_amqp_with_schema(book: tuple[str, list[str], str]) -> None:
    """The composite `book` with code 0x00000003:0x00000002: only a row of data here."""
    library = Vocabulary(FINAL, (*DEFINITIONS, BOOK), RESTRICTED, ARCHETYPES)
    title, authors, isbn = book
    value = library.encode("book", {"title": title, "authors": authors, "isbn": isbn})
    octets = FINAL.encode(value)
    assert octets[:10].hex() == "00800000000300000002"
    problems: list = []
    read = library.decode(FINAL.decode(octets, 0, len(octets), problems), problems)
    assert read is not None and not problems
    assert read.fields == {"title": title, "authors": authors, "isbn": isbn}
    # Without the schema it is kept as it is, descriptor and all.
    body = encode_section(STANDARD, "amqp-value", value)
    section = decode_message(STANDARD, body, problems).section("amqp-value")
    assert section is not None and isinstance(section.value.data, Described)
    assert section.value.data.descriptor.data == BOOK.code


def test_wire_footprint(tmp_path: Path) -> None:
    """A transfer of "Hello!" in some forty octets: header, performative, and 11 of message."""
    body = encode_section(STANDARD, "amqp-value", "Hello!")
    assert len(body) == 11
    wide = "005314 c01204 70 00000001 70 00000001 a004 00000001 43"
    header = bytes.fromhex(wide.replace(" ", ""))
    frame = encode_frame(header + body)
    assert (len(header), len(frame)) == (23, 42)
    tables = session().attached("N", handle=1).octets(CLIENT, frame).closed().tables(tmp_path)
    assert not tables["problems"]
    assert only(tables, "transfers")["body_bytes"] == 6
    least = encode_frame(
        performative("transfer", handle=0, delivery_id=0, delivery_tag=b"t") + body
    )
    assert len(least) < len(frame)
