"""What the draft says otherwise than the published 1.0: descriptors, maps, fragments, extents,
transfer-units, low-water marks, transactions, SASL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dissectors.amqp10.draft.encode import encode_draft_frame, make
from dissectors.amqp10.draft.message import make_fragments
from dissectors.amqp10.draft.vocabulary import DRAFT, DRAFT_NUMERIC
from dissectors.amqp10.types import Described, Value
from tests.builders.draft_talk import (
    HEADER,
    RECEIVER,
    SENDER,
    Transcript,
    accepted,
    extent,
    message,
    request,
)
from tests.builders.draft_transcripts import capture
from tests.builders.streams import said_in, without_packet
from tests.builders.talk import Talk, write_pcap
from tests.dissectors.test_samples_ledger import assert_ledger
from tests.tables import Tables, dissect, unlocated

SASL_HEADER = b"AMQP\x03\x01\x00\x00"
LINKAGE = make("linkage", source=make("source", address="q", default_outcome=make("released")),
               target=make("target"))  # fmt: skip


def tables_of(said: Transcript, tmp_path: Path, **options: Any) -> Tables:
    tables = dissect(write_pcap(tmp_path / "a.pcap", said.talk.packets), **options)
    assert_ledger(tables)
    return tables


def receiving(credit: int = 10, transfer_unit: int | None = None, link: str = "l",
              handle: int = 0, said: Transcript | None = None) -> Transcript:  # fmt: skip
    """A client that receives from q: handle 0 on its side, 7 on the broker's."""
    said = said or Transcript(0)
    said.client("attach", name=link, handle=handle, role=RECEIVER, local=LINKAGE,
                transfer_unit=transfer_unit)  # fmt: skip
    said.broker("attach", name=link, handle=handle + 7, role=SENDER, local=LINKAGE, remote=LINKAGE,
                flow_state=make("flow-state", transfer_count=0))  # fmt: skip
    said.client("flow", handle=handle,
                flow_state=make("flow-state", transfer_count=0, link_credit=credit))  # fmt: skip
    return said


def send(said: Transcript, number: int, **fields: Any) -> None:
    given = {"handle": 7, "settled": False, "fragments": message(number, b"x"), **fields}
    said.broker("transfer", delivery_tag=b"%d" % number, transfer_id=number, **given)


# -- encodings ----------------------------------------------------------------------------


def spelt_again(sample: str, respell: Any) -> Talk:
    """A sample's talk with every frame body encoded in another way that means the same."""
    talk = Talk((40001, 5672)).open()
    for side, octets in said_in(sample):
        if octets.startswith(b"AMQP"):
            talk.say(side, octets)
            continue
        value = DRAFT.types.decode(octets, 8, len(octets), [])
        body = DRAFT.types.encode(respell(value))
        talk.say(side, (8 + len(body)).to_bytes(4, "big") + octets[4:8] + body)
    return talk.close()


def numbered(value: Value) -> Value:
    """Every symbolic descriptor that the draft knows as its number."""
    if isinstance(value, Described):
        definition = DRAFT.definition_of(value)
        descriptor = (
            value.descriptor if definition is None else DRAFT_NUMERIC.descriptor(definition)
        )
        return Described(descriptor, numbered(value.data))
    if value.type == "map":
        return DRAFT.types.make("map", tuple((numbered(k), numbered(v)) for k, v in value.data))
    if value.type == "list":
        return DRAFT.types.make("list", tuple(numbered(item) for item in value.data))
    return value


def mapped(value: Value) -> Value:
    """Every composite as a described map of its fields (Book II §3)."""
    if isinstance(value, Described):
        definition = DRAFT.definition_of(value)
        if definition is not None and value.data.type == "list":
            symbol = DRAFT.types.make("symbol", f"amqp:{definition.name}:map")
            pairs = tuple(
                (DRAFT.types.make("symbol", field.name), mapped(item))
                for field, item in zip(definition.fields, value.data.data, strict=False)
                if item.type != "null"
            )
            return Described(symbol, DRAFT.types.make("map", pairs))
        return Described(value.descriptor, mapped(value.data))
    if value.type == "map":
        return DRAFT.types.make("map", tuple((k, mapped(v)) for k, v in value.data))
    if value.type == "list":
        return DRAFT.types.make("list", tuple(mapped(item) for item in value.data))
    return value


@pytest.mark.parametrize("respell", [numbered, mapped])
@pytest.mark.parametrize("sample", ["34a", "34c", "34d", "34e"])
def test_every_spelling_of_composites_means_the_same(sample, respell, tmp_path):
    talk = spelt_again(sample, respell)
    tables = dissect(write_pcap(tmp_path / "a.pcap", talk.packets))
    usual = dissect(write_pcap(tmp_path / "b.pcap", spelt_again(sample, lambda v: v).packets))
    assert tables["connections"][0]["dialect"] == "1.0-draft"
    assert tables["problems"] == []
    for table in ("transfers", "links", "sessions", "credits"):
        assert unlocated(tables[table]) == unlocated(usual[table]), table
    told = [(row["name"], row["fields"]) for row in tables["frames"]]
    assert told == [(row["name"], row["fields"]) for row in usual["frames"]]


