"""One frame as it is on the wire (1.0 §2.3), with its performative in pieces.

A frame that cannot be read this way (malformed, or of another layer) has no `performative`:
it is sent as it was captured, or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.definitions import PERFORMATIVES, SASL_FRAMES
from dissectors.amqp10.frames import (
    AMQP_FRAME,
    FRAME_HEADER_BYTES,
    PROTOCOL_HEADER_BYTES,
    decode_protocol_header,
    encode_frame,
)

from .octets import RawComposite, boolean_of, read_composite, text_of, uint_of, ushort_of

_NAMES = {row.code: row.name for row in (*PERFORMATIVES, *SASL_FRAMES)}
#: Where each field of each performative stands in its list.
PLACES: dict[str, dict[str, int]] = {
    row.name: {field.name: place for place, field in enumerate(row.fields)}
    for row in (*PERFORMATIVES, *SASL_FRAMES)
}
PROTOCOL_HEADER = "protocol-header"
EMPTY = "empty"
UNREADABLE = "unreadable"


class Frame:
    """A frame: `name` is its performative's, or one of the constants above."""

    __slots__ = ("body", "channel", "name", "octets", "payload_start", "performative", "places")

    def __init__(self, octets: bytes) -> None:
        self.octets = octets
        self.channel = 0
        self.performative: RawComposite | None = None
        self.places: dict[str, int] = {}
        self.payload_start = self.body = len(octets)
        if decode_protocol_header(octets) is not None and len(octets) == PROTOCOL_HEADER_BYTES:
            self.name = PROTOCOL_HEADER
            return
        self.name = UNREADABLE
        if len(octets) < FRAME_HEADER_BYTES:
            return
        self.channel = octets[6] << 8 | octets[7]
        self.body = 4 * octets[4]
        if self.body == len(octets):
            self.name = EMPTY
            return
        found = read_composite(octets, self.body, len(octets))
        name = None if found is None else _NAMES.get(found.code)
        if found is None or name is None:
            return
        self.performative = found
        self.name = name
        self.places = PLACES[name]
        self.payload_start = found.end

    @property
    def payload(self) -> bytes:
        """What follows the performative: a part of a message."""
        return self.octets[self.payload_start :]

    def raw(self, field: str) -> bytes:
        """The octets of a field."""
        assert self.performative is not None
        return self.performative.item(self.places[field])

    def uint(self, field: str) -> int | None:
        return uint_of(self.raw(field))

    def ushort(self, field: str) -> int | None:
        return ushort_of(self.raw(field))

    def flag(self, field: str) -> bool:
        return boolean_of(self.raw(field))

    def text(self, field: str) -> str | None:
        return text_of(self.raw(field))

    def composite(self, field: str) -> RawComposite | None:
        octets = self.raw(field)
        return read_composite(octets, 0, len(octets))

    def with_fields(self, changes: Mapping[str, bytes], payload: bytes | None = None) -> bytes:
        """This frame with some fields, or the payload, replaced; nothing else differs."""
        assert self.performative is not None
        real = {
            self.places[name]: octets
            for name, octets in changes.items()
            if self.raw(name) != octets
        }
        if not real and payload is None:
            return self.octets
        body = self.performative.octets(real) + (self.payload if payload is None else payload)
        size = self.body + len(body)
        return size.to_bytes(4, "big") + self.octets[4 : self.body] + body


def make_frame(
    name: str,
    fields: Mapping[str, object],
    channel: int = 0,
    frame_type: int = AMQP_FRAME,
    payload: bytes = b"",
) -> bytes:
    """A frame of our own, from plain values."""
    body = STANDARD.types.encode(STANDARD.encode(name, fields))
    return encode_frame(body + payload, channel, frame_type)
