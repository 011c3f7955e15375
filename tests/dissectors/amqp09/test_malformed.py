"""Each way in which frames can be wrong: a named problem, what was done, and the rest is read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dissectors.problems import PROBLEM_CODES
from tests.builders.amqp09 import CLIENT, SERVER, Frames, Wire09
from tests.live.counting import where
from tests.tables import Tables

make = Frames()
publish = make.method(1, "basic.publish", routing_key="q")


def with_end(frame: bytes, octet: int) -> bytes:
    return frame[:-1] + bytes((octet,))


def with_payload(frame: bytes, payload: bytes) -> bytes:
    return make.frame(frame[0], int.from_bytes(frame[1:3], "big"), payload)


def cut_payload(frame: bytes, octets: int) -> bytes:
    return with_payload(frame, frame[7 : -1 - octets])


def grow_payload(frame: bytes, more: bytes) -> bytes:
    return with_payload(frame, frame[7:-1] + more)


# name: (octets of the client between two good messages, problem codes, status of the odd frame)
CASES: dict[str, tuple[bytes, list[str], set[str]]] = {
    # 0-9-1 §4.2.3: the frame-end must be checked before the frame is decoded
    "wrong frame-end": (with_end(make.method(1, "tx.select"), 0xFF), ["frame09.bad_end_octet"],
                        {"malformed"}),
    # §4.2.3: a peer must not send frames larger than agreed
    "over frame-max": (publish + make.content(1, b"x" * 5000), ["frame09.oversized"], {"ok"}),
    "unknown class": (make.frame(1, 1, b"\x01\x00\x00\x0a"), ["method09.unknown"], {"unknown"}),
    "unknown method": (make.frame(1, 1, b"\x00\x32\x00\x63"), ["method09.unknown"], {"unknown"}),
    "no room for ids": (make.frame(1, 1, b"\x00\x32\x00"), ["method09.short"], {"malformed"}),
    "short method": (cut_payload(make.method(1, "queue.delete", queue="q"), 1),
                     ["method09.short"], {"malformed"}),
    "long method": (grow_payload(make.method(1, "tx.select"), b"!!"), ["method09.long"],
                    {"malformed"}),
    "channel method on 0": (make.method(0, "basic.qos"), ["method09.channel"], {"ok"}),
    "connection method on 1": (make.method(1, "connection.open"), ["method09.channel"], {"ok"}),
    "field table of unknown letter": (
        with_payload(make.method(1, "queue.bind"),
                     make.payload("queue.bind", queue="q")[:-4] + b"\0\0\0\x04\x01a?\x07"),
        ["type09.field_table"], {"ok"}),
    # §4.2.6: method, header, bodies, in this order
    "header without method": (make.header(1, 3), ["content09.unexpected_header"], {"ok"}),
    "body without method": (make.body(1, b"x"), ["content09.unexpected_body"], {"ok"}),
    "body without header": (publish + make.body(1, b"x"),
                            ["content09.unexpected_body", "content09.incomplete"], {"ok"}),
    "second header": (publish + make.header(1, 2) + make.header(1, 2) + make.body(1, b"ab"),
                      ["content09.unexpected_header"], {"ok"}),
    "method inside content": (publish + make.header(1, 9) + make.body(1, b"ab")
                              + make.method(1, "basic.qos"), ["content09.incomplete"], {"ok"}),
    # §4.2.6.1: weight must be zero
    "weight in 0-9-1": (publish + make.header(1, 1, weight=2) + make.body(1, b"a"),
                        ["content09.weight"], {"ok"}),
    "header of another class": (publish + make.frame(2, 1, b"\0\x5a\0\0" + bytes(8) + b"\0\0"),
                                ["content09.wrong_class"], {"ok"}),
    "content on channel 0": (make.header(0, 1) + make.body(0, b"x"),
                             ["content09.channel_zero"] * 2, {"malformed"}),
    "header too short": (publish + make.frame(2, 1, b"\0\x3c\0\0\0\0"),
                         ["content09.bad_header", "content09.incomplete"], {"malformed"}),
    "properties cut": (publish + make.frame(2, 1, make.header(1, 0, message_id="abc")[7:-3]),
                       ["content09.bad_properties"], {"malformed"}),
    "unknown property": (publish + make.frame(2, 1, b"\0\x3c\0\0" + bytes(8) + b"\0\2"),
                         ["content09.unknown_properties"], {"ok"}),
    # §4.2.6.2: all bodies together have the size that the header says
    "body too long": (publish + make.header(1, 2) + make.body(1, b"abc"),
                      ["content09.body_too_long"], {"ok"}),
    "heartbeat on a channel": (make.frame(8, 1, b""), ["frame09.bad_heartbeat"], {"malformed"}),
    "heartbeat with payload": (make.frame(8, 0, b"x"), ["frame09.bad_heartbeat"], {"malformed"}),
    "out-of-band frame": (make.frame(4, 1, b""), ["frame09.unknown_type"], {"unknown"}),
    "trace frame on a channel": (make.frame(7, 1, b"t"), ["frame09.bad_trace"], {"malformed"}),
    "garbage": (b"\xff\xfe garbage \xce", ["frame.garbage"], set()),
    "unknown frame type": (make.frame(9, 1, b"abc"), ["frame.garbage"], set()),
    "channel not open": (make.method(7, "basic.qos"), ["state09.channel_not_open"], {"ok"}),
    "channel opened twice": (make.method(1, "channel.open"), ["state09.channel_reopened"], {"ok"}),
    "ack of nothing": (make.method(1, "basic.ack", delivery_tag=9), ["state09.unknown_tag"],
                       {"ok"}),
}  # fmt: skip


def around(octets: bytes) -> Tables:
    """A good message before and one after."""
    wire = Wire09().start(frame_max=4096).open()
    wire.publish(1, b"before").say(CLIENT, octets).publish(1, b"after", message_id="m")
    return wire.close().tables()


@pytest.mark.parametrize("name", CASES)
def test_one_wrong_thing(name: str) -> None:
    octets, codes, statuses = CASES[name]
    tables = around(octets)
    assert [row["code"] for row in tables["problems"]] == codes
    for row in tables["problems"]:
        assert row["recovery"] == PROBLEM_CODES[row["code"]].recovery
        assert row["direction"] == "c2s"
        assert row["packet_no"] is not None
    good = where(tables["transfers"], is_complete=True)
    assert {r["body_bytes"] for r in good} >= {len(b"before"), len(b"after")}
    assert where(good, message_id="m", body_bytes=5)
    odd = {row["status"] for row in tables["frames"]} - {"ok"}
    assert odd == statuses - {"ok"}
    (connection,) = tables["connections"]
    assert connection["close_code"] == 200
    ledger = ("decoded_bytes", "skipped_bytes", "missing_bytes", "leftover_bytes")
    assert sum(connection[c] for c in ledger) == connection["bytes_c2s"] + connection["bytes_s2c"]


def test_messages_that_are_wrong_are_kept_as_incomplete() -> None:
    for name in ("method inside content", "body too long", "body without header"):
        tables = around(CASES[name][0])
        assert len(tables["transfers"]) == 3
        assert len(where(tables["transfers"], is_complete=False, body_hash=None)) == 1


def test_wrong_frame_end_changes_nothing() -> None:
    """tx.select with a wrong end is named, but the channel is in no transaction."""
    tables = around(CASES["wrong frame-end"][0])
    (frame,) = where(tables["frames"], name="tx.select")
    assert frame["status"] == "malformed"
    (session,) = tables["sessions"]
    assert not session["is_transactional"]


def test_unread_field_table_keeps_its_octets() -> None:
    tables = around(CASES["field table of unknown letter"][0])
    (bind,) = where(tables["frames"], name="queue.bind")
    assert '"$hex":"01613f07"' in bind["fields"]
    assert '"queue":"q"' in bind["fields"]


def test_garbage_is_skipped_and_counted() -> None:
    octets = CASES["garbage"][0]
    (connection,) = around(octets)["connections"]
    assert connection["skipped_bytes"] == len(octets)


@pytest.mark.parametrize("channel", [1, 0x0101, 0xFFFF])
def test_garbage_that_looks_like_a_frame_is_not_believed(channel: int) -> None:
    """A frame header whose end is not in place is no place to go on from."""
    octets = b"\x00" + make.frame(3, channel, b"abcdef")[:-1] + b"\x00"
    tables = around(octets)
    assert where(tables["transfers"], is_complete=True, message_id="m")
    assert tables["connections"][0]["skipped_bytes"] == len(octets)


def test_server_sends_nonsense_too() -> None:
    wire = Wire09().start().open().consume(1).deliver(1, 1, b"one")
    wire.say(SERVER, b"\x99" * 40).deliver(1, 2, b"two").ack(1, 2, multiple=True)
    tables = wire.close().tables()
    assert tables.problem_codes() == {"frame.garbage": 1}
    (problem,) = tables["problems"]
    assert problem["first_bytes"] == "99" * 16
    assert [r["outcome"] for r in where(tables["transfers"], kind="deliver")] == ["accepted"] * 2


ENDINGS: dict[str, Callable[[Wire09], Wire09]] = {
    "inside a frame": lambda wire: wire.say(CLIENT, publish[:10]),
    "inside a frame header": lambda wire: wire.say(CLIENT, publish[:3]),
    "inside a content": lambda wire: wire.say(CLIENT, publish, make.header(1, 10)),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_capture_ends(name: str) -> None:
    tables = ENDINGS[name](Wire09().start().open().publish(1, b"one")).tables()
    assert where(tables["transfers"], is_complete=True, body_bytes=3)
    assert set(tables.problem_codes()) <= {"frame.leftover"}