def test_utf_16_text(tmp_path):
    """Book II §2.5: strings in UTF-16, short (0xA2) and long (0xB2)."""
    short = Value(DRAFT.types.by_code[0xA2], "queue é")
    long = Value(DRAFT.types.by_code[0xB2], "ü" * 300)
    said = Transcript(0)
    source = make("linkage", source=make("source", address=short))
    said.client("attach", name=long, handle=0, role=RECEIVER, local=source)
    (link,) = tables_of(said, tmp_path)["links"]
    assert (link["name"], link["address"]) == ("ü" * 300, "queue é")


def test_told_apart_from_the_published_version(tmp_path):
    """The same header and the same symbol; the draft's open begins with its options map."""
    draft = encode_draft_frame("open", {"container-id": "a"})
    published = bytes.fromhex("00000020 02000000 00a3") + b"\x0eamqp:open:list" + bytes.fromhex(
        "c0 04 01 a1 01 61 40")[:6]  # fmt: skip
    published = len(published).to_bytes(4, "big") + published[4:]
    for frame, dialect in ((draft, "1.0-draft"), (published, "1.0")):
        talk = Talk().open().say(0, HEADER).say(1, HEADER).say(0, frame).close()
        tables = dissect(write_pcap(tmp_path / "a.pcap", talk.packets))
        (connection,) = tables["connections"]
        assert (connection["dialect"], connection["client_container"]) == (dialect, "a")


# -- messages -----------------------------------------------------------------------------


