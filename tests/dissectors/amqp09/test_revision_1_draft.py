"""The 0-9 revision 1 draft, row by row of its chapter "AMQP Wire-Level Format".

No peer speaks it any more: the captures are made by our encoder. Each test names the rows of the
grammar, the drawings or the conformance points (amq_wlp_*) that it is about.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from dissectors.amqp09 import frames
from dissectors.amqp09.dialects import load_dialect
from dissectors.amqp09.field_tables import decode_table, make_table
from dissectors.amqp09.field_types import LETTERS_08, preferred_systems
from dissectors.amqp09.frames import FRAMING_8, cut_frame, encode_frame, encode_oob_frame
from dissectors.amqp09.methods import decode_method, encode_method
from tests.builders.amqp09 import CLIENT, SERVER, Wire09
from tests.live.counting import where
from tests.tables import Tables

DRAFT = "0-9-draft"
DIALECT = load_dialect(DRAFT)
SYSTEMS = preferred_systems(DRAFT)


def opened() -> Wire09:
    return Wire09(DRAFT).start().open()


def publish(wire: Wire09, *contents: bytes) -> Wire09:
    method = wire.make.method(1, "basic.publish", exchange="x", routing_key="k")
    return wire.say(CLIENT, method, *contents)


def finished(wire: Wire09) -> Tables:
    """A good message after whatever the test said: it must be read."""
    wire.publish(1, b"last", message_id="last")
    wire.client(0, "connection.close", reply_code=200).server(0, "connection.close-ok")
    tables = wire.tables()
    assert where(tables["transfers"], message_id="last", is_complete=True)
    return tables


# -- protocol-header ----------------------------------------------------------------------


def test_protocol_header() -> None:
    """literal-AMQP protocol-id=%d1.1 protocol-version=%d9.1"""
    tables = finished(opened())
    (connection,) = tables["connections"]
    assert (connection["dialect"], connection["dialect_known_by"]) == (DRAFT, "protocol-header")
    (header,) = where(tables["frames"], name="protocol-header")
    assert header["size_bytes"] == 8


def test_protocol_header_refused() -> None:
    """AMQP%d2.0.1.1 is answered by AMQP%d1.1.9.1 and a close: amq_wlp_header_03."""
    wire = Wire09(DRAFT).say(CLIENT, b"AMQP\x02\x00\x01\x01").say(SERVER, b"AMQP\x01\x01\x09\x01")
    wire.talk.close()
    assert len(where(wire.tables()["frames"], name="protocol-header")) == 2


# -- frame-properties: cycle channel payload-size -----------------------------------------


@pytest.mark.parametrize("type_", [1, 2, 3, 7, 8])
@pytest.mark.parametrize(("cycle", "channel"), [(0, 0), (7, 1), (255, 65535)])
def test_general_frame_format(type_: int, cycle: int, channel: int) -> None:
    """type(octet) cycle(octet) channel(short) size(long) payload frame-end(0xCE)"""
    octets = encode_frame(type_, channel, b"payload", FRAMING_8, cycle)
    assert octets == bytes((type_, cycle)) + channel.to_bytes(2, "big") + b"\0\0\0\x07payload\xce"
    frame = cut_frame(octets, 0, len(octets), FRAMING_8)
    assert frame is not None
    assert (frame.type, frame.cycle, frame.channel, frame.size) == (type_, cycle, channel, 7)
    assert octets[frame.payload_start : frame.payload_end] == b"payload"
    assert cut_frame(octets, 0, len(octets) - 1, FRAMING_8) is None


def test_cycle_does_not_disturb() -> None:
    wire = opened()
    payload = wire.make.payload("basic.qos", prefetch_count=5)
    tables = finished(wire.say(CLIENT, wire.make.frame(1, 1, payload, cycle=200)))
    assert len(where(tables["frames"], name="basic.qos", status="ok")) == 1


def test_undefined_frame_type() -> None:
    """amq_wlp_frame_01"""
    tables = finished(opened().say(CLIENT, encode_frame(9, 1, b"x", FRAMING_8)))
    assert tables.problem_codes() == {"frame.garbage": 1}


def test_frame_end() -> None:
    """amq_wlp_frame_02"""
    wire = opened()
    tables = finished(wire.say(CLIENT, wire.make.method(1, "basic.qos")[:-1] + b"\x00"))
    assert tables.problem_codes() == {"frame09.bad_end_octet": 1}


def test_oversized_frame() -> None:
    """amq_wlp_frame_03"""
    wire = Wire09(DRAFT).start(frame_max=4096).open()
    tables = finished(wire.publish(1, b"x" * 5000))
    assert tables.problem_codes() == {"frame09.oversized": 1}


# -- method-payload: class-id method-id *amqp-field ---------------------------------------


def test_extension_class_is_named_unknown() -> None:
    """class-id %xF0.00-%xFF.FF is for extensions"""
    tables = finished(opened().say(CLIENT, encode_frame(1, 1, b"\xf0\x00\x00\x01", FRAMING_8)))
    assert tables.problem_codes() == {"method09.unknown": 1}


# amqp-field → (method, argument, value, octets of the arguments)
FIELDS = {
    "BIT": ("channel.flow", {"active": True}, b"\x01"),
    "short-integer": ("access.request-ok", {"ticket": 0xFFFE}, b"\xff\xfe"),
    "long-integer": ("queue.purge-ok", {"message-count": 0xFFFFFFFE}, b"\xff\xff\xff\xfe"),
    "long-long-integer": ("file.open-ok", {"staged-size": (1 << 64) - 2}, b"\xff" * 7 + b"\xfe"),
    "short-string": ("basic.consume-ok", {"consumer-tag": "täg"}, b"\x04t\xc3\xa4g"),
    "long-string": ("connection.secure", {"challenge": b"\0\xff"}, b"\0\0\0\x02\0\xff"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_amqp_field(name: str) -> None:
    """Integers and lengths are unsigned and in network byte order."""
    method_name, values, octets = FIELDS[name]
    method = DIALECT.by_name[method_name]
    payload = encode_method(method, values)
    assert payload[4:] == octets
    decoded = decode_method(payload, DIALECT, SYSTEMS)
    assert decoded is not None
    assert decoded.fields.as_dict() == values


def test_octet_and_integers_of_every_width() -> None:
    values = {"integer-1": 255, "integer-2": 65535, "integer-3": 1, "integer-4": 2, "operation": 3}
    payload = encode_method(DIALECT.by_name["test.integer"], values)
    assert payload[4:] == b"\xff\xff\xff\0\0\0\x01\0\0\0\0\0\0\0\x02\x03"
    assert decode_method(payload, DIALECT, SYSTEMS).fields.as_dict() == values  # type: ignore[union-attr]


def test_bits_are_packed_from_the_low_bit() -> None:
    method = DIALECT.by_name["queue.declare"]
    bits = dict.fromkeys(("passive", "durable", "exclusive", "auto-delete", "nowait"), False)
    empty = make_table([], LETTERS_08)
    for place, name in enumerate(bits):
        values = {"ticket": 0, "queue": "", **bits, name: True, "arguments": empty}
        assert encode_method(method, values)[7] == 1 << place


def test_timestamp_is_seconds_in_64_bits() -> None:
    wire = opened()
    tables = finished(publish(wire, wire.make.content(1, b"x", timestamp=1_700_000_000)))
    assert where(tables["transfers"], created_ts_ms=1_700_000_000_000)


# field-value → (letter, value, octets)
VALUES = {
    "'S' long-string": ("S", b"text", b"\0\0\0\x04text"),
    "'I' signed-integer": ("I", -2, b"\xff\xff\xff\xfe"),
    "'D' decimal-value": ("D", Decimal("-1.25"), b"\x02\xff\xff\xff\x83"),
    "'D' decimals is unsigned": ("D", Decimal((0, (7,), -200)), b"\xc8\0\0\0\x07"),
    "'T' timestamp": ("T", 1 << 40, b"\0\0\x01\0\0\0\0\0"),
    "'F' field-table": (
        "F",
        make_table([("a", "I", 1)], LETTERS_08),
        b"\0\0\0\x07\x01aI\0\0\0\x01",
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_field_value(name: str) -> None:
    """field-table = long-integer *field-value-pair"""
    letter, value, octets = VALUES[name]
    table = make_table([("name", letter, value)], LETTERS_08)
    assert table.raw == b"\x04name" + letter.encode() + octets
    assert decode_table(table.raw, (LETTERS_08,)).get("name") == value


def test_duplicate_fields_use_only_the_first() -> None:
    """A peer MUST handle duplicate fields by using only the first instance."""
    table = make_table([("a", "I", 1), ("a", "I", 2)], LETTERS_08)
    assert table.get("a") == 1
    assert len(table.entries) == 2


# -- content ------------------------------------------------------------------------------


def test_content_header_and_split_body() -> None:
    """class-id weight body-size property-flags property-list; a body in as many frames as needed"""
    wire = opened()
    header = wire.make.header(1, 6, message_id="m", priority=3)
    assert header[8:22] == b"\0\x3c\0\0" + (6).to_bytes(8, "big") + b"\x08\x80"
    publish(wire, header, *(wire.make.body(1, part) for part in (b"ab", b"c", b"def")))
    (row,) = where(finished(wire)["transfers"], message_id="m")
    assert (row["body_bytes"], row["frame_count"], row["is_complete"]) == (6, 5, True)
    assert row["priority"] == 3


def test_property_flags_continue() -> None:
    """If the last bit (0) is set, a further property flags field follows."""
    wire = opened()
    payload = b"\0\x3c\0\0" + bytes(8) + b"\0\x81" + b"\0\0" + b"\x01m"
    tables = finished(publish(wire, wire.make.frame(2, 1, payload)))
    assert where(tables["transfers"], message_id="m", is_complete=True)


def test_incomplete_content() -> None:
    """amq_wlp_content_01"""
    wire = opened()
    publish(wire, wire.make.header(1, 9), wire.make.body(1, b"ab"))
    assert finished(wire).problem_codes() == {"content09.incomplete": 1}


def test_content_class_matches_the_method() -> None:
    """amq_wlp_content_02"""
    wire = opened()
    publish(wire, wire.make.content(1, b"x", class_name="file"))
    assert finished(wire).problem_codes() == {"content09.wrong_class": 1}


def test_content_on_channel_zero() -> None:
    """amq_wlp_content_03"""
    wire = opened()
    wire.say(CLIENT, wire.make.header(0, 0))
    assert finished(wire).problem_codes() == {"content09.channel_zero": 1}


def test_structured_content() -> None:
    """[parent-header weight = 1] [child-header weight = 0] [child-body] [parent-body]"""
    wire = opened()
    make = wire.make
    publish(
        wire,
        make.header(1, 6, weight=1, message_id="parent"),
        make.content(1, b"child", message_id="child"),
        make.body(1, b"parent"),
    )
    tables = finished(wire)
    assert tables.problem_codes() == {}
    (parent,) = where(tables["transfers"], message_id="parent")
    (child,) = where(tables["transfers"], message_id="child")
    assert (parent["body_bytes"], parent["is_complete"]) == (6, True)
    assert (child["body_bytes"], child["is_complete"]) == (5, True)
    assert (child["relation"], child["related_transfer_id"]) == ("child-of", parent["transfer_id"])
    assert parent["relation"] is None


def test_contents_nest_to_any_level() -> None:
    wire = opened()
    make = wire.make
    publish(
        wire,
        make.header(1, 1, weight=2, message_id="root"),
        make.header(1, 0, weight=1, message_id="branch"),
        make.content(1, b"leaf", message_id="leaf"),
        make.content(1, b"second", message_id="twig"),
        make.body(1, b"r"),
    )
    tables = finished(wire)
    assert tables.problem_codes() == {}
    rows = {row["message_id"]: row for row in tables["transfers"]}
    parents = {name: rows[name]["related_transfer_id"] for name in ("leaf", "branch", "twig")}
    root, branch = rows["root"]["transfer_id"], rows["branch"]["transfer_id"]
    assert parents == {"leaf": branch, "branch": root, "twig": root}
    assert all(row["is_complete"] for row in rows.values())
    assert rows["root"]["frame_count"] == 8


def test_weight_that_is_not_there() -> None:
    """amq_wlp_content_05: more children announced than come"""
    wire = opened()
    publish(wire, wire.make.header(1, 1, weight=1), wire.make.body(1, b"x"))
    tables = finished(wire)
    assert tables.problem_codes() == {"content09.wrong_weight": 1}


def test_weight_in_the_frames_row() -> None:
    """amq_wlp_content_04: structured contents may be unsupported; they are shown as such"""
    wire = opened()
    make = wire.make
    publish(wire, make.header(1, 0, weight=1), make.header(1, 0))
    headers = where(finished(wire)["frames"], frame_type="header")
    assert '"weight":1' in headers[0]["fields"]


# -- out-of-band, trace, heartbeat --------------------------------------------------------


@pytest.mark.parametrize(("type_", "name"), [(4, "oob-method"), (5, "oob-header"), (6, "oob-body")])
def test_out_of_band_frames(type_: int, name: str) -> None:
    """%d4 frame-properties frame-end: the payload goes another way, its size is announced"""
    octets = encode_oob_frame(type_, 1, 5000)
    assert len(octets) == 9
    frame = cut_frame(octets, 0, len(octets), FRAMING_8)
    assert frame is not None
    assert frame.is_oob
    tables = finished(opened().say(CLIENT, octets))
    assert tables.problem_codes() == {}
    (row,) = where(tables["frames"], name=name)
    assert row["fields"] == '{"size":5000}'
    assert row["size_bytes"] == 9


def test_trace_frame() -> None:
    """%d7 cycle channel=0 payload-size trace-payload frame-end: amq_wlp_trace_02"""
    tables = finished(opened().say(CLIENT, encode_frame(frames.TRACE, 0, b"look", FRAMING_8)))
    (row,) = where(tables["frames"], name="trace", status="ok")
    assert row["fields"] == '{"trace":"look"}'
    assert tables.problem_codes() == {}


def test_trace_frame_on_a_channel() -> None:
    """amq_wlp_trace_01"""
    tables = finished(opened().say(CLIENT, encode_frame(frames.TRACE, 3, b"x", FRAMING_8)))
    assert tables.problem_codes() == {"frame09.bad_trace": 1}


@pytest.mark.parametrize(("channel", "codes"), [(0, {}), (1, {"frame09.bad_heartbeat": 1})])
def test_heartbeat(channel: int, codes: dict[str, int]) -> None:
    """%d8 cycle %d0 %d0 frame-end: amq_wlp_heartbeat_01, _02"""
    tables = finished(opened().say(SERVER, encode_frame(frames.HEARTBEAT, channel, b"", FRAMING_8)))
    assert tables.problem_codes() == codes
    assert len(where(tables["frames"], name="heartbeat")) == 1


def test_limits() -> None:
    """Maximum size of a short string: 255 octets; 16-bit class and method ids"""
    method = DIALECT.by_name["basic.consume-ok"]
    payload = encode_method(method, {"consumer-tag": "x" * 255})
    assert payload[4] == 255
    decoded = decode_method(payload, DIALECT, SYSTEMS)
    assert decoded is not None
    assert decoded["consumer-tag"] == "x" * 255


def test_lost_frames_are_found_again() -> None:
    wire = opened()
    for n in range(6):
        wire.publish(1, b"body %d" % n, message_id=f"m{n}")
    wire.client(0, "connection.close", reply_code=200).server(0, "connection.close-ok")
    whole = wire.tables()["transfers"]
    sent = [i for i, (_, p) in enumerate(wire.talk.packets) if b"body 2" in p]
    del wire.talk.packets[sent[0]]
    kept = wire.tables()["transfers"]
    assert {r["message_id"] for r in whole} - {r["message_id"] for r in kept} == {"m2"}
