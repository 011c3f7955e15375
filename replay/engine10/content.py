"""Messages by what they say: recognised again, and with names in them replaced.

A broker may touch header, annotations and footer of a message on its way; the bare message
(1.0 §3.2: properties, application-properties, body) it must not. That is what is recognised.
"""

from __future__ import annotations

from xxhash import xxh3_64_digest, xxh3_64_hexdigest

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.message import decode_message
from dissectors.amqp10.octets import read_code, skip_value
from dissectors.amqp10.types import FINAL, Array, Described, Malformed, Value

PROPERTIES = 0x73
_FIRST_BARE, _LAST_BARE = PROPERTIES, 0x77
#: A shorter name may stand inside a text by chance.
MIN_EMBEDDED_NAME = 8


def digest_of(payload: bytes) -> bytes:
    """The same for messages with the same bare message."""
    bare = []
    at, end = 0, len(payload)
    while at < end:
        code = read_code(payload, at, end)
        stop = skip_value(payload, at, end, 0)
        if code < 0 or stop < 0:
            return xxh3_64_digest(payload)
        if _FIRST_BARE <= code <= _LAST_BARE:
            bare.append(payload[at:stop])
        at = stop
    return xxh3_64_digest(b"".join(bare))


def body_hash(payload: bytes) -> str:
    """As the `transfers` table has it."""
    ranges = decode_message(STANDARD, payload, []).body_ranges
    return xxh3_64_hexdigest(b"".join(payload[start:end] for start, end in ranges))


def section_of(payload: bytes, code: int) -> bytes:
    """The octets of the first section with this descriptor; empty if there is none."""
    at, end = 0, len(payload)
    while at < end:
        stop = skip_value(payload, at, end, 0)
        if stop < 0:
            break
        if read_code(payload, at, end) == code:
            return payload[at:stop]
        at = stop
    return b""


class Names:
    """Octets of captured names → live ones. `whole` values are replaced wherever they stand
    alone; `generated` ones also inside longer texts and binaries."""

    def __init__(self) -> None:
        self.whole: dict[bytes, bytes] = {}
        self.generated: dict[bytes, bytes] = {}

    def reversed(self) -> Names:
        """The way back."""
        names = Names()
        names.whole = {new: old for old, new in self.whole.items()}
        names.generated = {new: old for old, new in self.generated.items()}
        return names

    def applied(self, payload: bytes) -> bytes:
        """The message with live names; octets of all other values stay as they are."""
        here = [old for old in (*self.whole, *self.generated) if old in payload]
        return self._changed(payload) if here else payload

    def _changed(self, payload: bytes) -> bytes:
        out = []
        at, end = 0, len(payload)
        while at < end:
            section = FINAL.decode(payload, at, end, [])
            if isinstance(section, Malformed):
                out.append(payload[at:])
                break
            after = self._value(section)
            out.append(payload[at : section.end] if after is section else FINAL.encode(after))
            at = section.end
        return b"".join(out)

    def _value(self, value: Value) -> Value:
        """The same object if nothing in it has one of the names."""
        if isinstance(value, Malformed):
            return value
        if isinstance(value, Described):
            inner = self._value(value.data)
            return value if inner is value.data else Described(value.descriptor, inner)
        if isinstance(value.data, str):
            before = value.data.encode()
            after = self.name(before)
            return value if after == before else Value(value.encoding, after.decode())
        if isinstance(value.data, bytes):
            after = self.name(value.data)
            return value if after == value.data else Value(value.encoding, after)
        return self._items(value) if isinstance(value.data, tuple) else value

    def _items(self, value: Value) -> Value:
        if value.type == "map":
            pairs = tuple((self._value(k), self._value(v)) for k, v in value.data)
            both = zip(pairs, value.data, strict=True)
            is_same = all(k is old_k and v is old_v for (k, v), (old_k, old_v) in both)
            return value if is_same else Value(value.encoding, pairs)
        items = tuple(self._value(item) for item in value.data)
        if all(item is old for item, old in zip(items, value.data, strict=True)):
            return value
        if isinstance(value, Array):
            return Array(value.encoding, items, value.element, value.descriptors)
        return Value(value.encoding, items)

    def name(self, octets: bytes) -> bytes:
        """One value that may be or hold a name."""
        for table in (self.generated, self.whole):
            if octets in table:
                return table[octets]
        for old, new in self.generated.items():
            if len(old) >= MIN_EMBEDDED_NAME and old in octets:
                octets = octets.replace(old, new)
        return octets
