"""The layers of a connection (1.0 §2.2, §2.4, §5): headers, SASL, open, idle time, close."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.frames import SASL_PROTOCOL, encode_frame
from tests.builders.talk import write_pcap
from tests.dissectors.amqp10.dialogue import CLIENT, SERVER, Dialogue, composite, session
from tests.tables import dissect

EMPTY = encode_frame(b"")


def authenticated(code: int) -> Dialogue:
    talk = Dialogue().header(CLIENT, SASL_PROTOCOL).header(SERVER, SASL_PROTOCOL)
    talk.say(SERVER, "sasl-mechanisms", sasl_server_mechanisms=["PLAIN", "EXTERNAL"])
    talk.say(CLIENT, "sasl-init", mechanism="PLAIN", initial_response=b"\0me\0hush")
    return talk.say(SERVER, "sasl-outcome", code=code)


@pytest.mark.parametrize(
    ("code", "outcome"), [*enumerate(("ok", "auth", "sys", "sys-perm", "sys-temp"))]
)
def test_sasl_outcomes(tmp_path: Path, code: int, outcome: str) -> None:
    """§5.3.3.6."""
    (row,) = authenticated(code).tables(tmp_path)["connections"]
    assert (row["mechanism"], row["auth_outcome"]) == ("PLAIN", outcome)
    assert row["dialect"] == "1.0"
    assert '"PLAIN","EXTERNAL"' in row["details"]


def test_layers_follow_each_other(tmp_path: Path) -> None:
    """§2.2, §5.3: SASL, then AMQP, each with its header."""
    tables = authenticated(0).opened().closed().tables(tmp_path)
    assert [r["name"] for r in tables["frames"]] == [
        *("protocol-header", "protocol-header", "sasl-mechanisms", "sasl-init", "sasl-outcome"),
        *("protocol-header", "protocol-header", "open", "open", "close", "close"),
    ]
    assert not tables["problems"]


def test_a_server_that_refuses_answers_with_its_own_header(tmp_path: Path) -> None:
    """§2.2: an event, not noise."""
    talk = Dialogue().header(CLIENT).octets(SERVER, b"AMQP\x03\x01\x00\x00")
    talk.talk.close()
    tables = talk.tables(tmp_path)
    (row,) = tables["connections"]
    detail = "the client asked for amqp 1.0.0, the server offers sasl 1.0.0"
    assert row["close_reason"] == f"refused: {detail}"
    assert [r["code"] for r in tables["problems"]] == ["detect.refused_version"]


def test_open_limits_are_the_smaller_of_both(tmp_path: Path) -> None:
    """§2.7.1."""
    talk = Dialogue().header(CLIENT).header(SERVER)
    talk.say(CLIENT, "open", container_id="c", hostname="vhost", max_frame_size=9000,
             channel_max=10)  # fmt: skip
    talk.say(SERVER, "open", container_id="s", max_frame_size=4000, channel_max=255,
             properties={"product": "thing", "version": "9"})  # fmt: skip
    (row,) = talk.closed().tables(tmp_path)["connections"]
    assert (row["frame_max"], row["channel_max"]) == (4000, 10)
    assert (row["client_container"], row["server_container"]) == ("c", "s")
    assert (row["vhost"], row["server_product"], row["server_version"]) == ("vhost", "thing", "9")


def test_open_limits_have_defaults(tmp_path: Path) -> None:
    (row,) = Dialogue().opened().closed().tables(tmp_path)["connections"]
    assert (row["frame_max"], row["channel_max"]) == (0xFFFFFFFF, 0xFFFF)


def test_close_with_error(tmp_path: Path) -> None:
    error = composite("error", condition="amqp:connection:forced", description="go away")
    talk = session().say(SERVER, "close", error=error).say(CLIENT, "close")
    (row,) = talk.tables(tmp_path)["connections"]
    assert (row["close_condition"], row["close_reason"], row["close_initiator"]) == (
        "amqp:connection:forced",
        "go away",
        "server",
    )
    assert row["closed_ts_ns"] is not None


def kept(talk: Dialogue, folder: Path) -> dict[str, Any]:
    (row,) = talk.tables(folder)["connections"]
    return json.loads(row["details"])


def test_idle_time_that_is_kept_by_empty_frames(tmp_path: Path) -> None:
    """§2.4.5."""
    talk = Dialogue().opened(idle_time_out=100)
    for _ in range(5):
        talk.wait(90).octets(SERVER, EMPTY)
    details = kept(talk.closed(), tmp_path)
    assert details["server_kept_idle_timeout"] is True
    assert 90 <= details["server_longest_silence_ms"] <= 100
    # The server asked for nothing, so the client may be silent.
    assert "client_kept_idle_timeout" not in details


def test_idle_time_that_is_broken(tmp_path: Path) -> None:
    """The open states half the time after which a peer gives up."""
    talk = Dialogue().opened(idle_time_out=100).wait(250).octets(SERVER, EMPTY).closed()
    assert kept(talk, tmp_path)["server_kept_idle_timeout"] is False


def test_idle_time_broken_by_a_peer_that_never_speaks_again(tmp_path: Path) -> None:
    talk = Dialogue().opened(idle_time_out=100).wait(400).say(CLIENT, "close")
    talk.talk.close()
    details = kept(talk, tmp_path)
    assert details["server_kept_idle_timeout"] is False
    assert details["server_longest_silence_ms"] >= 400


def test_silence_before_the_open_and_after_the_close_is_nobodys_fault(tmp_path: Path) -> None:
    talk = authenticated(0).wait(900).opened(idle_time_out=100).say(SERVER, "close")
    talk.wait(900).say(CLIENT, "close")
    assert kept(talk, tmp_path)["server_kept_idle_timeout"] is True


def test_extended_headers_are_passed_over(tmp_path: Path) -> None:
    """§2.3.1: doff says where the body begins."""
    talk = Dialogue().opened()
    talk.say(CLIENT, "begin", next_outgoing_id=0, incoming_window=1, outgoing_window=1,
             extended_header=b"extended!")  # fmt: skip
    tables = talk.closed().tables(tmp_path)
    assert tables.names()["begin"] == 1
    assert not tables["problems"]


def test_empty_frames_are_no_performatives(tmp_path: Path) -> None:
    tables = Dialogue().opened().octets(CLIENT, EMPTY).closed().tables(tmp_path)
    (row,) = (r for r in tables["frames"] if r["name"] == "empty")
    assert (row["size_bytes"], row["status"]) == (8, "ok")


def test_octets_behind_a_performative_are_named(tmp_path: Path) -> None:
    """§2.3.1: only transfer has a payload."""
    body = STANDARD.types.encode(composite("close")) + b"more"
    tables = Dialogue().opened().octets(CLIENT, encode_frame(body)).tables(tmp_path)
    assert tables.problem_codes() == {"frame10.trailing_octets": 1}


def test_a_fin_that_was_not_captured_is_no_missing_octet(tmp_path: Path) -> None:
    """Its acknowledgement goes one beyond the stream (RFC 9293 §3.4)."""
    talk = session().closed()
    packets = [p for n, p in enumerate(talk.talk.packets) if n != len(talk.talk.packets) - 3]
    tables = dissect(write_pcap(tmp_path / "fin.pcap", packets))
    assert not tables["problems"]
    assert tables["connections"][0]["missing_bytes"] == 0
