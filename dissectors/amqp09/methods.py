"""Method payloads: class id, method id, arguments (0-9-1 §4.2.4), read and written by the tables.

A decoded method keeps its payload and the octets of every argument, so that `splice` can change
one argument and leave all the others exactly as they were. Nothing is hidden here: secrets are
taken out where rows are made (`redact`), because a replay needs the octets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import octets
from .octets import Buffer, MalformedError
from .schema import Argument, Dialect, Method
from .values import decode_value, encode_value

# class-id and method-id
IDS_SIZE = 4
BITS_PER_OCTET = 8

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Fields:
    """Arguments or properties as read: values, the octets of each, and what went wrong."""

    arguments: tuple[Argument, ...]
    values: tuple[Any, ...]
    spans: tuple[Span, ...]
    end: int
    error: MalformedError | None = None

    def as_dict(self) -> dict[str, Any]:
        return {arg.name: value for arg, value in zip(self.arguments, self.values, strict=False)}


@dataclass(frozen=True, slots=True)
class DecodedMethod:
    """A method with its arguments; `payload` is the whole method payload, ids included."""

    method: Method
    payload: bytes
    fields: Fields

    def __getitem__(self, name: str) -> Any:
        return self.fields.as_dict()[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.as_dict().get(name, default)

    @property
    def trailing(self) -> bytes:
        """Octets after the last argument: a longer method than the table knows."""
        return b"" if self.fields.error else self.payload[self.fields.end :]


def method_key(payload: Buffer) -> int:
    """Class and method id as one number, or -1 when the payload is too short to have them."""
    return int.from_bytes(payload[:IDS_SIZE], "big") if len(payload) >= IDS_SIZE else -1


def decode_method(
    payload: Buffer, dialect: Dialect, systems: tuple[str, ...]
) -> DecodedMethod | None:
    """Read a method payload; None when the dialect has no such class and method."""
    method = dialect.methods.get(method_key(payload))
    if method is None:
        return None
    raw = bytes(payload)
    return DecodedMethod(method, raw, decode_fields(method.arguments, raw, IDS_SIZE, systems))


def encode_method(method: Method, values: Mapping[str, Any]) -> bytes:
    """Write a method payload; an optional argument may be left out, any other must be there."""
    out = bytearray()
    octets.write_short(out, method.class_id)
    octets.write_short(out, method.method_id)
    present = tuple(a for a in method.arguments if not a.is_optional or a.name in values)
    encode_fields(present, [values[argument.name] for argument in present], out)
    return bytes(out)


def splice(decoded: DecodedMethod, changes: Mapping[str, Any]) -> bytes:
    """The payload with some arguments replaced and every other octet as it was."""
    out = bytearray()
    position = 0
    fields = decoded.fields
    bits = _bit_positions(fields.arguments)
    for index, (start, end) in enumerate(fields.spans):
        argument = fields.arguments[index]
        if argument.name not in changes:
            continue
        value = changes[argument.name]
        if argument.type == "bit":
            # A bit's neighbours may have been written just before: patch, do not replace.
            out += decoded.payload[position:end]
            position = max(position, end)
            mask = 1 << bits[index]
            out[-1] = out[-1] | mask if value else out[-1] & ~mask
        else:
            out += decoded.payload[position:start]
            encode_value(argument.type, out, value)
            position = end
    return bytes(out + decoded.payload[position:])


def decode_fields(
    arguments: tuple[Argument, ...], raw: bytes, offset: int, systems: tuple[str, ...]
) -> Fields:
    """Read arguments from `offset` to the end, as far as the octets go."""
    values: list[Any] = []
    spans: list[Span] = []
    end = len(raw)
    bit = BITS_PER_OCTET
    for argument in arguments:
        if argument.is_optional and offset >= end:
            break
        start = offset
        if argument.type == "bit":
            if bit == BITS_PER_OCTET:
                bit, offset = 0, offset + 1
            if offset > end:
                error = octets.short(argument.name, 1, 0)
                return Fields(arguments, tuple(values), tuple(spans), end, error)
            values.append(bool(raw[offset - 1] >> bit & 1))
            spans.append((offset - 1, offset))
            bit += 1
            continue
        bit = BITS_PER_OCTET
        try:
            value, offset = decode_value(argument.type, raw, offset, end, systems)
        except MalformedError as error:
            named = MalformedError(error.code, f"{argument.name}: {error.detail}")
            return Fields(arguments, tuple(values), tuple(spans), start, named)
        values.append(value)
        spans.append((start, offset))
    return Fields(arguments, tuple(values), tuple(spans), offset)


def encode_fields(arguments: tuple[Argument, ...], values: list[Any], out: bytearray) -> None:
    """Append arguments; bits that follow each other share octets from the low bit (§4.2.5.2)."""
    for argument, value, bit in zip(arguments, values, _bit_positions(arguments), strict=True):
        if argument.type == "bit":
            if bit == 0:
                out.append(0)
            if value:
                out[-1] |= 1 << bit
        else:
            encode_value(argument.type, out, value)


def _bit_positions(arguments: tuple[Argument, ...]) -> list[int]:
    """For each bit argument its place in its octet; 0 for all others."""
    positions = []
    bit = 0
    for argument in arguments:
        is_bit = argument.type == "bit"
        positions.append(bit if is_bit else 0)
        bit = (bit + 1) % BITS_PER_OCTET if is_bit else 0
    return positions
