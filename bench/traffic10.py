"""Busy 1.0 connections: transfers both ways, dispositions single and in ranges, flows."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from bench import mix
from bench.packets import Conversation

PORT = 5672
NULL = b"\x40"
TRUE, FALSE = b"\x41", b"\x42"
_OPEN, _BEGIN, _ATTACH, _FLOW, _TRANSFER, _DISPOSITION = 0x10, 0x11, 0x12, 0x13, 0x14, 0x15
_CREDIT = 1000


def uint(value: int) -> bytes:
    return b"\x52" + bytes((value,)) if value < 256 else b"\x70" + struct.pack(">I", value)


def ubyte(value: int) -> bytes:
    return b"\x50" + bytes((value,))


def ushort(value: int) -> bytes:
    return b"\x60" + struct.pack(">H", value)


def string(text: str) -> bytes:
    octets = text.encode()
    return b"\xa1" + bytes((len(octets),)) + octets


def symbol(text: str) -> bytes:
    return b"\xa3" + string(text)[1:]


def binary(octets: bytes) -> bytes:
    if len(octets) < 256:
        return b"\xa0" + bytes((len(octets),)) + octets
    return b"\xb0" + struct.pack(">I", len(octets)) + octets


def described(code: int, *fields: bytes) -> bytes:
    body = b"".join(fields)
    return (
        b"\x00\x53"
        + bytes((code,))
        + b"\xd0"
        + struct.pack(">II", len(body) + 4, len(fields))
        + body
    )


def frame(body: bytes, kind: int = 0) -> bytes:
    return struct.pack(">IBBH", len(body) + 8, 2, kind, 0) + body


def handshake(talk: Conversation, number: int) -> None:
    for side in (0, 1):
        talk.send(side, b"AMQP\x03\x01\x00\x00")
    talk.send(1, frame(described(0x40, symbol("ANONYMOUS")), 1))
    talk.send(0, frame(described(0x41, symbol("ANONYMOUS")), 1))
    talk.send(1, frame(described(0x44, ubyte(0)), 1))
    for side, name in ((0, f"bench-{number}"), (1, "broker")):
        talk.send(side, b"AMQP\x00\x01\x00\x00")
        talk.send(side, frame(described(_OPEN, string(name), NULL, uint(65_536), ushort(100))))
    for side, remote in ((0, NULL), (1, ushort(0))):
        begin = described(_BEGIN, remote, uint(0), uint(1 << 30), uint(1 << 30), uint(255))
        talk.send(side, frame(begin))
    for handle, name in enumerate(("out", "in")):
        for side in (0, 1):
            is_receiver = TRUE if (handle == 1) == (side == 0) else FALSE
            ends = [described(code, string(f"q/{name}")) for code in (0x28, 0x29)]
            count = uint(0) if is_receiver == FALSE else NULL
            fields = (string(name), uint(handle), is_receiver, NULL, NULL, *ends, NULL, NULL, count)
            talk.send(side, frame(described(_ATTACH, *fields)))
        talk.send(1 - handle, flow(handle, 0))


def flow(handle: int, delivery_count: int) -> bytes:
    windows = (uint(delivery_count), uint(1 << 30), uint(delivery_count), uint(1 << 30))
    return frame(described(_FLOW, *windows, uint(handle), uint(delivery_count), uint(_CREDIT)))


def message(number: int, rng: random.Random) -> bytes:
    body = mix.body(rng)
    sections = described(0x70, TRUE, ubyte(4))
    if number % 10 < 3:
        properties = (string(f"msg-{number:012d}"), NULL, string("q/out"), string("bench"))
        sections += described(0x73, *properties, NULL, string(f"corr-{number % 1000}"))
        pairs = string("tenant") + string(f"t{number % 7}")
        sections += b"\x00\x53\x74\xd1" + struct.pack(">II", len(pairs) + 4, 2) + pairs
    return sections + b"\x00\x53\x75" + binary(body)


def transfer(handle: int, delivery: int, payload: bytes) -> bytes:
    tag = binary(struct.pack(">I", delivery))
    fields = (uint(handle), uint(delivery), tag, uint(0), FALSE)
    return frame(described(_TRANSFER, *fields) + payload)


def disposition(is_receiver: bytes, first: int, last: int) -> bytes:
    return frame(
        described(_DISPOSITION, is_receiver, uint(first), uint(last), TRUE, described(0x24))
    )


def rounds(talk: Conversation, rng: random.Random, number: int) -> Iterator[None]:
    """After the handshake, each step is a burst out and the same burst in."""
    handshake(talk, number)
    delivery = 0
    while True:
        size = mix.burst(rng)
        ids = range(delivery, delivery + size)
        messages = [message(i, rng) for i in ids]
        for side in (0, 1):  # link 0 carries client to server, link 1 back
            talk.send(
                side, b"".join(transfer(side, i, m) for i, m in zip(ids, messages, strict=True))
            )
            if rng.random() < 0.5:
                talk.send(1 - side, disposition(TRUE, ids[0], ids[-1]))
            else:
                talk.send(1 - side, b"".join(disposition(TRUE, i, i) for i in ids))
        if (delivery + size) // 100 != delivery // 100:
            for side in (0, 1):
                talk.send(1 - side, flow(side, delivery + size))
        delivery += size
        yield
