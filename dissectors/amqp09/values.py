"""Argument types: what a method argument or a content property looks like in octets.

`bit` is not here: bits share octets with their neighbours, so `methods` packs them. `content` is
the body of 0-9's message.transfer: inline, or a reference to one that message.append builds up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import octets
from .field_tables import FieldTable, decode_table, encode_table
from .octets import Buffer, MalformedError, Reader, Writer

INLINE = 0
REFERENCE = 1


@dataclass(frozen=True, slots=True)
class Content:
    """A union of inline body and reference (AMQP 0-9, "Data types"; Qpid's octet and longstr)."""

    value: bytes
    is_reference: bool = False


def _read_content(buffer: Buffer, offset: int, end: int) -> tuple[Content, int]:
    discriminator, offset = octets.read_octet(buffer, offset, end)
    if discriminator not in (INLINE, REFERENCE):
        detail = f"content is neither inline nor reference: {discriminator}"
        raise MalformedError("content_kind", detail)
    value, offset = octets.read_longstr(buffer, offset, end)
    return Content(value, discriminator == REFERENCE), offset


def _write_content(out: bytearray, value: Content) -> None:
    out.append(REFERENCE if value.is_reference else INLINE)
    octets.write_longstr(out, value.value)


_SCALARS: dict[str, tuple[Reader, Writer]] = {
    "octet": (octets.read_octet, octets.write_octet),
    "short": (octets.read_short, octets.write_short),
    "long": (octets.read_long, octets.write_long),
    "longlong": (octets.read_longlong, octets.write_longlong),
    "timestamp": (octets.read_longlong, octets.write_longlong),
    "shortstr": (octets.read_shortstr, octets.write_shortstr),
    "longstr": (octets.read_longstr, octets.write_longstr),
    "content": (_read_content, _write_content),
}
TYPES = frozenset(_SCALARS) | {"table"}


def decode_value(
    wire_type: str, buffer: Buffer, offset: int, end: int, systems: tuple[str, ...]
) -> tuple[Any, int]:
    """One value and the offset after it; `systems` are the field-table types to try."""
    if wire_type == "table":
        raw, offset = octets.read_longstr(buffer, offset, end)
        return decode_table(raw, systems), offset
    return _SCALARS[wire_type][0](buffer, offset, end)


def encode_value(wire_type: str, out: bytearray, value: Any) -> None:
    """Append one value."""
    if wire_type == "table":
        assert isinstance(value, FieldTable)
        octets.write_longstr(out, encode_table(value))
    else:
        _SCALARS[wire_type][1](out, value)
