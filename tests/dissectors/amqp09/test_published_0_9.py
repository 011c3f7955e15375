"""AMQP 0-9 as published: frames, the binary field types, request and response frames, and the
message, file, stream, tunnel and dtx classes. Captures are made by our encoder.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from dissectors.amqp09 import frames
from dissectors.amqp09.field_tables import FieldArray, decode_table, make_table
from dissectors.amqp09.field_types import BINARY_09, LETTERS_08, TYPE_SYSTEMS, preferred_systems
from dissectors.amqp09.frames import Request, Response, encode_request, encode_response
from dissectors.amqp09.values import Content
from tests.builders.amqp09 import CLIENT, SERVER, Wire09
from tests.live.counting import outcomes, where
from tests.tables import Tables


def opened(product: str = "OpenAMQ", header: bytes = b"") -> Wire09:
    return Wire09("0-9").start(product, "1.2", header=header).open()


def finished(wire: Wire09, *problems: str) -> Tables:
    tables = wire.close().tables()
    assert set(tables.problem_codes()) == set(problems), tables["problems"]
    return tables


# -- frames -------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [b"\x01\x01\x00\x09", b"\x01\x01\x00\x0b"])
def test_protocol_header(version: bytes) -> None:
    """protocol-version = %d0.11 as printed, %d0.9 as sent"""
    (connection,) = finished(opened(header=version))["connections"]
    assert connection["dialect"] == "0-9"


def test_frame_is_a_7_octet_header_payload_and_end() -> None:
    """type(octet) channel(short) size(long) payload frame-end(octet)"""
    octets = frames.encode_frame(frames.BODY, 0x0102, b"abc")
    assert octets == b"\x03\x01\x02\x00\x00\x00\x03abc\xce"


def test_method_header_body_body_method() -> None:
    """[method] [method] [header] [body] [body] [method] …"""
    wire = opened().client(1, "basic.qos").publish(1, b"abcd", cut=2).client(1, "tx.select")
    tables = finished(wire)
    names = [r["name"] for r in tables["frames"] if r["direction"] == "c2s"][-7:]
    assert names == ["basic.qos", "basic.publish", "header", "body", "body", "tx.select",
                     "connection.close"]  # fmt: skip


def test_heartbeat_and_trace() -> None:
    wire = opened().say(SERVER, b"\x08\0\0\0\0\0\0\xce", b"\x07\0\0\0\0\0\x02hi\xce")
    tables = finished(wire)
    assert len(where(tables["frames"], name="heartbeat", status="ok")) == 1
    assert where(tables["frames"], name="trace")[0]["fields"] == '{"trace":"hi"}'


# -- the binary field types ---------------------------------------------------------------

UTF32 = "\N{SNOWMAN}".encode("utf-32-be")
# type octet → (value, octets behind the type octet), in the order of the grammar
BINARY: dict[int, tuple[Any, bytes]] = {
    0x00: (b"\x7f", b"\x7f"),  # octet
    0x01: (-128, b"\x80"),  # signed-byte
    0x02: (255, b"\xff"),  # unsigned-byte
    0x04: ("€", b"\xa4"),  # char (iso-8859-15)
    0x08: (True, b"\x01"),  # boolean
    0x10: (b"ab", b"ab"),  # two-octets
    0x11: (-2, b"\xff\xfe"),  # signed-short
    0x12: (65534, b"\xff\xfe"),  # unsigned-short
    0x20: (b"abcd", b"abcd"),  # four-octets
    0x21: (-2, b"\xff\xff\xff\xfe"),  # signed-int
    0x22: (4294967294, b"\xff\xff\xff\xfe"),  # unsigned-int
    0x23: (1.5, b"\x3f\xc0\0\0"),  # float
    0x27: ("\N{SNOWMAN}", UTF32),  # utf32-char
    0x30: (b"abcdefgh", b"abcdefgh"),  # eight-octets
    0x31: (-2, b"\xff" * 7 + b"\xfe"),  # signed-long
    0x32: ((1 << 64) - 2, b"\xff" * 7 + b"\xfe"),  # unsigned-long
    0x33: (-2.5, b"\xc0\x04" + bytes(6)),  # double
    0x38: (1 << 33, b"\0\0\0\x02\0\0\0\0"),  # datetime
    0x40: (b"x" * 16, b"x" * 16),  # sixteen-octets
    0x48: (UUID(int=7), bytes(15) + b"\x07"),  # UUID
    0x50: (b"x" * 32, b"x" * 32),  # thirty-two-octets
    0x60: (b"x" * 64, b"x" * 64),  # sixty-four-octets
    0x70: (b"x" * 128, b"x" * 128),  # 128-octets
    0x80: (b"\0\xff", b"\x02\0\xff"),  # short-binary
    0x84: ("€", b"\x01\xa4"),  # short-string
    0x85: ("é", b"\x02\xc3\xa9"),  # short-utf8-string
    0x86: ("é", b"\x02\x00\xe9"),  # short-utf16-string
    0x87: ("\N{SNOWMAN}", b"\x04" + UTF32),  # short-utf32-string
    0x90: (b"\0\xff", b"\0\x02\0\xff"),  # binary
    0x94: ("€", b"\0\x01\xa4"),  # string
    0x95: ("é", b"\0\x02\xc3\xa9"),  # utf8-string
    0x96: ("é", b"\0\x02\x00\xe9"),  # utf16-string
    0x97: ("\N{SNOWMAN}", b"\0\x04" + UTF32),  # utf32-string
    0xA0: (b"\0\xff", b"\0\0\0\x02\0\xff"),  # long-binary
    0xA4: ("€", b"\0\0\0\x01\xa4"),  # long-string
    0xA5: ("é", b"\0\0\0\x02\xc3\xa9"),  # long-utf8-string
    0xA6: ("é", b"\0\0\0\x02\x00\xe9"),  # long-utf16-string
    0xA7: ("\N{SNOWMAN}", b"\0\0\0\x04" + UTF32),  # long-utf32-string
    0xA8: (make_table([("a", 0x02, 1)], BINARY_09), b"\0\0\0\x04\x01a\x02\x01"),  # field-table
    0xA9: (FieldArray(((0x02, 1), (0x08, True))), b"\0\0\0\x04\x02\x01\x08\x01"),  # sequence
    0xAA: (FieldArray(((0x02, 1), (0x02, 2)), 0x02), b"\0\0\0\x07\x02\0\0\0\x02\x01\x02"),  # array
    0xC0: (b"abcde", b"abcde"),  # five-octets
    0xC8: (Decimal("1.25"), b"\x02\0\0\0\x7d"),  # decimal
    0xD0: (b"abcdefghi", b"abcdefghi"),  # nine-octets
    0xD8: (Decimal("-0.1"), b"\x01" + b"\xff" * 8),  # long-decimal
    0xF0: (None, b""),  # void
}


def test_every_binary_type_has_a_case() -> None:
    assert set(BINARY) == set(TYPE_SYSTEMS[BINARY_09])


@pytest.mark.parametrize("octet", BINARY, ids=hex)
def test_binary_type(octet: int) -> None:
    value, octets = BINARY[octet]
    table = make_table([("n", octet, value)], BINARY_09)
    assert table.raw == b"\x01n" + bytes((octet,)) + octets
    read = decode_table(table.raw, preferred_systems("0-9"))
    assert read.system == BINARY_09
    assert read.get("n") == value


def test_binary_tables_on_the_wire_are_told_by_their_octets() -> None:
    """Nothing announces the type system: the one that reads the table exactly is used."""
    named = [(f"t{octet:02x}", octet, value) for octet, (value, _) in BINARY.items()]
    wire = opened().publish(1, b"x", headers=make_table(named, BINARY_09))
    tables = finished(wire)
    (connection,) = tables["connections"]
    assert connection["field_table_types"] == BINARY_09
    (row,) = tables["transfers"]
    headers = json.loads(row["properties"])["headers"]
    assert len(headers) == len(BINARY)
    assert headers["t12"] == 65534
    assert headers["t48"] == str(UUID(int=7))
    assert headers["taa"] == [1, 2]
    assert headers["tf0"] is None


def test_letters_are_told_by_their_octets_too() -> None:
    wire = opened().publish(1, b"x", headers=make_table([("a", "S", b"b")], LETTERS_08))
    (connection,) = finished(wire)["connections"]
    assert connection["field_table_types"] == LETTERS_08


# -- request and response frames ----------------------------------------------------------


def request(wire: Wire09, side: int, number: int, name: str, **values: Any) -> Wire09:
    payload = encode_request(Request(number, 0), wire.make.payload(name, **values))
    return wire.say(side, wire.make.frame(frames.REQUEST, 1, payload))


def response(wire: Wire09, side: int, number: int, first: int, batch: int, name: str,
             **values: Any) -> Wire09:  # fmt: skip
    payload = encode_response(Response(number, first, batch), wire.make.payload(name, **values))
    return wire.say(side, wire.make.frame(frames.RESPONSE, 1, payload))


def test_request_header() -> None:
    """request-id(8) response-mark(8) reserved(4) method payload"""
    octets = encode_request(Request(1, 2), b"method")
    assert octets == b"\0" * 7 + b"\x01" + b"\0" * 7 + b"\x02" + b"\0" * 4 + b"method"
    assert frames.decode_request(octets) == Request(1, 2)


def test_response_header() -> None:
    """response-id(8) request-id(8) batch-offset(4) method payload; the range is inclusive"""
    octets = encode_response(Response(9, 5, 2), b"method")
    decoded = frames.decode_response(octets)
    assert decoded == Response(9, 5, 2)
    assert isinstance(decoded, Response)
    assert list(decoded.requests) == [5, 6, 7]


def transfer(wire: Wire09, side: int, number: int, body: bytes, **values: Any) -> Wire09:
    return request(wire, side, number, "message.transfer", body=Content(body), **values)


def test_a_batch_of_responses_settles_a_range() -> None:
    """[request-id, request-id + batch-offset]"""
    wire = opened()
    for number in range(1, 6):
        transfer(wire, CLIENT, number, b"m%d" % number, exchange="x", routing_key="k",
                 message_id=f"m{number}")  # fmt: skip
    response(wire, SERVER, 1, 1, 2, "message.ok")
    response(wire, SERVER, 2, 5, 0, "message.reject", code=403, text="no")
    tables = finished(wire)
    rows = {row["message_id"]: row for row in tables["transfers"]}
    assert [rows[f"m{n}"]["outcome"] for n in range(1, 6)] == [
        "accepted", "accepted", "accepted", None, "rejected",
    ]  # fmt: skip
    assert rows["m1"]["settle_kind"] == "range"
    assert (rows["m5"]["settle_kind"], rows["m5"]["reply_code"]) == ("single", 403)
    assert rows["m5"]["outcome_condition"] == "no"
    (first, *_) = where(tables["frames"], frame_type="request")
    fields = json.loads(first["fields"])
    assert (fields["request-id"], fields["inferred-frame-type"]) == (1, 9)


@pytest.mark.parametrize(("type_", "code"), [(9, "frame09.short_request"),
                                             (10, "frame09.short_response")])  # fmt: skip
def test_envelope_too_short(type_: int, code: str) -> None:
    wire = opened()
    finished(wire.say(CLIENT, wire.make.frame(type_, 1, b"short")).publish(1, b"x"), code)


# -- the message class --------------------------------------------------------------------


def test_transfers_in_method_frames_are_answered_in_order() -> None:
    wire = opened().client(1, "message.consume", queue="q", destination="d")
    wire.server(1, "message.ok")
    for n in (1, 2):
        wire.server(1, "message.transfer", destination="d", routing_key="q", redelivered=n == 2,
                    body=Content(b"x" * n), message_id=f"m{n}", ttl=5000, priority=4)  # fmt: skip
    wire.client(1, "message.ok").client(1, "message.reject", code=500, text="bad")
    tables = finished(wire)
    first, second = sorted(
        where(tables["transfers"], kind="deliver"), key=lambda r: r["message_id"]
    )
    assert (first["outcome"], second["outcome"]) == ("accepted", "rejected")
    assert (first["queue"], first["ttl_ms"], first["priority"]) == ("q", 5000, 4)
    assert (first["is_redelivered"], second["is_redelivered"]) == (False, True)
    assert [first["body_bytes"], second["body_bytes"]] == [1, 2]
    (consumer,) = where(tables["links"], kind="consumer")
    assert (consumer["name"], consumer["transfer_count"]) == ("d", 2)


def test_body_by_reference() -> None:
    """message.open, append …, transfer, append …, close: the body is all that was appended"""
    wire = opened().client(1, "message.open", reference=b"r")
    wire.client(1, "message.append", reference=b"r", bytes=b"one ")
    wire.client(1, "message.transfer", exchange="x", body=Content(b"r", is_reference=True))
    wire.client(1, "message.append", reference=b"r", bytes=b"two")
    wire.client(1, "message.close", reference=b"r")
    for _ in range(5):
        wire.server(1, "message.ok")
    tables = wire.close().tables(has_payloads=True)
    (row,) = tables["transfers"]
    assert (row["body_bytes"], row["is_complete"], row["outcome"]) == (7, True, "accepted")
    assert tables["payloads"][0]["body"] == b"one two"


def test_reference_that_is_not_open() -> None:
    wire = opened().client(1, "message.transfer", body=Content(b"r", is_reference=True))
    (row,) = finished(wire, "state09.unknown_reference")["transfers"]
    assert not row["is_complete"]


def test_get_and_empty() -> None:
    wire = opened().client(1, "message.get", queue="q", destination="g", no_ack=True)
    wire.server(1, "message.ok")
    wire.server(1, "message.transfer", destination="g", body=Content(b"got"))
    wire.client(1, "message.get", queue="q", destination="g").server(1, "message.empty")
    tables = finished(wire)
    (row,) = tables["transfers"]
    assert (row["kind"], row["queue"], row["settle_kind"]) == ("get", "q", "presettled")


def test_security_token_is_not_shown() -> None:
    wire = opened().client(1, "message.transfer", security_token=b"hush-hush", body=Content(b"x"))
    assert "hush" not in repr(finished(wire))


# -- file, stream, tunnel, dtx ------------------------------------------------------------


def test_file_is_staged_then_published() -> None:
    wire = opened().client(1, "file.open", identifier="f1", content_size=4)
    wire.server(1, "file.open-ok")
    wire.say(CLIENT, wire.make.method(1, "file.stage"),
             wire.make.content(1, b"file", "file", filename="a.txt"))  # fmt: skip
    wire.client(1, "file.publish", exchange="x", routing_key="k", identifier="f1")
    (row,) = finished(wire)["transfers"]
    assert (row["kind"], row["exchange"], row["routing_key"]) == ("publish", "x", "k")
    assert (row["body_bytes"], row["is_complete"], row["frame_count"]) == (4, True, 4)
    assert json.loads(row["properties"]) == {"filename": "a.txt"}


def test_file_is_staged_delivered_and_acknowledged() -> None:
    wire = opened().client(1, "file.consume", queue="q", consumer_tag="c")
    wire.server(1, "file.consume-ok", consumer_tag="c").server(1, "file.open", identifier="f")
    wire.client(1, "file.open-ok")
    wire.say(SERVER, wire.make.method(1, "file.stage"), wire.make.content(1, b"file", "file"))
    wire.server(1, "file.deliver", consumer_tag="c", delivery_tag=1, identifier="f")
    (row,) = finished(wire.client(1, "file.ack", delivery_tag=1))["transfers"]
    assert (row["kind"], row["queue"], row["outcome"]) == ("deliver", "q", "accepted")


def test_file_that_was_not_staged() -> None:
    wire = opened().client(1, "file.publish", identifier="ghost")
    assert finished(wire, "state09.not_staged")["transfers"] == []


def test_staged_and_never_published() -> None:
    wire = opened().client(1, "file.open", identifier="f")
    wire.say(CLIENT, wire.make.method(1, "file.stage"), wire.make.content(1, b"file", "file"))
    (row,) = finished(wire)["transfers"]
    assert (row["exchange"], row["is_complete"]) == (None, True)


def test_stream_has_no_acknowledgements() -> None:
    wire = opened().client(1, "stream.consume", queue="q", consumer_tag="c")
    wire.server(1, "stream.consume-ok", consumer_tag="c")
    wire.say(CLIENT, wire.make.method(1, "stream.publish", exchange="x"),
             wire.make.content(1, b"out", "stream"))  # fmt: skip
    wire.say(SERVER, wire.make.method(1, "stream.deliver", consumer_tag="c", delivery_tag=1,
                                      exchange="x", queue="q"),
             wire.make.content(1, b"in", "stream"))  # fmt: skip
    tables = finished(wire)
    (delivered,) = where(tables["transfers"], kind="deliver")
    assert (delivered["settle_kind"], delivered["queue"]) == ("presettled", "q")
    assert delivered["is_redelivered"] is None
    assert outcomes(where(tables["transfers"], kind="publish")) == {None: 1}


def test_tunnel() -> None:
    wire = opened()
    wire.say(CLIENT, wire.make.method(1, "tunnel.request"),
             wire.make.content(1, b"inner", "tunnel", proxy_name="p"))  # fmt: skip
    (row,) = finished(wire)["transfers"]
    assert (row["kind"], row["body_bytes"]) == ("transfer", 5)


def test_dtx_demarcation_of_0_9() -> None:
    wire = opened().client(1, "dtx.select").server(1, "dtx.select-ok")
    wire.client(1, "dtx.start", dtx_identifier="branch-1").server(1, "dtx.start-ok")
    tables = finished(wire.publish(1, b"x"))
    (row,) = tables["transfers"]
    assert (row["transaction_id"], row["transaction_outcome"]) == ("branch-1", "open")
    assert tables["sessions"][0]["is_transactional"]


def test_dtx_branches_are_decided_from_another_channel() -> None:
    wire = Wire09("0-9").start("OpenAMQ", "1").open(1, 2).consume(1)
    wire.deliver(1, 1, b"a").deliver(1, 2, b"b")
    for xid, tag in ((b"\x01", 1), (b"\x02", 2)):
        wire.client(1, "dtx-demarcation.start", xid=xid).publish(1, b"p" + xid).ack(1, tag)
        wire.client(1, "dtx-demarcation.end", xid=xid)
    wire.publish(1, b"outside")
    wire.client(2, "dtx-coordination.commit", xid=b"\x01")
    wire.server(2, "dtx-coordination.commit-ok")
    wire.client(2, "dtx-coordination.rollback", xid=b"\x02")
    wire.server(2, "dtx-coordination.rollback-ok")
    tables = finished(wire)
    delivered = {r["delivery_id"]: r for r in where(tables["transfers"], kind="deliver")}
    assert (delivered[1]["outcome"], delivered[2]["outcome"]) == ("accepted", None)
    ends = [
        (r["transaction_id"], r["transaction_outcome"])
        for r in sorted(where(tables["transfers"], kind="publish"), key=lambda r: r["transfer_id"])
    ]
    assert ends == [("01", "committed"), ("02", "rolled-back"), (None, None)]


# -- Qpid and RabbitMQ on the 0-9 header --------------------------------------------------


def test_rabbitmq_answers_in_0_9_1() -> None:
    wire = Wire09("0-9", "rabbitmq").start("RabbitMQ", "3.10.8").open()
    wire.client(1, "confirm.select", nowait=True).publish(1, b"x").ack(1, 1, side=SERVER)
    assert outcomes(finished(wire)["transfers"]) == {"accepted": 1}


def test_qpid_recovers_in_step() -> None:
    wire = opened("qpid").consume(1).deliver(1, 1, b"x")
    wire.client(1, "basic.recover-sync").server(1, "basic.recover-sync-ok")
    assert outcomes(finished(wire)["transfers"]) == {"released": 1}
