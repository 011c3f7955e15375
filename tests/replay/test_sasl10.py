"""The prologue of both sides: headers, mechanisms, refusals; captured secrets are never sent."""

from __future__ import annotations

import pytest

from dissectors.amqp10.frames import SASL_FRAME
from replay.engine import Credentials
from replay.engine10.frame import Frame, make_frame
from replay.engine10.sasl import CapturedLogin, ClientPrologue, ServerPrologue
from replay.engine10.stream import Cutter, NotAmqpError

SASL_HEADER = b"AMQP\x03\x01\x00\x00"
AMQP_HEADER = b"AMQP\x00\x01\x00\x00"
CREDENTIALS = Credentials("user", "secret")


def login(mechanism: str | None = "PLAIN") -> CapturedLogin:
    found = CapturedLogin()
    found.see(Frame(SASL_HEADER))
    if mechanism:
        fields = {"mechanism": mechanism, "initial-response": b"\0captured\0password"}
        found.see(Frame(make_frame("sasl-init", fields, 0, SASL_FRAME)))
    return found


def sasl(name: str, **fields: object) -> bytes:
    spelled = {key.replace("_", "-"): value for key, value in fields.items()}
    return make_frame(name, spelled, 0, SASL_FRAME)


def mechanisms(*names: str) -> bytes:
    return sasl("sasl-mechanisms", sasl_server_mechanisms=list(names))


def said(prologue: ClientPrologue | ServerPrologue) -> list[bytes]:
    octets = bytes(prologue.out)
    prologue.out.clear()
    return Cutter().feed(octets)


def test_plain_with_our_own_credentials() -> None:
    client = ClientPrologue(login(), CREDENTIALS)
    client.start()
    assert said(client) == [SASL_HEADER]
    client.take(SASL_HEADER)
    client.take(mechanisms("ANONYMOUS", "PLAIN"))
    (octets,) = said(client)
    init = Frame(octets)
    assert init.text("mechanism") == "PLAIN"
    assert init.raw("initial-response") == b"\xa0\x0c\0user\0secret"
    assert b"captured" not in octets
    assert client.secrets == [b"\0user\0secret"]
    client.take(sasl("sasl-outcome", code=0))
    assert said(client) == [AMQP_HEADER]
    assert not client.is_done
    client.take(AMQP_HEADER)
    assert client.is_done and client.failure is None


@pytest.mark.parametrize(
    ("captured", "wanted", "offered", "chosen"),
    [
        ("ANONYMOUS", None, ("PLAIN", "ANONYMOUS"), "ANONYMOUS"),
        ("ANONYMOUS", None, ("PLAIN",), "PLAIN"),
        ("EXTERNAL", None, ("EXTERNAL", "PLAIN"), "EXTERNAL"),
        ("SCRAM-SHA-256", None, ("SCRAM-SHA-256", "PLAIN"), "PLAIN"),
        ("PLAIN", "EXTERNAL", ("PLAIN", "EXTERNAL"), "EXTERNAL"),
        ("PLAIN", "EXTERNAL", ("PLAIN",), None),
        ("PLAIN", None, ("GSSAPI",), None),
    ],
)
def test_the_mechanism(
    captured: str, wanted: str | None, offered: tuple[str, ...], chosen: str | None
) -> None:
    client = ClientPrologue(login(captured), Credentials("u", "p", wanted))
    client.take(SASL_HEADER)
    client.take(mechanisms(*offered))
    assert client.mechanism == chosen
    assert (client.failure is None) == (chosen is not None)


def test_no_sasl_where_none_was_captured_and_none_is_asked_for() -> None:
    client = ClientPrologue(CapturedLogin(), CREDENTIALS)
    client.start()
    assert said(client) == [AMQP_HEADER]
    client.take(AMQP_HEADER)
    assert client.is_done


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"AMQP\x00\x00\x09\x01", "not 1.0"),
        (AMQP_HEADER, "no SASL"),
        (b"AMQP\x02\x01\x00\x00", "TLS"),
        (make_frame("open", {"container-id": "x"}), "open"),
    ],
)
def test_an_answer_that_is_of_no_use_is_said_clearly(answer: bytes, words: str) -> None:
    client = ClientPrologue(login(), CREDENTIALS)
    client.take(answer)
    assert client.failure is not None and words in client.failure


def test_a_refused_login() -> None:
    client = ClientPrologue(login(), CREDENTIALS)
    client.take(SASL_HEADER)
    client.take(mechanisms("PLAIN"))
    client.take(sasl("sasl-outcome", code=1))
    assert client.failure == "the peer refused the login: PLAIN, outcome auth"
    assert client.is_refused and "secret" not in client.failure


def test_the_mock_lets_everybody_in() -> None:
    captured = login()
    captured.see(Frame(mechanisms("PLAIN", "AMQPLAIN")))
    server = ServerPrologue(captured)
    server.start()
    server.take(SASL_HEADER)
    header, offer = said(server)
    assert header == SASL_HEADER and b"AMQPLAIN" in offer
    server.take(sasl("sasl-init", mechanism="PLAIN", initial_response=b"\0any\0thing"))
    assert [Frame(octets).name for octets in said(server)] == ["sasl-outcome"]
    server.take(AMQP_HEADER)
    assert said(server) == [AMQP_HEADER]
    assert server.is_done


def test_the_mock_refuses_where_the_capture_did() -> None:
    captured = login()
    captured.see(Frame(sasl("sasl-outcome", code=1)))
    server = ServerPrologue(captured)
    server.take(SASL_HEADER)
    server.take(sasl("sasl-init", mechanism="PLAIN"))
    assert said(server)[-1][-2:] == b"\x50\x01"


def test_frames_come_whole_however_they_are_cut() -> None:
    stream = SASL_HEADER + mechanisms("PLAIN") + AMQP_HEADER
    cutter = Cutter()
    found = [frame for octet in stream for frame in cutter.feed(bytes((octet,)))]
    assert found == Cutter().feed(stream) and len(found) == 3


@pytest.mark.parametrize("octets", [b"HTTP/1.1 400", b"\0\0\0\x04\x02\0\0\0", b"\xff" * 8])
def test_what_is_no_amqp_is_not_waited_for(octets: bytes) -> None:
    with pytest.raises(NotAmqpError):
        Cutter().feed(octets)
