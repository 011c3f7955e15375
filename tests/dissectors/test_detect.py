"""Which protocol it is: every row of the protocol headers, shapes in mid-stream, and strangers."""

from __future__ import annotations

import struct

import pytest

from dissectors.detect import Piece, Verdict, detect
from tests.builders.talk import Talk, write_pcap
from tests.tables import dissect

START_7 = b"\x01\x00\x00" + struct.pack(">I", 12) + struct.pack(">HH", 10, 10) + bytes(8) + b"\xce"
START_8 = b"\x01\x00\x00\x00" + START_7[3:]
OPEN_10 = bytes.fromhex("00000014 02000000 005310 c0 07 01 a1 04") + b"test"
OPEN_DRAFT = bytes.fromhex("0000001a 02000000 0080 0000000100000100 c0 06 02 40 a1 02") + b"ab"
OPEN_DRAFT_SYMBOL = (
    struct.pack(">IBBH", 8 + 17 + 8, 2, 0, 0)
    + b"\x00\xa3\x0eamqp:open:list"
    + bytes.fromhex("c0 06 02 40 a1 02")
    + b"ab"
)
PUBLISH = b"\x01\x00\x01\x00\x00\x00\x09\x00\x3c\x00\x28\x00\x00\x00\x00\x00\xce"
DELIVER_HEAD = b"\x01\x00\x01\x00\x00\x00\x11\x00\x3c\x00\x3c\x01a" + bytes(8) + b"\x00\x00\x00\xce"
DISPOSITION = bytes.fromhex("00000016 02000000 005315 c0 09 05 41 43 43 41 005324 45")
# 0-10: a session.flush command on channel 1, in one frame of one segment of one frame
FLOW_010 = bytes.fromhex("0f01 0011 00 01 0001 00000000 02 0b 01 00 00")


def pieces(*said: tuple[int, bytes]) -> list[Piece]:
    ends = [0, 0]
    out = []
    for number, (side, octets) in enumerate(said):
        out.append(Piece(side, octets, number, number, ends[side]))
        ends[side] += len(octets)
    return out


def found(
    *said: tuple[int, bytes], is_final: bool = False, is_whole: bool = True
) -> Verdict | None:
    return detect(pieces(*said), is_final, is_whole)


HEADERS = [
    ((0, 0, 9, 1), [], "0-9-1"),
    ((1, 1, 0, 9), [], "0-9"),
    ((1, 1, 0, 11), [], "0-9"),
    ((1, 1, 8, 0), [], "0-8"),
    ((1, 1, 9, 1), [(1, START_7)], "0-8"),
    ((1, 1, 9, 1), [(1, START_8)], "0-9-draft"),
    ((1, 1, 0, 10), [], "0-10"),
    ((0, 1, 0, 0), [(0, OPEN_10)], "1.0"),
    ((3, 1, 0, 0), [(1, b"AMQP\x03\x01\x00\x00"), (0, b"AMQP\x00\x01\x00\x00" + OPEN_10)], "1.0"),
    ((0, 1, 0, 0), [(0, OPEN_DRAFT)], "1.0-draft"),
    ((0, 1, 0, 0), [(1, b"AMQP\x00\x01\x00\x00"), (0, OPEN_DRAFT_SYMBOL)], "1.0-draft"),
]


@pytest.mark.parametrize(("octets", "rest", "dialect"), HEADERS)
def test_protocol_headers(octets, rest, dialect):
    verdict = found((0, b"AMQP" + bytes(octets)), *rest)
    assert verdict is not None
    assert (verdict.dialect, verdict.known_by, verdict.client_side) == (
        dialect,
        "protocol-header",
        0,
    )
    assert verdict.confidence == 1.0


HEADER_10 = b"AMQP\x00\x01\x00\x00"
HEADER_SASL = b"AMQP\x03\x01\x00\x00"


@pytest.mark.parametrize(
    ("said", "client"),
    [
        # 1.0 §2.2: each side sends the header; who is past its own when the other's is seen
        # has sent it first.
        ([(0, HEADER_10 + OPEN_10), (1, DISPOSITION)], 1),
        ([(0, HEADER_SASL), (1, HEADER_10 + OPEN_10)], 0),
        ([(0, HEADER_10 + OPEN_10), (1, HEADER_10 + OPEN_10)], 0),
        # Of the 0-9 family only clients send it.
        ([(0, b"AMQP\x00\x00\x09\x01"), (1, START_7)], 0),
    ],
)
def test_a_header_seen_first_may_be_the_answer_to_one_that_was_not_seen(said, client):
    verdict = found(*said, is_final=True, is_whole=False)
    assert (verdict.client_side, verdict.client_known_by) == (client, "protocol-header")


def test_a_late_header_waits_for_the_other_side():
    assert found((0, HEADER_10 + OPEN_10), is_whole=False) is None
    verdict = found((0, HEADER_10 + OPEN_10), is_whole=False, is_final=True)
    assert verdict.client_side == 0


def test_an_ambiguous_header_waits_for_the_first_frame():
    assert found((0, b"AMQP\x01\x01\x09\x01")) is None
    assert found((0, b"AMQP\x00\x01\x00\x00")) is None
    assert found((0, b"AMQ")) is None


def test_a_header_in_single_bytes():
    said = [(0, bytes([octet])) for octet in b"AMQP\x00\x00\x09\x01"]
    assert found(*said[:7]) is None
    assert found(*said).dialect == "0-9-1"


