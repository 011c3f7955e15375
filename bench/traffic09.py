"""Busy 0-9-1 connections: publishes with confirms, deliveries with acks, varied properties."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from bench import mix
from bench.packets import Conversation

PORT = 5672
CHANNELS = 4
_FRAME = struct.Struct(">BHI")
_FLAGS_PLAIN = 0x8000 | 0x1000  # content-type, delivery-mode
_FLAGS_RICH = _FLAGS_PLAIN | 0x2000 | 0x0400 | 0x0080 | 0x0040  # + headers, ids, timestamp


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    return _FRAME.pack(kind, channel, len(payload)) + payload + b"\xce"


def method(channel: int, class_id: int, method_id: int, arguments: bytes = b"") -> bytes:
    return frame(1, channel, struct.pack(">HH", class_id, method_id) + arguments)


def short(text: str) -> bytes:
    octets = text.encode()
    return bytes((len(octets),)) + octets


def long(octets: bytes) -> bytes:
    return struct.pack(">I", len(octets)) + octets


def table(**entries: str) -> bytes:
    return long(b"".join(short(k) + b"S" + long(v.encode()) for k, v in entries.items()))


def handshake(talk: Conversation) -> None:
    talk.send(0, b"AMQP\x00\x00\x09\x01")
    server = table(product="RabbitMQ", version="3.10.8")
    talk.send(1, method(0, 10, 10, b"\x00\x09" + server + long(b"PLAIN") + long(b"en_US")))
    client = table(product="bench", version="1.0")
    talk.send(0, method(0, 10, 11, client + short("PLAIN") + long(b"\0u\0p") + short("en_US")))
    limits = struct.pack(">HIH", 2047, 131_072, 60)
    talk.send(1, method(0, 10, 30, limits))
    talk.send(0, method(0, 10, 31, limits) + method(0, 10, 40, short("/") + b"\0\0"))
    talk.send(1, method(0, 10, 41, b"\0"))
    for channel in range(1, CHANNELS + 1):
        talk.send(0, method(channel, 20, 10, b"\0"))
        talk.send(1, method(channel, 20, 11, long(b"")))
        talk.send(0, method(channel, 85, 10, b"\0"))
        talk.send(1, method(channel, 85, 11))
        consume = b"\0\0" + short(f"work.{channel}") + short(f"ctag-{channel}") + b"\0" + long(b"")
        talk.send(0, method(channel, 60, 20, consume))
        talk.send(1, method(channel, 60, 21, short(f"ctag-{channel}")))


def content(channel: int, number: int, rng: random.Random) -> bytes:
    """Header and body frames; three in ten messages have rich properties and a unique id."""
    body = mix.body(rng)
    properties = short("application/json")
    flags = _FLAGS_PLAIN
    if number % 10 < 3:
        flags = _FLAGS_RICH
        headers = table(tenant=f"t{number % 7}", route="bench")
        properties += headers + b"\x02" + short(f"corr-{number % 1000}")
        properties += short(f"msg-{number:012d}") + struct.pack(
            ">Q", 1_700_000_000 + number // 1000
        )
    else:
        properties += b"\x02"
    header = struct.pack(">HHQH", 60, 0, len(body), flags) + properties
    return frame(2, channel, header) + frame(3, channel, body)


def rounds(talk: Conversation, rng: random.Random) -> Iterator[None]:
    """After the handshake, each step is one burst on one channel, in both directions."""
    handshake(talk)
    published = [0] * (CHANNELS + 1)
    delivered = [0] * (CHANNELS + 1)
    number = 0
    while True:
        channel = rng.randint(1, CHANNELS)
        key = short(f"work.{channel}")
        contents = []
        for _ in range(mix.burst(rng)):
            number += 1
            contents.append(content(channel, number, rng))
        publish = method(channel, 60, 40, b"\0\0" + short("orders") + key + b"\0")
        talk.send(0, b"".join(publish + c for c in contents))
        published[channel] += len(contents)
        talk.send(1, method(channel, 60, 80, struct.pack(">QB", published[channel], 1)))
        out, acks = [], []
        for message in contents:
            delivered[channel] += 1
            tag = struct.pack(">Q", delivered[channel])
            deliver = short(f"ctag-{channel}") + tag + b"\0" + short("orders") + key
            out.append(method(channel, 60, 60, deliver) + message)
            acks.append(method(channel, 60, 80, tag + b"\0"))
        talk.send(1, b"".join(out))
        talk.send(0, b"".join(acks))
        yield
