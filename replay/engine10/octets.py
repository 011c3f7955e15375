"""Encoded fields taken apart and put together again without a change to the others.

A described list (a performative, a terminus, a delivery state; 1.0 §1.4) is kept as its
descriptor, its list constructor and the octets of each item. Replacing an item leaves all other
octets as they were captured; only the size in the list's head follows. A number or text that is
replaced keeps the width that its sender chose, as long as the new value fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.octets import (
    list_count,
    list_items,
    read_boolean,
    read_code,
    read_uint,
    skip_value,
)
from dissectors.amqp10.types import FINAL

NULL = b"\x40"
TRUE = b"\x41"
FALSE = b"\x42"

_LIST0, _LIST8, _LIST32 = 0x45, 0xC0, 0xD0
#: What the one-octet size and count of a list8 can hold.
_LIST8_MAX = 0xFF
#: Text and binary: constructor → (the constructor with a four-octet size, octets of the size).
_TEXTS = {
    0xA0: (0xB0, 1),
    0xA1: (0xB1, 1),
    0xA3: (0xB3, 1),
    0xB0: (0xB0, 4),
    0xB1: (0xB1, 4),
    0xB3: (0xB3, 4),
}


@dataclass(frozen=True, slots=True)
class RawComposite:
    """A described list in pieces; `end` is where it stopped in the buffer it was read from."""

    code: int
    descriptor: bytes
    constructor: int
    items: tuple[bytes, ...]
    end: int

    def item(self, index: int) -> bytes:
        """The octets of a field; null if it was left out."""
        return self.items[index] if index < len(self.items) else NULL

    def octets(self, changes: Mapping[int, bytes] | None = None) -> bytes:
        """The whole, with some items replaced."""
        items = list(self.items)
        for index, octets in (changes or {}).items():
            if index >= len(items):
                if octets == NULL:
                    continue
                items += [NULL] * (index + 1 - len(items))
            items[index] = octets
        return self.descriptor + _list_octets(self.constructor, items)


def _list_octets(constructor: int, items: list[bytes]) -> bytes:
    body = b"".join(items)
    if constructor == _LIST0:
        if not items:
            return bytes((_LIST0,))
        constructor = _LIST8
    if constructor == _LIST8 and len(body) < _LIST8_MAX and len(items) <= _LIST8_MAX:
        return bytes((_LIST8, len(body) + 1, len(items))) + body
    size, count = len(body) + 4, len(items)
    return b"%c%b%b%b" % (_LIST32, size.to_bytes(4, "big"), count.to_bytes(4, "big"), body)


def read_composite(buffer: bytes, start: int, end: int) -> RawComposite | None:
    """The described list at `start`, by numeric or symbolic descriptor; None if it is none."""
    if start >= end or buffer[start] != 0:
        return None
    at = skip_value(buffer, start + 1, end, 0)
    if at < 0:
        return None
    code = _descriptor_code(buffer, start, at)
    count = list_count(buffer, at, end) if at < end else -1
    if code is None or count < 0:
        return None
    stop = skip_value(buffer, at, end, 0)
    items = []
    place = list_items(buffer, at)
    for _ in range(count):
        following = skip_value(buffer, place, stop, 0)
        if following < 0:
            return None
        items.append(buffer[place:following])
        place = following
    if place != stop:
        return None
    return RawComposite(code, buffer[start:at], buffer[at], tuple(items), stop)


def _descriptor_code(buffer: bytes, start: int, end: int) -> int | None:
    # `read_code` wants at least one octet behind what it reads: the constructor of the list.
    code = read_code(buffer, start, max(end, min(len(buffer), start + 10)))
    if code >= 0:
        return code
    symbol = FINAL.decode(buffer, start + 1, end, [])
    definition = STANDARD.by_descriptor.get(symbol.data) if symbol.type == "symbol" else None
    return None if definition is None else definition.code


def uint_of(octets: bytes) -> int | None:
    """A uint in any encoding; None for null or anything else."""
    number = read_uint(octets, 0, len(octets))
    return None if number < 0 else number


def ushort_of(octets: bytes) -> int | None:
    return int.from_bytes(octets[1:3], "big") if octets[0] == 0x60 else None


def ulong_of(octets: bytes) -> int | None:
    value = FINAL.decode(octets, 0, len(octets), [])
    return value.data if value.type == "ulong" else None


def boolean_of(octets: bytes) -> bool:
    """True if it says so; null and anything else is false, every flag's default (1.0 §2.7)."""
    return read_boolean(octets, 0, len(octets)) == 1


def text_of(octets: bytes) -> str | None:
    """A string or symbol; None for null or anything else."""
    known = _TEXTS.get(octets[0])
    if known is None or octets[0] in (0xA0, 0xB0):
        return None
    return octets[1 + known[1] :].decode("utf-8", "replace")


def binary_of(octets: bytes) -> bytes | None:
    known = _TEXTS.get(octets[0])
    return None if known is None or octets[0] not in (0xA0, 0xB0) else octets[1 + known[1] :]


def with_uint(octets: bytes, number: int) -> bytes:
    """The number, in the encoding that `octets` had if it fits, else in the narrowest."""
    if uint_of(octets) == number:
        return octets
    if octets[0] == 0x70 or number > 0xFF:
        return b"\x70" + number.to_bytes(4, "big")
    if octets[0] == 0x52 or number:
        return bytes((0x52, number))
    return b"\x43"


def with_ushort(number: int) -> bytes:
    """A ushort has one encoding."""
    return b"\x60" + number.to_bytes(2, "big")


def with_text(octets: bytes, text: str) -> bytes:
    """The text as the type and width that `octets` had; a string where that was neither."""
    return _sized(octets[0] if octets[0] in _TEXTS else 0xA1, text.encode())


def with_binary(octets: bytes, data: bytes) -> bytes:
    return _sized(octets[0] if octets[0] in _TEXTS else 0xA0, data)


def _sized(constructor: int, data: bytes) -> bytes:
    wide, width = _TEXTS[constructor]
    if width == 1 and len(data) > 0xFF:
        constructor, width = wide, 4
    return bytes((constructor,)) + len(data).to_bytes(width, "big") + data
