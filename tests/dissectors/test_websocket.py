"""AMQP over WebSocket: the tables are those of the same talk without it."""

from __future__ import annotations

import random
import subprocess

import pytest

from tests.builders.streams import joined, said_in, without_packet
from tests.builders.tls import tls_talk
from tests.builders.websocket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    frame,
    request,
    response,
    websocket_talk,
)
from tests.dissectors.test_samples_ledger import assert_ledger
from tests.dissectors.tls.test_suites import assert_same_rows, write_keys, write_talk
from tests.tables import Tables, dissect

SAID = {"0-9-1": said_in("01", 40), "1.0": said_in("10a", 40)}
PORTS = (40001, 8080)
MASK = b"\x11\x22\x33\x44"


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> dict[str, Tables]:
    folder = tmp_path_factory.mktemp("plain")
    return {d: dissect(write_talk(folder / f"{d}.pcap", said)) for d, said in SAID.items()}


@pytest.mark.parametrize("dialect", SAID)
@pytest.mark.parametrize("protocol", ["amqp", "AMQPWSB10", "mqtt, amqp"])
def test_same_rows_as_without_websocket(dialect, protocol, plain, tmp_path):
    """Both dialects name the subprotocol amqp; a client may offer others too."""
    wire = websocket_talk(SAID[dialect], protocol)
    tables = dissect(write_talk(tmp_path / "a.pcap", wire, ports=PORTS))
    assert_same_rows(tables, plain[dialect])
    (connection,) = tables["connections"]
    assert (connection["dialect"], connection["transport"]) == (dialect, "websocket")
    assert tables["problems"] == plain[dialect]["problems"]
    assert_ledger(tables)


@pytest.mark.parametrize("mss", [1, 3, 50, 1448])
def test_cut_and_joined_by_segments(mss, plain, tmp_path):
    tables = dissect(write_talk(tmp_path / "a.pcap", websocket_talk(SAID["1.0"]), mss, PORTS))
    assert_same_rows(tables, plain["1.0"])
    assert_ledger(tables)


def test_messages_need_not_fit_frames(plain, tmp_path):
    """Fragmented messages with control frames between, AMQP frames across messages, every
    width of the length field (RFC 6455 §5.2, §5.4)."""
    rng = random.Random(7)
    wire = [(0, request()), (1, response())]
    for side, octets in SAID["1.0"]:
        mask = MASK if side == 0 else None
        pieces, at, was_last = [], 0, True
        while at < len(octets):
            step = rng.randint(1, 60)
            pieces.append(octets[at : at + step])
            at += step
        for number, piece in enumerate(pieces):
            is_last = number == len(pieces) - 1 or rng.random() < 0.3
            opcode = BINARY if was_last else CONTINUATION
            width = rng.choice([0, 2, 8])
            wire.append((side, frame(piece, opcode, mask, is_last, width=width)))
            was_last = is_last
            if rng.random() < 0.3:
                kind = rng.choice([PING, PONG])
                wire.append((side, frame(b"\x00\x00\x00\x08", kind, mask)))
    wire.append((0, frame(b"\x03\xe8bye", CLOSE, MASK)))
    tables = dissect(write_talk(tmp_path / "a.pcap", wire, ports=PORTS))
    assert_same_rows(tables, plain["1.0"])
    assert_ledger(tables)


def test_over_tls(plain, tmp_path):
    wire, keylog = tls_talk(websocket_talk(SAID["1.0"]))
    keys = write_keys(tmp_path / "keys", keylog)
    tables = dissect(write_talk(tmp_path / "a.pcap", wire, ports=(40001, 443)), keylog=keys)
    assert_same_rows(tables, plain["1.0"])
    (connection,) = tables["connections"]
    assert (connection["dialect"], connection["transport"]) == ("1.0", "websocket+tls")
    assert connection["tls_sni"] == "broker.example"
    assert_ledger(tables)


def test_tshark_unmasks_to_the_same_octets(tmp_path):
    capture = write_talk(tmp_path / "a.pcap", websocket_talk(SAID["1.0"]), ports=PORTS)
    shown = subprocess.run(
        ["tshark", "-r", capture, "--disable-protocol", "amqp", "-Y", "websocket", "-T", "fields",
         "-e", "tcp.srcport", "-e", "data.data"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    told = [line.split("\t") for line in shown.splitlines()]
    by_tshark = [(int(port == "8080"), bytes.fromhex(data)) for port, data in told]
    assert joined(by_tshark) == joined(SAID["1.0"])
    frames = dissect(capture)["frames"]
    for side, direction in enumerate(("c2s", "s2c")):
        sizes = [row["size_bytes"] for row in frames if row["direction"] == direction]
        assert sum(sizes) == len(joined(by_tshark)[side])


def test_a_refused_upgrade(tmp_path):
    wire = [(0, request()), (1, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nno!\n")]
    tables = dissect(write_talk(tmp_path / "a.pcap", wire, ports=(40001, 5672)))
    (problem,) = tables["problems"]
    assert (problem["code"], problem["detail"]) == ("websocket.refused", "HTTP/1.1 403 Forbidden")
    assert tables["connections"][0]["transport"] == "websocket"
    assert_ledger(tables)


def test_text_messages_and_compression_are_counted_not_read(tmp_path):
    amqp = b"AMQP\x00\x00\x09\x01"
    wire = [(0, request()), (1, response(extensions="permessage-deflate")),
            (0, frame(amqp, mask=MASK)), (1, frame(b"hello", TEXT)),
            (1, frame(b"\x4a\x74\x0c\x08\x00", reserved=0x40)),
            (1, frame(b"\x4a\x74\x0c\x08\x00", reserved=0x40))]  # fmt: skip
    tables = dissect(write_talk(tmp_path / "a.pcap", wire, ports=PORTS))
    assert tables.names() == {"protocol-header": 1}
    assert tables.problem_codes()["websocket.compressed"] == 1
    assert_ledger(tables)


def test_other_websockets_leave_no_row(tmp_path):
    wire = [(0, request("chat")), (1, response("chat")), (0, frame(b"hello", TEXT, MASK))]
    assert dissect(write_talk(tmp_path / "a.pcap", wire, ports=PORTS))["connections"] == []


@pytest.mark.parametrize("dropped", [8, 12, 20])
def test_lost_packets_inside_a_websocket(dropped, plain, tmp_path):
    path = tmp_path / "a.pcap"
    write_talk(path, websocket_talk(SAID["1.0"]), ports=PORTS)
    path.write_bytes(without_packet(path.read_bytes(), dropped))
    tables = dissect(str(path))
    assert_ledger(tables)
    (connection,) = tables["connections"]
    assert connection["missing_bytes"] > 0
    lost = len(plain["1.0"]["frames"]) - len(tables["frames"])
    assert 0 < lost <= 6
