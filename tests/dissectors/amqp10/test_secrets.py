"""Credentials never reach a table, whatever shape the frame that carries them is in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xxhash import xxh3_64_hexdigest

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.frames import SASL_FRAME, SASL_PROTOCOL, encode_frame
from dissectors.amqp10.message import encode_message
from tests.dissectors.amqp10.dialogue import (
    CLIENT,
    RECEIVER,
    SENDER,
    SERVER,
    Dialogue,
    composite,
    performative,
    session,
)
from tests.samples import sample
from tests.tables import Tables, dissect

SECRET = b"hush-hush-hush-hush-hush"
FORMS = (SECRET.decode(), SECRET.hex(), xxh3_64_hexdigest(SECRET))


def assert_no_secret(tables: Tables, forms: tuple[str, ...] = FORMS) -> None:
    shown = repr(dict(tables))
    for form in forms:
        assert form not in shown


def sasl(frame: bytes) -> Dialogue:
    talk = Dialogue().header(CLIENT, SASL_PROTOCOL).header(SERVER, SASL_PROTOCOL)
    return talk.octets(CLIENT, frame)


INIT = performative("sasl-init", mechanism="PLAIN", initial_response=SECRET)
RESPONSE = performative("sasl-response", response=SECRET)
BROKEN: dict[str, Callable[[], bytes]] = {
    "init": lambda: INIT,
    "response": lambda: RESPONSE,
    "challenge": lambda: performative("sasl-challenge", challenge=SECRET),
    "outcome": lambda: performative("sasl-outcome", code=0, additional_data=SECRET),
    "cut": lambda: INIT[:-3],
    "cut response": lambda: RESPONSE[:-3],
    "another type": lambda: INIT.replace(b"\xa0\x18", b"\xa1\x18"),
    "unknown descriptor": lambda: INIT.replace(b"\x00\x53\x41", b"\x00\x53\x4f"),
    "performative in a SASL frame": lambda: performative("open", container_id=SECRET.decode()),
    "no descriptor": lambda: INIT[3:],
    "wrong count": lambda: INIT[:4] + bytes((INIT[4], 9)) + INIT[6:],
    "an extra field": lambda: STANDARD.types.encode(
        STANDARD.types.make("list", tuple(STANDARD.types.make("binary", SECRET) for _ in range(5)))
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_sasl_secrets(tmp_path: Path, what: str) -> None:
    tables = sasl(encode_frame(BROKEN[what](), 0, SASL_FRAME)).tables(tmp_path)
    assert len(tables["frames"]) == 3
    assert_no_secret(tables)


def test_a_sasl_frame_whose_type_was_damaged(tmp_path: Path) -> None:
    tables = sasl(encode_frame(INIT)).tables(tmp_path)
    assert [r["name"] for r in tables["frames"]][2] == "unknown"
    assert_no_secret(tables)


def test_extra_fields_of_a_sasl_frame(tmp_path: Path) -> None:
    items = (
        STANDARD.types.make("symbol", "PLAIN"),
        *(STANDARD.types.make("binary", SECRET) for _ in range(4)),
    )
    body = b"\x00\x53\x41" + STANDARD.types.encode(STANDARD.types.make("list", items))
    assert_no_secret(sasl(encode_frame(body, 0, SASL_FRAME)).tables(tmp_path))


def test_a_sasl_frame_with_a_hole(tmp_path: Path) -> None:
    talk = Dialogue().header(CLIENT, SASL_PROTOCOL).header(SERVER, SASL_PROTOCOL)
    frame = encode_frame(INIT, 0, SASL_FRAME)
    talk.octets(CLIENT, frame[:30])
    talk.talk.seq[CLIENT] += 5
    talk.octets(CLIENT, frame[35:]).octets(SERVER, encode_frame(b"")).octets(
        CLIENT, encode_frame(b"")
    )
    assert_no_secret(talk.tables(tmp_path), (SECRET.hex()[:16], SECRET.hex()[-16:], FORMS[0]))


def test_passwords_in_the_samples() -> None:
    """Sample 16 logs in with PLAIN, once with a wrong password."""
    tables = dissect(sample("16"))
    inits = [r["fields"] for r in tables["frames"] if r["name"] == "sasl-init"]
    assert any("PLAIN" in fields for fields in inits)
    assert_no_secret(tables, ("guest\\x00guest", "677565737400", "wrong"))


PUT_TOKEN = {
    "properties": {"message-id": "1", "reply-to": "cbs"},
    "application-properties": {"operation": "put-token", "type": "jwt", "name": "sb://x/q"},
    "amqp-value": SECRET.decode(),
}


@pytest.mark.parametrize("address", ["$cbs", "sb://host/$cbs", "$CBS"])
def test_cbs_tokens(tmp_path: Path, address: str) -> None:
    """Claims-based security: a token is put as a message to the node `$cbs`. Where its link is
    not known the operation itself tells."""
    token = encode_message(STANDARD, PUT_TOKEN)
    target = composite("target", address=address)
    talk = session().attached("cbs", SENDER, target=target).attached("cbs", RECEIVER, 1)
    talk.transfer(CLIENT, 0, payload=token).settle(SERVER, RECEIVER, 0).closed()
    tables = talk.tables(tmp_path, has_payloads=True)
    (row,) = tables["transfers"]
    assert (row["outcome"], row["body_hash"]) == ("accepted", None)
    assert not tables["payloads"]
    assert_no_secret(tables)


def test_cbs_tokens_in_many_frames_and_in_mid_connection(tmp_path: Path) -> None:
    token = encode_message(STANDARD, PUT_TOKEN)
    talk = Dialogue(is_whole=False)
    for delivery_id in range(3):
        talk.transfer(CLIENT, delivery_id, payload=token)
    talk.transfer(CLIENT, 3, payload=token[:40], more=True)
    talk.transfer(CLIENT, None, payload=token[40:])
    tables = talk.tables(tmp_path, has_payloads=True)
    assert len(tables["transfers"]) == 4
    assert not tables["payloads"]
    assert_no_secret(tables)


def test_other_payloads_are_there_when_asked_for(tmp_path: Path) -> None:
    talk = session().attached().transfer(CLIENT, 0).closed()
    (row,) = talk.tables(tmp_path, has_payloads=True)["payloads"]
    assert row["body"] == b"body"
    assert not talk.tables(tmp_path)["payloads"]
