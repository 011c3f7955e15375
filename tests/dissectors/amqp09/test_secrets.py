"""Credentials never leave the decoder: not in any table, whole, damaged or cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.amqp09 import CLIENT, SERVER, Wire09, table
from tests.builders.talk import Talk, pcap_bytes, write_pcap
from tests.samples import manifest, sample
from tests.tables import Tables, dissect

SECRET = b"s3cret-PASSWORD-of-ours"
RESPONSE = b"\0admin\0" + SECRET


def fragments(secret: bytes, size: int = 5) -> set[str]:
    """Pieces of a secret as text and as hex digits: none of them may be seen."""
    pieces = {secret[at : at + size] for at in range(len(secret) - size + 1)}
    return {piece.decode("latin-1") for piece in pieces} | {piece.hex() for piece in pieces}


def assert_hidden(tables: Tables, secret: bytes = SECRET) -> None:
    text = repr(dict(tables))
    assert not [piece for piece in fragments(secret) if piece in text]


def shown(wire: Wire09, **options: bool) -> Tables:
    return wire.tables(**options)


def test_start_ok() -> None:
    tables = Wire09().start(response=RESPONSE).open().close().tables(has_payloads=True)
    assert_hidden(tables)
    (row,) = [r for r in tables["frames"] if r["name"] == "connection.start-ok"]
    assert f"<{len(RESPONSE)} octets>" in row["fields"]


def test_secure_ok_and_update_secret() -> None:
    wire = Wire09().start(response=b"")
    wire.server(0, "connection.secure", challenge=b"say")
    wire.client(0, "connection.secure-ok", response=RESPONSE)
    wire.client(0, "connection.update-secret", new_secret=SECRET, reason="rotated")
    tables = wire.close().tables()
    assert_hidden(tables)
    assert "rotated" in repr(tables["frames"])


@pytest.mark.parametrize("name", ["connection.start-ok", "connection.secure-ok",
                                  "connection.update-secret"])  # fmt: skip
@pytest.mark.parametrize("damage", ["end", "short", "long", "oversized", "channel"])
def test_damaged_frames_do_not_show_it(name: str, damage: str) -> None:
    wire = Wire09().start(frame_max=4096 if damage != "oversized" else 30)
    argument = "new_secret" if "update" in name else "response"
    octets = wire.make.method(1 if damage == "channel" else 0, name, **{argument: RESPONSE})
    payload = octets[7:-1]
    changed = {
        "end": octets[:-1] + b"\0",
        "short": wire.make.frame(1, 0, payload[:-3]),
        "long": wire.make.frame(1, 0, payload + SECRET),
    }.get(damage, octets)
    assert_hidden(wire.say(CLIENT, changed).close().tables())


@pytest.mark.parametrize("at", [3, 9, 16, 20, 24, 28])
@pytest.mark.parametrize("is_lost", [False, True])
def test_frames_cut_or_holed_anywhere(at: int, is_lost: bool) -> None:
    """A secret that goes over two packets of which one is lost, or that the capture ends in."""
    wire = Wire09().start()
    octets = wire.make.method(0, "connection.update-secret", new_secret=SECRET)
    wire.say(CLIENT, octets[:at]).say(CLIENT, octets[at:]).publish(0, b"x")
    if is_lost:
        del wire.talk.packets[-3]
    else:
        del wire.talk.packets[-2:]
    assert_hidden(wire.tables())
    # and a capture that begins with its second half
    wire.talk.packets = wire.talk.packets[-2:]
    assert_hidden(wire.tables())


def test_secret_after_garbage() -> None:
    wire = Wire09().start()
    octets = wire.make.method(0, "connection.update-secret", new_secret=SECRET)
    assert_hidden(wire.say(CLIENT, b"\xff" + octets[12:]).publish(1, b"x").tables())


@pytest.mark.parametrize("entry", [e for e in manifest() if not e["dialect"].startswith("1")],
                         ids=lambda e: e["file"])  # fmt: skip
def test_samples(entry: dict) -> None:
    """All our brokers were used as guest/guest: the PLAIN response must not be there."""
    text = repr(dict(dissect(sample(entry["file"]))))
    for secret in (b"\0guest\0guest", b"guest\0guest", b"\x05LOGINS", b"\x08PASSWORDS"):
        assert secret.decode() not in text
        assert repr(secret.decode())[1:-1] not in text
        assert secret.hex() not in text


def test_sample_cut_inside_the_handshake(tmp_path: Path) -> None:
    from tests.dissectors.test_variants import read_packets

    packets = read_packets(sample("01"))
    cut = [(ts, data[:-14] if b"\0guest\0guest" in data else data) for ts, data in packets]
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap_bytes(cut))
    assert "guest" not in repr(dissect(str(path))["problems"])


def test_server_octets_are_still_shown() -> None:
    """Only the client has secrets: the server's garbage stays visible."""
    wire = Wire09().start().say(SERVER, b"\xfegarbage-to-show")
    (problem,) = wire.server(0, "connection.blocked").close().tables()["problems"]
    assert problem["first_bytes"].startswith("fe" + b"garbage".hex())


def test_properties_of_peers_are_shown() -> None:
    tables = Wire09().start().open().publish(1, b"x", headers=table(user="visible")).tables()
    assert "visible" in repr(tables["transfers"])


def start_ok(response: bytes = RESPONSE) -> bytearray:
    """A start-ok: 7 octets of frame header, 4 of ids, 4 of an empty table, then the mechanism."""
    payload = b"\0\x0a\0\x0b" + bytes(4) + b"\x05PLAIN" + len(response).to_bytes(4, "big")
    return bytearray(Wire09().make.frame(1, 0, payload + response + b"\x05en_US"))


@pytest.mark.parametrize("at", [14, 15], ids=["properties", "mechanism"])
def test_a_damaged_length_before_the_response(tmp_path: Path, at: int) -> None:
    """The neighbour's length reaches into the response, which is read as a part of it."""
    octets = start_ok()
    octets[at] = 26
    talk = Talk().open().say(0, b"AMQP\0\0\x09\1").say(0, bytes(octets))
    tables = dissect(write_pcap(tmp_path / "damaged.pcap", talk.packets))
    assert "connection.start-ok" in tables.names()
    assert_hidden(tables)


def test_a_capture_that_begins_inside_the_response(tmp_path: Path) -> None:
    """No frame to know it by: the stream is no AMQP to anyone, on AMQP's port."""
    talk = Talk().say(0, bytes(start_ok()[28:]))
    tables = dissect(write_pcap(tmp_path / "inside.pcap", talk.packets))
    assert tables.problem_codes() == {"detect.not_amqp": 1}
    assert_hidden(tables)


def test_a_damaged_record_whose_next_header_stands_in_the_response(tmp_path: Path) -> None:
    talk = Talk().open().say(0, b"AMQP\0\0\x09\1").say(0, bytes(start_ok())).close()
    octets = bytearray(pcap_bytes(talk.packets))
    secret = octets.index(SECRET)
    packet = octets.rindex(b"\x02" * 12, 0, secret)
    octets[packet - 8 : packet - 4] = (secret - packet).to_bytes(4, "little")
    path = tmp_path / "damaged.pcap"
    path.write_bytes(octets)
    tables = dissect(str(path))
    assert "capture.bad_block" in tables.problem_codes()
    assert_hidden(tables)
