"""Octets to whole numbers, strings and decimals and back: the parts that argument types and
field-table types share.

Readers take (buffer, offset, end) and give (value, next offset); writers append to a bytearray.
All integers are unsigned and in network order unless a name says otherwise (0-9-1 §4.2.5.1).
Text keeps undecodable octets as surrogates, so that writing gives back what was read.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from struct import Struct
from typing import Any

Buffer = bytes | bytearray | memoryview
Reader = Callable[[Buffer, int, int], tuple[Any, int]]
Writer = Callable[[bytearray, Any], None]

MAX_OCTET = 0xFF


class MalformedError(ValueError):
    """A value does not fit the octets that are left, or cannot be what its type says."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def short(what: str, need: int, have: int) -> MalformedError:
    return MalformedError("short", f"{what} needs {need} octets, {max(have, 0)} are left")


def read_exactly(buffer: Buffer, offset: int, end: int, size: int) -> tuple[bytes, int]:
    if size > end - offset:
        raise short("value", size, end - offset)
    return bytes(buffer[offset : offset + size]), offset + size


def fixed(format_: str) -> tuple[Reader, Writer]:
    """Reader and writer of one fixed-width number."""
    struct = Struct(">" + format_)
    size, unpack, pack = struct.size, struct.unpack_from, struct.pack

    def read(buffer: Buffer, offset: int, end: int) -> tuple[Any, int]:
        if offset + size > end:
            raise short("number", size, end - offset)
        return unpack(buffer, offset)[0], offset + size

    def write(out: bytearray, value: Any) -> None:
        out += pack(value)

    return read, write


def opaque(size: int) -> tuple[Reader, Writer]:
    """Reader and writer of a fixed number of octets without meaning."""

    def read(buffer: Buffer, offset: int, end: int) -> tuple[bytes, int]:
        return read_exactly(buffer, offset, end, size)

    def write(out: bytearray, value: bytes) -> None:
        if len(value) != size:
            raise ValueError(f"{size} octets wanted, not {len(value)}")
        out += value

    return read, write


read_octet, write_octet = fixed("B")
read_short, write_short = fixed("H")
read_long, write_long = fixed("I")
read_longlong, write_longlong = fixed("Q")
_read_int32, _write_int32 = fixed("i")
_read_int64, _write_int64 = fixed("q")


def counted(width: int) -> tuple[Reader, Writer]:
    """Reader and writer of octets behind a length of 1, 2 or 4 octets."""
    read_size, write_size = {1: fixed("B"), 2: fixed("H"), 4: fixed("I")}[width]

    def read(buffer: Buffer, offset: int, end: int) -> tuple[bytes, int]:
        size, offset = read_size(buffer, offset, end)
        return read_exactly(buffer, offset, end, size)

    def write(out: bytearray, value: bytes) -> None:
        write_size(out, len(value))
        out += value

    return read, write


def text(pair: tuple[Reader, Writer], encoding: str, errors: str) -> tuple[Reader, Writer]:
    """Text in an encoding over octets; octets that are no such text stay octets."""
    read_octets, write_octets = pair

    def read(buffer: Buffer, offset: int, end: int) -> tuple[str | bytes, int]:
        octets, offset = read_octets(buffer, offset, end)
        try:
            return octets.decode(encoding, errors), offset
        except UnicodeDecodeError:
            return octets, offset

    def write(out: bytearray, value: str | bytes) -> None:
        write_octets(out, value.encode(encoding, errors) if isinstance(value, str) else value)

    return read, write


read_shortstr, write_shortstr = text(counted(1), "utf-8", "surrogateescape")
read_longstr, write_longstr = counted(4)


def read_boolean(buffer: Buffer, offset: int, end: int) -> tuple[bool, int]:
    value, offset = read_octet(buffer, offset, end)
    return value != 0, offset


def write_boolean(out: bytearray, value: bool) -> None:
    out.append(1 if value else 0)


def _decimal(read_number: Reader, write_number: Writer) -> tuple[Reader, Writer]:
    """Number of decimals, unsigned, then a signed number (0-9-1 §4.2.5.5)."""

    def read(buffer: Buffer, offset: int, end: int) -> tuple[Decimal, int]:
        scale, offset = read_octet(buffer, offset, end)
        number, offset = read_number(buffer, offset, end)
        digits = tuple(map(int, str(abs(number))))
        return Decimal((1 if number < 0 else 0, digits, -scale)), offset

    def write(out: bytearray, value: Decimal) -> None:
        sign, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int) or not -MAX_OCTET <= exponent <= 0:
            raise ValueError(f"no decimal of 0 to {MAX_OCTET} places: {value}")
        number = int("".join(map(str, digits)))
        write_octet(out, -exponent)
        write_number(out, -number if sign else number)

    return read, write


read_decimal32, write_decimal32 = _decimal(_read_int32, _write_int32)
read_decimal64, write_decimal64 = _decimal(_read_int64, _write_int64)
