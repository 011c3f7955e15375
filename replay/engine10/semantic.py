"""Semantic mode: each operation written again from its meaning, in our own encoding.

Values, names and order are the capture's; widths of numbers, descriptors and the cuts between the
frames of a message are not: a message goes out whole, cut only by the live max-frame-size.
"""

from __future__ import annotations

from dissectors.amqp10.frames import encode_frame
from dissectors.amqp10.types import FINAL, Array, Described, Malformed, Value

from .acts import Act
from .frame import Frame
from .live import Live
from .octets import NULL
from .outgoing import Writer
from .split import split_transfer

_COMPOUND = ("list", "map")


def reencoded(writer: Writer, act: Act, live: Live) -> list[bytes]:
    """The frames for an act; a message's frames but the last give none, the last all of it."""
    frames = writer.frames(act)
    if act.name == "transfer" and act.delivery is not None:
        return _whole_message(act, frames, live)
    return [_frame(octets) for octets in frames]


def _whole_message(act: Act, frames: list[bytes], live: Live) -> list[bytes]:
    delivery = act.delivery
    assert delivery is not None
    delivery.held += frames
    if not act.is_last:
        return []
    held, delivery.held = delivery.held, []
    first = Frame(held[0])
    if first.performative is None or act.frame.flag("aborted"):
        return held
    payload = b"".join(Frame(octets).payload for octets in held)
    whole = first.with_fields({"more": NULL}, _message(payload))
    return split_transfer(_frame(whole), live.max_frame_bytes)


def _frame(octets: bytes) -> bytes:
    frame = Frame(octets)
    if frame.performative is None:
        return octets
    value = FINAL.decode(octets, frame.body, frame.payload_start, [])
    return encode_frame(FINAL.encode(shortest(value)) + frame.payload, frame.channel)


def _message(payload: bytes) -> bytes:
    out = []
    at = 0
    while at < len(payload):
        section = FINAL.decode(payload, at, len(payload), [])
        if isinstance(section, Malformed):
            return payload
        out.append(FINAL.encode(shortest(section)))
        at = section.end
    return b"".join(out)


def shortest(value: Value) -> Value:
    """The same value in the most compact encoding of its type."""
    if isinstance(value, Described):
        return Described(shortest(value.descriptor), shortest(value.data))
    if isinstance(value, (Array, Malformed)):
        return value
    data = value.data
    if value.type == "map":
        data = tuple((shortest(key), shortest(item)) for key, item in data)
    elif value.type in _COMPOUND:
        data = tuple(shortest(item) for item in data)
    return FINAL.make(value.type, data)
