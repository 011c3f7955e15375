"""Hurts captures in the ways that happen, from a seed: files, packets, and streams before TCP."""

from __future__ import annotations

import random
import struct
from functools import cache

from dissectors.capture import open_packets
from dissectors.capture.decap import PacketView
from tests.builders.talk import Talk, pcap_bytes
from tests.samples import SAMPLES, manifest

MAX_SEED_BYTES = 60_000
_WORDS = (bytes(8), b"\xff" * 8, struct.pack(">Q", 1 << 31), struct.pack(">Q", 1), b"AMQP\0\1\0\0")


def seeds() -> list[str]:
    """Every sample: the fuzzers take as much of it as keeps a case quick."""
    return [entry["file"] for entry in manifest()]


@cache
def seed_file(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()[:MAX_SEED_BYTES]


@cache
def seed_talk(name: str) -> tuple[tuple[int, bytes], ...]:
    """(side, payload) of the data packets of a sample's first connection, as captured."""
    view = PacketView(_ignore)
    source = open_packets([str(SAMPLES / name)], _ignore)
    said: list[tuple[int, bytes]] = []
    first_key, size = b"", 0
    while source.advance() and size < MAX_SEED_BYTES:
        place = (source.start, source.end, source.wire_length, source.link_type, source.ts_ns)
        if view.locate(source.buf, *place) != 1 or view.payload_start == view.payload_end:
            continue
        first_key = first_key or view.key()
        if view.key() in (first_key, view.reverse_key()) or view.reverse_key() == first_key:
            payload = view.buf[view.payload_start : view.payload_end]
            said.append((0 if view.key() == first_key else 1, payload))
            size += len(payload)
    source.close()
    return tuple(said)


def hurt(data: bytes, rng: random.Random, most: int = 12) -> bytes:
    """A few bytes flipped, cut, repeated, moved or overwritten."""
    out = bytearray(data)
    for _ in range(rng.randint(1, most)):
        if not out:
            break
        at = rng.randrange(len(out))
        kind = rng.randrange(8)
        if kind <= 3:
            out[at] = rng.choice((rng.randrange(256), 0, 255, out[at] ^ 1 << rng.randrange(8)))
        elif kind == 4:
            del out[at : at + rng.randint(1, 40)]
        elif kind == 5:
            out[at:at] = out[at : at + rng.randint(1, 200)]
        elif kind == 6:
            width = rng.choice((1, 2, 4, 8))
            out[at : at + width] = rng.choice(_WORDS)[-width:]
        else:
            source = rng.randrange(len(out))
            out[at : at + 30] = out[source : source + 30]
    return bytes(out)


def hurt_file(name: str, rng: random.Random) -> bytes:
    return hurt(seed_file(name), rng)


def hurt_talk(name: str, rng: random.Random) -> bytes:
    """The sample's payloads, some of them hurt, in whole packets of one new connection."""
    talk = Talk(isn=(rng.randrange(1 << 32), rng.randrange(1 << 32)))
    if rng.random() < 0.8:
        talk.open()
    share = rng.choice((0.02, 0.1, 0.4))
    said = seed_talk(name)
    first = 0 if rng.random() < 0.7 else rng.randrange(len(said))
    for side, payload in said[first:]:
        if rng.random() < share:
            payload = hurt(payload, rng, 4)
        talk.say(side, payload, rng.choice((60_000, 1448, rng.randint(1, 300))))
    if rng.random() < 0.5:
        talk.close()
    return pcap_bytes(hurt_order(talk.packets, rng), rng.choice((262_144, 262_144, 90)))


def hurt_order(packets: list[tuple[int, bytes]], rng: random.Random) -> list[tuple[int, bytes]]:
    """Some packets lost, repeated or swapped."""
    rate = rng.choice((0.0, 0.0, 0.02, 0.2))
    out = []
    for packet in packets:
        if rng.random() >= rate:
            out.append(packet)
        if rng.random() < rate:
            out.insert(max(0, len(out) - rng.randint(1, 5)), packet)
    return out


def _ignore(*_what: object, **_where: object) -> None:
    """Problems of the seeds are not of interest here."""
