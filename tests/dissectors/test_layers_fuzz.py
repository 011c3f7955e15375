"""Mutated TLS, WebSocket and draft streams: never an exception, and every byte accounted for."""

from __future__ import annotations

import random

import pytest

from tests.builders.draft_transcripts import TRANSCRIPTS
from tests.builders.streams import Said, said_in
from tests.builders.tls import Flavour, tls_talk
from tests.builders.websocket import websocket_talk
from tests.dissectors.test_samples_ledger import assert_ledger
from tests.dissectors.tls.test_suites import write_keys, write_talk
from tests.tables import dissect

ROUNDS = 40
SAID = said_in("10a", 30)
PLAIN = {"websocket": websocket_talk(SAID)}
TLS = {
    "tls12": tls_talk(SAID, Flavour("TLSv1_2", "ECDHE-RSA-AES128-GCM-SHA256")),
    "tls12-cbc": tls_talk(SAID, Flavour("TLSv1_2", "ECDHE-RSA-AES128-SHA")),
    "tls13": tls_talk(SAID),
    "websocket-in-tls": tls_talk(websocket_talk(SAID)),
}


def hurt(said: Said, rng: random.Random) -> Said:
    """Some pieces with octets changed, cut, repeated or left out."""
    out: Said = []
    for side, octets in said:
        kind = rng.randrange(20)
        piece = bytearray(octets)
        at = rng.randrange(len(piece))
        if kind == 0:
            piece[at] = rng.randrange(256)
        elif kind == 1:
            del piece[at : at + rng.randint(1, 9)]
        elif kind == 2:
            piece[at:at] = rng.randbytes(rng.randint(1, 20))
        elif kind == 3:
            continue
        out.append((side, bytes(piece)))
    return out


def assert_sound(path: str, keylog: str | None) -> None:
    tables = dissect(path, keylog=keylog)
    assert_ledger(tables)
    bugs = [row["detail"] for row in tables["problems"] if row["code"] == "frame.bug"]
    assert bugs == []


@pytest.mark.parametrize("name", [*PLAIN, *TLS])
def test_mutated_layers(name, tmp_path):
    rng = random.Random(name)
    said, keylog = TLS.get(name) or (PLAIN[name], b"")
    keys = write_keys(tmp_path / "keys", keylog)
    for number in range(ROUNDS):
        path = write_talk(tmp_path / f"{number}.pcap", hurt(said, rng), rng.choice([7, 300, 60000]))
        assert_sound(path, keys)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_mutated_draft(name, tmp_path):
    rng = random.Random(name)
    said = said_in(name)
    for number in range(ROUNDS):
        wire = [piece for piece in hurt(said, rng) if piece[1]]
        for _ in range(3):
            at = rng.randrange(len(wire))
            octets = bytearray(wire[at][1])
            octets[rng.randrange(len(octets))] = rng.randrange(256)
            wire[at] = (wire[at][0], bytes(octets))
        assert_sound(write_talk(tmp_path / f"{number}.pcap", wire, ports=(40001, 5672)), None)
