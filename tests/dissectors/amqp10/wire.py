"""The frames of a capture as they were cut, and the messages that their transfers make: joined
here by handle only, so that the state model is not needed to test it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import proton

from dissectors.core.connection import Connection
from dissectors.pipeline import Dissection

TRANSFER = 0x14


@dataclass
class Frames:
    """Listens to a dissection; `all` holds (connection, side, octets)."""

    all: list[tuple[str, int, bytes]] = field(default_factory=list)

    def frame(self, conn: Connection, side: int, ts_ns: int, packet_no: int, octets: bytes) -> None:
        self.all.append((conn.connection_id, side, octets))

    def gap(self, conn: Connection, side: int, ts_ns: int, packet_no: int) -> None:
        raise AssertionError("only for whole captures")


def frames_of(paths: str | list[str]) -> list[tuple[str, int, bytes]]:
    tap = Frames()
    for _ in Dissection(paths, tap=tap):
        pass
    return tap.all


def bodies_of(frames: list[tuple[str, int, bytes]]) -> Iterator[tuple[str, int, int, bytes]]:
    """(connection, side, channel, body) of all frames that have one."""
    for connection, side, octets in frames:
        if octets[:4] != b"AMQP" and len(octets) > 4 * octets[4]:
            channel = int.from_bytes(octets[6:8], "big")
            yield connection, side, channel, octets[4 * octets[4] :]


def performative_size(body: bytes) -> int:
    """By proton: how many octets the first value takes."""
    return proton.Data().decode(body)


def messages_of(frames: list[tuple[str, int, bytes]]) -> Iterator[bytes]:
    """Whole messages, in the order of their last transfer; aborted ones are left out."""
    parts: dict[tuple[str, int, int, int], bytes] = {}
    for connection, side, channel, body in bodies_of(frames):
        size = performative_size(body)
        data = proton.Data()
        data.decode(body[:size])
        data.rewind()
        data.next()
        described = data.get_py_described()
        if described.descriptor != TRANSFER:
            continue
        items = [*described.value, *[None] * 11]
        key = (connection, side, channel, items[0])
        parts[key] = parts.get(key, b"") + body[size:]
        if items[9]:
            del parts[key]
        elif not items[5]:
            yield parts.pop(key)
