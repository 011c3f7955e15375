"""The AMQP 1.0 type system (§1): the constructor table as data, and the door to its codec.

`FINAL` is the type system of the published standard. Another version of the protocol extends
it by rows: `FINAL.extended(rows)` adds or replaces format codes, `FINAL.without(codes)` takes
some away, and the same decoder and encoder walk the new table. Composite types and the meaning
of descriptors are not known here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from uuid import UUID

from . import decode, encode
from .decimals import DECIMAL32, DECIMAL64, DECIMAL128, DecimalFormat, decode_bid, encode_bid
from .values import (
    ARRAY,
    COMPOUND,
    FIXED,
    VARIABLE,
    Array,
    Described,
    Encoding,
    Malformed,
    Problem,
    Value,
)

__all__ = [
    "ARRAY",
    "COMPOUND",
    "FINAL",
    "FIXED",
    "VARIABLE",
    "Array",
    "Described",
    "Encoding",
    "Malformed",
    "Problem",
    "TypeSystem",
    "Value",
]


class TypeSystem:
    """A constructor table with its two directions: by format code (read), by type (write)."""

    def __init__(self, encodings: Iterable[Encoding]) -> None:
        by_code: list[Encoding | None] = [None] * 256
        by_type: dict[str, tuple[Encoding, ...]] = {}
        for encoding in encodings:
            by_code[encoding.code] = encoding
            by_type[encoding.type] = (*by_type.get(encoding.type, ()), encoding)
        self.by_code = by_code
        self.by_type = by_type

    @property
    def encodings(self) -> tuple[Encoding, ...]:
        """All rows, by format code."""
        return tuple(row for row in self.by_code if row is not None)

    def extended(self, rows: Iterable[Encoding]) -> TypeSystem:
        """This table plus `rows`; a row replaces the one that had its format code.

        Rows of one type are tried in order when a value is made, so the narrower comes first.
        """
        rows = tuple(rows)
        return TypeSystem((*self.without(row.code for row in rows)._rows(), *rows))

    def without(self, codes: Iterable[int]) -> TypeSystem:
        """This table less the rows with these format codes."""
        dropped = set(codes)
        return TypeSystem(row for row in self._rows() if row.code not in dropped)

    def _rows(self) -> Iterable[Encoding]:
        return (row for rows in self.by_type.values() for row in rows)

    def decode(
        self, buffer: bytes | memoryview, start: int, end: int, problems: list[Problem]
    ) -> Value:
        """Read the value at `start`; `.end` tells where it stops. Bad octets become `Malformed`
        values and rows in `problems`; nothing is raised."""
        return decode.Decoder(self.by_code, buffer, problems).value(start, end, 0)

    def encode(self, value: Value) -> bytes:
        """Write a value in its own encoding, or in a wider one of its type if it must grow.

        Raises `encode.EncodeError` when the data cannot be a value of the type.
        """
        return encode.Encoder(self.by_type).value(value)

    def make(self, type_name: str, data: Any) -> Value:
        """A value of a type in its most compact encoding; `data` as `Value` describes it."""
        return encode.Encoder(self.by_type).make(type_name, data)

    def make_array(
        self, element_type: str, elements: Iterable[Any], descriptors: Iterable[Value] = ()
    ) -> Array:
        """An array of one element type, each element given as the `data` of a value (an inner
        array as the array itself)."""
        return encode.Encoder(self.by_type).make_array(
            element_type, tuple(elements), tuple(descriptors)
        )


def _exactly(expected: Any) -> Callable[[Any], bytes]:
    """The writer of an encoding without data octets: it can only say one thing."""

    def write(data: Any) -> bytes:
        if data != expected:
            raise ValueError(f"only {expected!r} has this encoding")
        return b""

    return write


def _number(code: str) -> dict[str, Any]:
    """Reader and writer of a fixed number by its struct code."""
    packer = struct.Struct(">" + code)
    return {"read": lambda raw: packer.unpack(raw)[0], "write": packer.pack}


def _decimal(form: DecimalFormat) -> dict[str, Any]:
    return {"read": partial(decode_bid, form=form), "write": partial(encode_bid, form=form)}


def _read_boolean(raw: bytes) -> bool:
    if raw[0] > 1:
        raise ValueError(f"boolean octet 0x{raw[0]:02x} is neither 0x00 nor 0x01")
    return raw[0] == 1


def _write_boolean(data: bool) -> bytes:
    return b"\x01" if data else b"\x00"


def _read_char(raw: bytes) -> str:
    return raw.decode("utf-32-be")


def _write_char(data: str) -> bytes:
    if len(data) != 1:
        raise ValueError("a char is one Unicode character")
    return data.encode("utf-32-be")


def _read_utf8(raw: bytes) -> str:
    return raw.decode("utf-8")


def _write_utf8(data: str) -> bytes:
    return data.encode("utf-8")


def _read_ascii(raw: bytes) -> str:
    return raw.decode("ascii")


def _write_ascii(data: str) -> bytes:
    return data.encode("ascii")


def _write_uuid(data: UUID) -> bytes:
    return data.bytes


def _read_uuid(raw: bytes) -> UUID:
    return UUID(bytes=raw)


_BINARY: dict[str, Any] = {"read": bytes, "write": bytes}
_UTF8: dict[str, Any] = {"read": _read_utf8, "write": _write_utf8}
_ASCII: dict[str, Any] = {"read": _read_ascii, "write": _write_ascii}

#: 1.0 §1.6, the narrowest encoding of each type first.
ENCODINGS = (
    Encoding(0x40, "null", "null", FIXED, 0, lambda raw: None, _exactly(None)),
    Encoding(0x41, "boolean", "true", FIXED, 0, lambda raw: True, _exactly(True)),
    Encoding(0x42, "boolean", "false", FIXED, 0, lambda raw: False, _exactly(False)),
    Encoding(0x56, "boolean", "boolean", FIXED, 1, _read_boolean, _write_boolean),
    Encoding(0x50, "ubyte", "ubyte", FIXED, 1, **_number("B")),
    Encoding(0x60, "ushort", "ushort", FIXED, 2, **_number("H")),
    Encoding(0x43, "uint", "uint0", FIXED, 0, lambda raw: 0, _exactly(0)),
    Encoding(0x52, "uint", "smalluint", FIXED, 1, **_number("B")),
    Encoding(0x70, "uint", "uint", FIXED, 4, **_number("I")),
    Encoding(0x44, "ulong", "ulong0", FIXED, 0, lambda raw: 0, _exactly(0)),
    Encoding(0x53, "ulong", "smallulong", FIXED, 1, **_number("B")),
    Encoding(0x80, "ulong", "ulong", FIXED, 8, **_number("Q")),
    Encoding(0x51, "byte", "byte", FIXED, 1, **_number("b")),
    Encoding(0x61, "short", "short", FIXED, 2, **_number("h")),
    Encoding(0x54, "int", "smallint", FIXED, 1, **_number("b")),
    Encoding(0x71, "int", "int", FIXED, 4, **_number("i")),
    Encoding(0x55, "long", "smalllong", FIXED, 1, **_number("b")),
    Encoding(0x81, "long", "long", FIXED, 8, **_number("q")),
    Encoding(0x72, "float", "float", FIXED, 4, **_number("f")),
    Encoding(0x82, "double", "double", FIXED, 8, **_number("d")),
    Encoding(0x74, "decimal32", "decimal32", FIXED, 4, **_decimal(DECIMAL32)),
    Encoding(0x84, "decimal64", "decimal64", FIXED, 8, **_decimal(DECIMAL64)),
    Encoding(0x94, "decimal128", "decimal128", FIXED, 16, **_decimal(DECIMAL128)),
    Encoding(0x73, "char", "utf32", FIXED, 4, _read_char, _write_char),
    Encoding(0x83, "timestamp", "ms64", FIXED, 8, **_number("q")),
    Encoding(0x98, "uuid", "uuid", FIXED, 16, _read_uuid, _write_uuid),
    Encoding(0xA0, "binary", "vbin8", VARIABLE, 1, **_BINARY),
    Encoding(0xB0, "binary", "vbin32", VARIABLE, 4, **_BINARY),
    Encoding(0xA1, "string", "str8-utf8", VARIABLE, 1, **_UTF8),
    Encoding(0xB1, "string", "str32-utf8", VARIABLE, 4, **_UTF8),
    Encoding(0xA3, "symbol", "sym8", VARIABLE, 1, **_ASCII),
    Encoding(0xB3, "symbol", "sym32", VARIABLE, 4, **_ASCII),
    Encoding(0x45, "list", "list0", FIXED, 0, lambda raw: (), _exactly(())),
    Encoding(0xC0, "list", "list8", COMPOUND, 1),
    Encoding(0xD0, "list", "list32", COMPOUND, 4),
    Encoding(0xC1, "map", "map8", COMPOUND, 1),
    Encoding(0xD1, "map", "map32", COMPOUND, 4),
    Encoding(0xE0, "array", "array8", ARRAY, 1),
    Encoding(0xF0, "array", "array32", ARRAY, 4),
)

#: The type system of the published standard.
FINAL = TypeSystem(ENCODINGS)
