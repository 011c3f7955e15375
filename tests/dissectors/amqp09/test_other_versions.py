"""0-8 and its differences; 0-10 as far as frames and names; the header that two versions share."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissectors.amqp09.dialects import v0_10
from dissectors.amqp09.frames010 import cut_frame010, encode_frame010, name_frame010
from tests.builders.amqp09 import CLIENT, SERVER, Wire09
from tests.builders.talk import Talk, write_pcap
from tests.live.counting import where
from tests.tables import Tables, dissect

# -- 0-8 ----------------------------------------------------------------------------------


def test_close_of_0_8_is_60_not_50() -> None:
    """0-8: connection.close is 10/60, which 0-9-1 readers (tshark too) take for blocked."""
    wire = Wire09("0-8").start("OpenAMQ", "1").open()
    assert wire.make.payload("connection.close")[:4] == b"\0\x0a\0\x3c"
    tables = wire.close().tables()
    (connection,) = tables["connections"]
    assert (connection["dialect"], connection["close_code"]) == ("0-8", 200)
    assert tables.names()["connection.close-ok"] == 1
    assert tables.names()["connection.blocked"] == 0
    assert tables["credits"] == []


def test_0_8_redirects() -> None:
    wire = Wire09("0-8").say(CLIENT, b"AMQP\x01\x01\x08\x00")
    wire.client(0, "connection.open", virtual_host="/")
    wire.server(0, "connection.redirect", host="other:5672")
    (connection,) = wire.tables()["connections"]
    assert connection["close_reason"] == "redirected to other:5672"


@pytest.mark.parametrize("header", [b"\x01\x01\x08\x00", b"\x01\x01\x09\x01"])
def test_header_1_1_9_1_is_0_8_where_frames_have_7_octets(header: bytes) -> None:
    """py-amqplib sends 1 1 9 1 and speaks 0-8; the draft of the same header has 8 octets."""
    tables = Wire09("0-8").start(header=header).open().publish(1, b"x").close().tables()
    (connection,) = tables["connections"]
    assert connection["dialect"] == "0-8"
    assert tables.problem_codes() == {}


def test_0_8_consume_has_no_arguments_and_tickets_are_used() -> None:
    wire = Wire09("0-8").start("OpenAMQ", "1").open()
    wire.client(1, "access.request", realm="/data", read=True)
    wire.server(1, "access.request-ok", ticket=101)
    wire.client(1, "basic.consume", ticket=101, queue="q", consumer_tag="c")
    wire.server(1, "basic.consume-ok", consumer_tag="c").deliver(1, 1, b"x").ack(1, 1)
    tables = wire.close().tables()
    assert tables.problem_codes() == {}
    assert '"ticket":101' in where(tables["frames"], name="basic.consume")[0]["fields"]
    assert where(tables["transfers"], outcome="accepted", queue="q")


def test_0_8_test_class_carries_content() -> None:
    wire = Wire09("0-8", "qpid").start("qpid", "1").open()
    wire.say(CLIENT, wire.make.method(1, "test.content"), wire.make.content(1, b"abc", "test"))
    wire.say(SERVER, wire.make.method(1, "test.content-ok", content_checksum=7),
             wire.make.content(1, b"abc", "test"))  # fmt: skip
    tables = wire.close().tables()
    assert [row["kind"] for row in tables["transfers"]] == ["transfer", "transfer"]
    assert all(row["is_complete"] for row in tables["transfers"])


def test_0_8_alert() -> None:
    wire = Wire09("0-8").start("OpenAMQ", "1").open()
    wire.server(1, "channel.alert", reply_code=310, reply_text="slow down")
    (row,) = where(wire.close().tables()["frames"], name="channel.alert")
    assert row["reply_code"] == 310


# -- 0-10 ---------------------------------------------------------------------------------

COMMANDS = [
    (segment, class_code, code, f"{class_name}.{name}")
    for (class_code, class_name), names in v0_10.CLASSES.items()
    for (segment, code), name in names.items()
]


@pytest.mark.parametrize(("segment", "class_code", "code", "name"), COMMANDS,
                         ids=[c[3] for c in COMMANDS])  # fmt: skip
def test_0_10_names(segment: int, class_code: int, code: int, name: str) -> None:
    octets = encode_frame010(segment, 1, bytes((class_code, code)) + b"rest")
    frame = cut_frame010(octets, 0, len(octets))
    assert frame is not None
    assert frame.is_sane
    assert name_frame010(frame, octets) == name


def talk_010(*octets: bytes) -> Talk:
    talk = Talk().open().say(0, b"AMQP\x01\x01\x00\x0a").say(1, b"AMQP\x01\x01\x00\x0a")
    talk.say(1, encode_frame010(v0_10.CONTROL, 0, b"\x01\x01" + b"x" * 20))
    for piece in octets:
        talk.say(0, piece)
    return talk


def tables_of(talk: Talk, folder: Path) -> Tables:
    return dissect(write_pcap(folder / "v010.pcap", talk.packets))


MESSAGE = (
    encode_frame010(v0_10.COMMAND, 3, b"\x04\x01....", track=1),
    encode_frame010(v0_10.HEADER, 3, b"head", track=1),
    encode_frame010(v0_10.BODY, 3, b"hello", track=1),
)


def test_0_10_is_framed_and_named(tmp_path: Path) -> None:
    tables = tables_of(talk_010(*MESSAGE), tmp_path)
    (connection,) = tables["connections"]
    assert connection["dialect"] == "0-10"
    assert connection["decoded_bytes"] == connection["bytes_c2s"] + connection["bytes_s2c"]
    names = [row["name"] for row in tables["frames"]]
    assert sorted(names) == sorted(
        ["protocol-header"] * 2 + ["connection.start", "message.transfer", "header", "body"]
    )
    (body,) = where(tables["frames"], name="body")
    assert (body["channel"], body["body_bytes"]) == (3, 5)
    assert tables.problem_codes() == {}


def test_0_10_unknown_command_and_garbage(tmp_path: Path) -> None:
    odd = encode_frame010(v0_10.COMMAND, 1, b"\xee\xee")
    tables = tables_of(talk_010(odd, b"\xff" * 30, *MESSAGE, *MESSAGE), tmp_path)
    assert tables.problem_codes() == {"method09.unknown": 1, "frame.garbage": 1}
    assert tables.names()["message.transfer"] == 2
    assert tables["connections"][0]["skipped_bytes"] == 30