@pytest.mark.parametrize(
    ("said", "dialect", "client_side"),
    [
        ((0, PUBLISH), "0-9-1", 0),
        ((1, DELIVER_HEAD), "0-9-1", 0),
        ((0, DELIVER_HEAD), "0-9-1", 1),
        ((0, b"\x08\x00\x00\x00\x00\x00\x00\xce"), "0-9-1", -1),
        ((0, DISPOSITION), "1.0", -1),
        ((0, bytes.fromhex("0000000802000000")), "1.0", -1),
        ((0, OPEN_DRAFT), "1.0-draft", -1),
        ((0, START_8), "0-9-draft", -1),
        ((0, FLOW_010 * 2), "0-10", -1),
    ],
)
def test_shapes_in_midstream(said, dialect, client_side):
    verdict = found(said, is_whole=False)
    assert (verdict.dialect, verdict.client_side, verdict.is_midstream) == (
        dialect,
        client_side,
        True,
    )
    assert 0.5 < verdict.confidence < 1.0


def test_a_capture_that_begins_inside_a_frame():
    verdict = found((0, b"rest of some body\xce"), (0, PUBLISH), is_whole=False)
    assert verdict.dialect == "0-9-1"


BODY = b"\x03\x00\x01\x00\x00\x02\x00" + bytes(512) + b"\xce"
INSIDE = {"0-9-1": PUBLISH + BODY + PUBLISH, "1.0": DISPOSITION * 3}


@pytest.mark.parametrize("dialect", INSIDE)
@pytest.mark.parametrize("is_whole", [True, False])
def test_frames_that_never_begin_with_a_segment(dialect, is_whole):
    """Bulk traffic captured in the middle: every segment boundary is inside some frame."""
    stream = bytes(40_000) + b"\xce" + INSIDE[dialect] * 200
    said = [(0, stream[at : at + 1447]) for at in range(0, len(stream), 1447)]
    assert all(detect(pieces(p), False, False) is None for p in said)
    verdict = found(*said, is_final=True, is_whole=is_whole)
    assert (verdict.dialect, verdict.is_midstream) == (dialect, True)


def test_a_proxy_line_before_the_header():
    said = [(0, b"PROXY TCP4 10.0.0.1 10.0.0.2 40001 5672\r\nAMQP\0\0\x09\x01"), (1, START_7)]
    assert found(*said).dialect == "0-9-1"


def test_strangers_are_given_up():
    begun = [(0, b"SSH-2.0-OpenSSH")] + [(1, b"nothing of ours")] * 20
    assert found(*begun).dialect is None
    assert found(*begun, is_whole=False) is None
    assert found((0, b"SSH-2.0-OpenSSH"), is_final=True).dialect is None
    assert found(*[(0, b"nothing of ours")] * 300, is_whole=False).dialect is None


def test_forced_port_and_unusual_port(tmp_path):
    frames = b"AMQP\x00\x00\x09\x01"
    path = write_pcap(
        tmp_path / "a.pcap", Talk((40001, 9999)).open().say(0, frames).close().packets
    )
    (row,) = dissect(path)["connections"]
    assert (row["dialect"], row["dialect_known_by"]) == ("0-9-1", "protocol-header")
    (row,) = dissect(path, forced_ports={9999: "0-8"})["connections"]
    assert (row["dialect"], row["dialect_known_by"]) == ("0-8", "forced")


def test_http_and_tls_on_an_amqp_port(tmp_path):
    request = Talk().open().say(0, b"GET / HTTP/1.1\r\n\r\n").say(1, b"AMQP\x00\x00\x09\x01")
    tables = dissect(write_pcap(tmp_path / "http.pcap", request.close().packets))
    assert tables["connections"][0]["dialect"] == "http"
    assert tables.problem_codes()["detect.http"] == 1
    assert tables.names() == {"protocol-header": 1}
    hello = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"
    tables = dissect(write_pcap(tmp_path / "tls.pcap", Talk().open().say(0, hello).close().packets))
    assert tables["connections"][0]["dialect"] == "tls"
    assert tables["connections"][0]["transport"] == "tls"


def test_strangers_on_other_ports_leave_no_row(tmp_path):
    noise = Talk((40001, 8088)).open().say(0, b"GET /AMQP HTTP/1.1\r\n\r\n").say(1, b"HTTP/1.1 200")
    tables = dissect(write_pcap(tmp_path / "noise.pcap", noise.close().packets))
    assert tables["connections"] == []


def test_who_is_client_and_how_we_know(tmp_path):
    beheaded = Talk().say(1, DELIVER_HEAD).say(0, PUBLISH).packets
    (row,) = dissect(write_pcap(tmp_path / "m.pcap", beheaded))["connections"]
    assert (row["client"], row["client_known_by"]) == ("10.0.0.1:40001", "method")
    by_port = Talk((5672, 40001)).say(0, DISPOSITION).packets
    (row,) = dissect(write_pcap(tmp_path / "p.pcap", by_port))["connections"]
    assert (row["server"], row["client_known_by"]) == ("10.0.0.1:5672", "port")
    unknown = Talk((40002, 40001)).say(0, DISPOSITION).packets
    tables = dissect(write_pcap(tmp_path / "u.pcap", unknown))
    assert tables["connections"][0]["client_known_by"] == "unknown"
    assert tables["frames"][0]["direction"] == "unknown"