def test_a_message_in_many_frames_and_fragments(tmp_path):
    """Sections begin and end anywhere; the body is what all data fragments hold together."""
    body = bytes(range(256)) * 3
    sections = {"header": {"priority": 7, "ttl": 5000, "delivery-failures": 2},
                "properties": {"message-id": "m", "to": "t", "subject": "s", "reply-to": "r",
                               "correlation-id": "c", "user-id": b"u", "content-type": "x/y"},
                "data": body, "footer": {"message-attrs": {"k": "v"}}}  # fmt: skip
    said = receiving()
    fragments = make_fragments(sections, max_payload_bytes=50)
    for at in range(0, len(fragments), 4):
        last = at + 4 >= len(fragments)
        first = {"delivery_tag": b"t", "transfer_id": 0} if at == 0 else {}
        said.broker("transfer", handle=7, more=not last, fragments=fragments[at : at + 4], **first)
    tables = tables_of(said, tmp_path, has_payloads=True)
    (row,) = tables["transfers"]
    assert row["frame_count"] == -(-len(fragments) // 4)
    assert (row["body_bytes"], row["body_kind"], row["is_complete"]) == (len(body), "data", True)
    assert tables["payloads"][0]["body"] == body
    assert (row["priority"], row["ttl_ms"], row["is_redelivered"]) == (7, 5000, True)
    columns = ("message_id", "to", "subject", "reply_to", "correlation_id", "user_id")
    assert [row[c] for c in columns] == ["m", "t", "s", "r", "c", "u"]
    assert json.loads(row["properties"])["footer"] == {"message-attrs": {"k": "v"}}
    assert tables["problems"] == []
    assert body.hex()[:40] not in json.dumps([r["fields"] for r in tables["frames"]])


@pytest.mark.parametrize(
    ("section", "content", "kind", "size"),
    [
        ("amqp-data", [DRAFT.types.make("string", "text")], "value", 4),
        ("amqp-data", [DRAFT.types.make("uint", 1), DRAFT.types.make("uint", 2)], "value", 10),
        ("amqp-map", DRAFT.types.make("map", ()), "value", 3),
        ("amqp-list", DRAFT.types.make("list", ()), "sequence", 3),
    ],
)
def test_body_kinds(section, content, kind, size, tmp_path):
    said = receiving()
    send(said, 0, fragments=make_fragments({section: content}))
    (row,) = tables_of(said, tmp_path)["transfers"]
    assert (row["body_kind"], row["body_bytes"]) == (kind, size)


def test_fragments_out_of_place_are_told(tmp_path):
    said = receiving()
    whole = make_fragments({"data": b"0123456789"}, max_payload_bytes=5)
    send(said, 0, fragments=whole[1:])
    send(said, 1, fragments=whole[:1])
    tables = tables_of(said, tmp_path)
    assert tables.problem_codes() == {"message10.bad_fragment": 3}
    assert [row["body_bytes"] for row in tables["transfers"]] == [5, 5]


# -- credit and settlement ----------------------------------------------------------------


def test_credit_counts_transfer_units(tmp_path):
    """Book III §7.3: a payload of S octets uses S/T units, rounded up."""
    said = receiving(credit=10, transfer_unit=100)
    for number, size in enumerate((1, 100, 101, 350)):
        send(said, number, fragments=make_fragments({"data": bytes(size)}))
    said.broker("flow", handle=7, flow_state=make("flow-state", transfer_count=8, available=3))
    rows = tables_of(said, tmp_path)["credits"]
    assert rows[-1]["sender_credit"] == 10 - (1 + 1 + 2 + 4)
    assert rows[-1]["granted"] is None
    assert rows[-1]["available"] == 3


def test_units_of_a_message_in_pieces_and_the_last_unit(tmp_path):
    said = receiving(credit=4, transfer_unit=100)
    fragments = make_fragments({"data": bytes(350)}, max_payload_bytes=120)
    for number, fragment in enumerate(fragments):
        first = {"delivery_tag": b"t", "transfer_id": 0} if number == 0 else {}
        said.broker("transfer", handle=7, more=number < 2, fragments=[fragment], **first)
    rows = tables_of(said, tmp_path)["credits"]
    assert (rows[-1]["event"], rows[-1]["sender_credit"]) == ("credit-exhausted", 0)


def test_the_mark_settles_the_whole_session_with_each_default(tmp_path):
    """§2.3.5: session-wide, below the mark only, across the wrap of the serial numbers."""
    said = receiving()
    receiving(link="m", handle=1, said=said)
    for number, handle in ((0xFFFFFFFE, 7), (0xFFFFFFFF, 8), (0, 7), (1, 8)):
        send(said, number, handle=handle)
    said.client("flow", handle=0, flow_state=make("flow-state", unsettled_lwm=1))
    rows = tables_of(said, tmp_path)["transfers"]
    told = {row["delivery_id"]: (row["outcome"], row["settle_kind"]) for row in rows}
    released = ("released", "implicit")
    assert told == {0xFFFFFFFE: released, 0xFFFFFFFF: released, 0: released, 1: (None, None)}


def test_a_proposed_outcome_wins_over_the_default(tmp_path):
    said = receiving()
    send(said, 0, state=accepted())
    send(said, 1)
    said.client("flow", handle=0, flow_state=make("flow-state", unsettled_lwm=2))
    assert [r["outcome"] for r in tables_of(said, tmp_path)["transfers"]] == [
        "accepted",
        "released",
    ]


def test_extents(tmp_path):
    """Several ranges in one disposition; a handle limits a range to its link (§8.10)."""
    said = receiving()
    receiving(link="m", handle=1, said=said)
    for number, handle in enumerate((7, 8, 7, 7, 8)):
        send(said, number, handle=handle)
    error = make("error", condition="amqp:decode-error", description="no")
    rejected = make("transfer-state", outcome=make("rejected", error=error))
    ranges = [make("extent", first=0, last=2, handle=0, settled=True, state=accepted()),
              make("extent", first=3, last=4, settled=True, state=rejected)]  # fmt: skip
    said.client("disposition", role=RECEIVER, extents=ranges)
    rows = {row["delivery_id"]: row for row in tables_of(said, tmp_path)["transfers"]}
    outcomes = [rows[i]["outcome"] for i in range(5)]
    assert outcomes == ["accepted", None, "accepted", "rejected", "rejected"]
    assert rows[4]["outcome_condition"] == "amqp:decode-error"
    assert rows[3]["settle_kind"] == "range"


def test_a_modified_outcome_and_a_state_without_one(tmp_path):
    said = receiving()
    send(said, 0)
    progress = make("transfer-state", bytes_transferred=1)
    said.client("disposition", role=RECEIVER, extents=extent(0, 0, False, progress))
    state = make("transfer-state", outcome=make("modified", delivery_failed=True))
    said.client("disposition", role=RECEIVER, extents=extent(0, 0, True, state))
    tables = tables_of(said, tmp_path)
    (row,) = tables["transfers"]
    assert row["outcome"] == "modified"
    stated = [r["outcome"] for r in tables["frames"] if r["name"] == "disposition"]
    assert stated == ["received", "modified"]


def test_a_rolled_back_transaction(tmp_path):
    said = Transcript(0)
    target = make("linkage", target=make("coordinator"))
    for who, handle, role in ((said.client, 4, SENDER), (said.broker, 5, RECEIVER)):
        who("attach", name="t", handle=handle, role=role, local=target)
    receiving(said=said)
    said.client("transfer", handle=4, delivery_tag=b"d", transfer_id=0,
                fragments=request("declare"))  # fmt: skip
    said.broker("disposition", role=RECEIVER, extents=extent(0, 5, True, accepted(txn_id=b"T")))
    send(said, 0)
    said.client("disposition", role=RECEIVER, extents=extent(0, 0, False, accepted(txn_id=b"T")))
    said.client("transfer", handle=4, delivery_tag=b"e", transfer_id=1,
                state=make("transfer-state", txn_id=b"T"),
                fragments=request("discharge", fail=True))  # fmt: skip
    said.broker("disposition", role=RECEIVER, extents=extent(1, 5, True, accepted()))
    tables = tables_of(said, tmp_path)
    assert tables["sessions"][0]["rollback_count"] == 1
    (row,) = [r for r in tables["transfers"] if r["transaction_id"]]
    assert (row["transaction_outcome"], row["outcome"]) == ("rolled-back", None)
    assert tables["problems"] == []


# -- layers, errors, damage ---------------------------------------------------------------


def test_sasl_without_its_secret(tmp_path):
    talk = Talk().open().say(0, SASL_HEADER).say(1, SASL_HEADER)
    talk.say(1, encode_draft_frame("sasl-mechanisms", {"sasl-server-mechanisms": ["PLAIN"]}))
    secret = {"mechanism": "PLAIN", "initial-response": b"\0user\0swordfish"}
    talk.say(0, encode_draft_frame("sasl-init", secret))
    broken = bytearray(encode_draft_frame("sasl-init", secret))
    broken[-30] ^= 0x55
    talk.say(0, bytes(broken))
    talk.say(1, encode_draft_frame("sasl-outcome", {"code": 0}))
    for side in (0, 1):
        talk.say(side, HEADER).say(side, encode_draft_frame("open", {"container-id": "c"}))
    tables = dissect(write_pcap(tmp_path / "a.pcap", talk.packets))
    (connection,) = tables["connections"]
    assert (connection["dialect"], connection["mechanism"]) == ("1.0-draft", "PLAIN")
    assert connection["auth_outcome"] == "ok"
    text = json.dumps(tables)
    assert "swordfish" not in text
    assert b"swordfish".hex() not in text


def test_open_limits_and_a_close_with_error(tmp_path):
    said = Transcript(0)
    said.talk = Talk().open().say(0, HEADER).say(1, HEADER)
    said.client("open", container_id="a", hostname="h", max_frame_size=4096, heartbeat_interval=30,
                properties={"product": "p", "version": "1"})  # fmt: skip
    said.broker(
        "open", container_id="b", max_frame_size=65536, channel_max=9, heartbeat_interval=10
    )
    said.broker("close", error=make("error", condition="amqp:internal-error", description="oh"))
    (row,) = tables_of(said, tmp_path)["connections"]
    assert (row["frame_max"], row["channel_max"], row["heartbeat_ms"]) == (4096, 9, 10_000)
    assert (row["client_product"], row["vhost"]) == ("p", "h")
    assert (row["close_initiator"], row["close_condition"]) == ("server", "amqp:internal-error")


def test_detach_with_a_local_linkage_keeps_the_link(tmp_path):
    said = receiving()
    send(said, 0)
    said.client("detach", handle=0, local=LINKAGE, remote=LINKAGE)
    tables = tables_of(said, tmp_path)
    assert tables["links"][0]["end_kind"] == "detached"
    assert tables["transfers"][0]["outcome"] is None


def test_begun_in_mid_connection(tmp_path):
    talk = Talk((40001, 5672))
    for side, octets in said_in("34b")[8:]:
        talk.say(side, octets)
    tables = dissect(write_pcap(tmp_path / "a.pcap", talk.packets))
    (connection,) = tables["connections"]
    assert (connection["dialect"], connection["dialect_known_by"]) == ("1.0-draft", "frame-shape")
    assert [row["outcome"] for row in tables["transfers"]] == ["accepted"] * 3
    assert all(row["is_inferred"] for row in tables["links"])
    assert_ledger(tables)


def test_frames_are_found_again_after_a_lost_packet(tmp_path):
    octets = capture("34b_10draft_subscribe.pcap")
    whole = len(said_in("34b"))
    for number in range(10, 18):
        (tmp_path / "a.pcap").write_bytes(without_packet(octets, number))
        tables = dissect(str(tmp_path / "a.pcap"))
        assert len(tables["frames"]) == whole - 1
        assert tables["connections"][0]["missing_bytes"] > 0
        assert_ledger(tables)


def test_a_number_over_its_field_is_told_and_left_out(tmp_path):
    said = receiving()
    said.client("flow", handle=0, flow_state=make(
        "flow-state", link_credit=DRAFT.types.make("ulong", 1 << 40)))  # fmt: skip
    tables = tables_of(said, tmp_path)
    assert tables.problem_codes() == {"composite10.bad_choice": 1}
    assert tables["frames"][-1]["link_credit"] is None
