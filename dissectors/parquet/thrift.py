"""Thrift's compact protocol, as far as Parquet's page headers and footers need it.

A struct is a list of (field id, value) in ascending order of ids; the kind of a value says how it
is written. Writing only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

# Kinds of values in field and list headers (Thrift compact protocol, "Struct encoding").
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
STOP = b"\x00"
LONG_LIST = 15
_OCTETS = [bytes((number,)) for number in range(256)]


class Value(NamedTuple):
    """Octets of an encoded value, and the kind that its header names."""

    kind: int
    octets: bytes


def varint(number: int) -> bytes:
    """An unsigned number, seven bits an octet, least significant first."""
    if number <= 0x7F:  # most of them
        return _OCTETS[number]
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)


def zigzag(number: int) -> bytes:
    """A signed number of up to 64 bits as a varint."""
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


@lru_cache(maxsize=1024)  # all columns say much the same
def i32(number: int) -> Value:
    return Value(I32, zigzag(number))


@lru_cache(maxsize=1024)
def i64(number: int) -> Value:
    return Value(I64, zigzag(number))


def binary(octets: bytes) -> Value:
    return Value(BINARY, varint(len(octets)) + octets)


def text(characters: str) -> Value:
    return binary(characters.encode())


def list_of(kind: int, values: Sequence[Value]) -> Value:
    size = len(values)
    if size < LONG_LIST:
        head = bytes((size << 4 | kind,))
    else:
        head = bytes((LONG_LIST << 4 | kind,)) + varint(size)
    return Value(LIST, head + b"".join([value.octets for value in values]))


def struct(*fields: tuple[int, Value | None]) -> Value:
    """Fields with None are left out."""
    parts = []
    last_id = 0
    for field_id, value in fields:
        if value is not None:
            # Ids of Parquet's structs never lie more than 15 apart: the short form always holds.
            parts += [_OCTETS[(field_id - last_id) << 4 | value.kind], value.octets]
            last_id = field_id
    return Value(STRUCT, b"".join([*parts, STOP]))
