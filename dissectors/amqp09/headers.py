"""Content header payloads: class, weight, body size, property flags, properties (0-9-1 §4.2.6.1).

Flags come in 16-bit words from the high bit; the low bit says that another word follows. A bit
property is its flag and has no octets. Flags for properties that the class does not have are kept,
and the octets behind the last known property with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import octets
from .methods import Fields, decode_fields, encode_fields
from .octets import Buffer, MalformedError
from .schema import Argument, Dialect

# class-id (2), weight (2), body size (8)
FIXED_SIZE = 12
FLAGS_PER_WORD = 15
CONTINUATION = 0x0001
FIRST_FLAG = 0x8000
# Words of flags read before the header is taken for garbage: 15 properties each.
MAX_FLAG_WORDS = 16


@dataclass(frozen=True, slots=True)
class ContentHeader:
    """A content header; `properties` holds only what its flags announce."""

    class_id: int
    weight: int
    body_size: int
    flags: tuple[int, ...]
    properties: Fields
    bits: Mapping[str, bool]
    payload: bytes
    unknown_flags: bool = False

    @property
    def error(self) -> MalformedError | None:
        return self.properties.error

    @property
    def trailing(self) -> bytes:
        """Octets that belong to no known property."""
        return b"" if self.error else self.payload[self.properties.end :]

    def as_dict(self) -> dict[str, Any]:
        return {**self.properties.as_dict(), **self.bits}


def decode_header(
    payload: Buffer, dialect: Dialect, systems: tuple[str, ...]
) -> ContentHeader | MalformedError:
    """Read a content header payload; an error when not even its fixed part is there."""
    raw = bytes(payload)
    end = len(raw)
    try:
        class_id, offset = octets.read_short(raw, 0, end)
        weight, offset = octets.read_short(raw, offset, end)
        body_size, offset = octets.read_longlong(raw, offset, end)
        flags, offset = _read_flags(raw, offset, end)
    except MalformedError as error:
        return error
    defined = dialect.properties.get(class_id, ())
    present, bits, has_unknown = _present(defined, flags)
    properties = decode_fields(present, raw, offset, systems)
    return ContentHeader(class_id, weight, body_size, flags, properties, bits, raw, has_unknown)


def encode_header(
    class_id: int,
    body_size: int,
    properties: Mapping[str, Any],
    dialect: Dialect,
    weight: int = 0,
) -> bytes:
    """Write a content header payload with the properties given."""
    defined = dialect.properties.get(class_id, ())
    unknown = set(properties) - {argument.name for argument in defined}
    if unknown:
        raise ValueError(f"class {class_id} has no {', '.join(sorted(unknown))}")
    out = bytearray()
    octets.write_short(out, class_id)
    octets.write_short(out, weight)
    octets.write_longlong(out, body_size)
    for word in _flags_of(defined, properties):
        octets.write_short(out, word)
    listed = tuple(a for a in defined if a.name in properties and a.type != "bit")
    encode_fields(listed, [properties[argument.name] for argument in listed], out)
    return bytes(out)


def _read_flags(raw: bytes, offset: int, end: int) -> tuple[tuple[int, ...], int]:
    words: list[int] = []
    while len(words) < MAX_FLAG_WORDS:
        word, offset = octets.read_short(raw, offset, end)
        words.append(word)
        if not word & CONTINUATION:
            return tuple(words), offset
    raise MalformedError("flag_words", f"more than {MAX_FLAG_WORDS} words of property flags")


def _present(
    defined: tuple[Argument, ...], flags: tuple[int, ...]
) -> tuple[tuple[Argument, ...], dict[str, bool], bool]:
    """Which properties the flags announce; bit properties; whether flags are left over."""
    left = list(flags)
    present = []
    bits = {}
    for index, argument in enumerate(defined):
        word, place = divmod(index, FLAGS_PER_WORD)
        mask = FIRST_FLAG >> place
        is_set = word < len(left) and bool(left[word] & mask)
        if is_set:
            left[word] &= ~mask
        if argument.type == "bit":
            bits[argument.name] = is_set
        elif is_set:
            present.append(argument)
    return tuple(present), bits, any(word & ~CONTINUATION for word in left)


def _flags_of(defined: tuple[Argument, ...], properties: Mapping[str, Any]) -> list[int]:
    words = [0] * max(1, -(-len(defined) // FLAGS_PER_WORD))
    for index, argument in enumerate(defined):
        is_set = (
            properties.get(argument.name, False)
            if argument.type == "bit"
            else (argument.name in properties)
        )
        if is_set:
            word, place = divmod(index, FLAGS_PER_WORD)
            words[word] |= FIRST_FLAG >> place
    while len(words) > 1 and not words[-1]:
        words.pop()
    return [w | CONTINUATION for w in words[:-1]] + words[-1:]
