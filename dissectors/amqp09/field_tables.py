"""Field tables and arrays: names with typed values, in any of the type systems of `field_types`.

A table keeps the octets of every entry, its duplicates and the system it was read with. A type
octet that the system does not define, a value that overruns, or nesting past the limit costs that
table only: it keeps its octets and says why, and the frame around it is read on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from . import octets
from .field_types import TYPE_SYSTEMS
from .octets import Buffer, MalformedError, Reader, Writer

# Tables in tables and arrays in arrays are read to this depth.
MAX_DEPTH = 32
# Elements of one typed array: a `void` has no octets, so its count is not bounded by the frame.
MAX_ARRAY_ELEMENTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Entry:
    """One field: name, type octet, value, and where it lies in its table's octets."""

    name: str
    tag: int
    value: Any
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class FieldTable:
    """The fields of a table in order, duplicates included. `raw` excludes the length."""

    entries: tuple[Entry, ...]
    system: str
    raw: bytes
    error: str | None = None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def get(self, name: str, default: Any = None) -> Any:
        """The first value of that name (0-9-1 §4.2.5.5: duplicates are to be ignored)."""
        return next((entry.value for entry in self.entries if entry.name == name), default)


@dataclass(frozen=True, slots=True)
class FieldArray:
    """Values with a type octet each, or (0-9's typed array) with one for all of them."""

    items: tuple[tuple[int, Any], ...]
    element_tag: int | None = None

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(value for _, value in self.items)


def make_table(fields: Iterable[tuple[str, int | str, Any]], system: str) -> FieldTable:
    """A table from (name, type octet or letter, value), with its octets."""
    entries = tuple(
        Entry(name, ord(tag) if isinstance(tag, str) else tag, value) for name, tag, value in fields
    )
    raw = bytearray()
    for entry in entries:
        _write_entry(raw, entry, system)
    return decode_table(bytes(raw), (system,))


def decode_table(raw: bytes, systems: Sequence[str]) -> FieldTable:
    """Read a table's octets with the first system that consumes them exactly."""
    failed: FieldTable | None = None
    for system in systems:
        table = _decode(raw, system, 0)
        if table.error is None:
            return table
        failed = failed or table
    assert failed is not None
    return failed


def encode_table(table: FieldTable) -> bytes:
    """A table's octets: its own if it could not be read, else written from its entries."""
    if table.error is not None:
        return table.raw
    out = bytearray()
    for entry in table.entries:
        _write_entry(out, entry, table.system)
    return bytes(out)


def _decode(raw: bytes, system: str, depth: int) -> FieldTable:
    entries: list[Entry] = []
    offset, end = 0, len(raw)
    try:
        while offset < end:
            start = offset
            name, offset = octets.read_shortstr(raw, offset, end)
            tag, offset = octets.read_octet(raw, offset, end)
            value, offset = _read_value(raw, offset, end, tag, system, depth)
            entries.append(Entry(name, tag, value, start, offset))
    except MalformedError as error:
        return FieldTable(tuple(entries), system, raw, f"{error.detail} (at octet {offset})")
    return FieldTable(tuple(entries), system, raw)


def _write_entry(out: bytearray, entry: Entry, system: str) -> None:
    octets.write_shortstr(out, entry.name)
    out.append(entry.tag)
    _write_value(out, entry.tag, entry.value, system)


def _read_value(
    buffer: bytes, offset: int, end: int, tag: int, system: str, depth: int
) -> tuple[Any, int]:
    kind = TYPE_SYSTEMS[system].get(tag)
    if kind is None:
        raise MalformedError("unknown_field_type", f"type octet 0x{tag:02x} is not in {system}")
    if kind in _NESTED:
        if depth >= MAX_DEPTH:
            raise MalformedError("nesting", f"nested deeper than {MAX_DEPTH}")
        raw, offset = octets.read_longstr(buffer, offset, end)
        return _read_nested(kind, raw, system, depth + 1), offset
    return KINDS[kind][0](buffer, offset, end)


def _write_value(out: bytearray, tag: int, value: Any, system: str) -> None:
    kind = TYPE_SYSTEMS[system][tag]
    if kind in _NESTED:
        octets.write_longstr(out, _nested_octets(kind, value, system))
    else:
        KINDS[kind][1](out, value)


def _read_nested(kind: str, raw: bytes, system: str, depth: int) -> FieldTable | FieldArray:
    if kind == "table":
        table = _decode(raw, system, depth)
        if table.error is not None:
            # The whole table is kept raw, not a part of it: another system may read all of it.
            raise MalformedError("field_table", table.error)
        return table
    if kind == "typed-array":
        return _read_typed_array(raw, system, depth)
    items = []
    offset, end = 0, len(raw)
    while offset < end:
        tag, offset = octets.read_octet(raw, offset, end)
        value, offset = _read_value(raw, offset, end, tag, system, depth)
        items.append((tag, value))
    return FieldArray(tuple(items))


def _read_typed_array(raw: bytes, system: str, depth: int) -> FieldArray:
    """AMQP 0-9, "Field Tables", 0xAA: type octet, number of elements, elements."""
    end = len(raw)
    tag, offset = octets.read_octet(raw, 0, end)
    count, offset = octets.read_long(raw, offset, end)
    if count > MAX_ARRAY_ELEMENTS:
        raise MalformedError("array_limit", f"array of {count} elements")
    items = []
    for _ in range(count):
        value, offset = _read_value(raw, offset, end, tag, system, depth)
        items.append((tag, value))
    if offset != end:
        raise MalformedError("long", f"{end - offset} octets after an array's elements")
    return FieldArray(tuple(items), tag)


def _nested_octets(kind: str, value: FieldTable | FieldArray, system: str) -> bytes:
    if isinstance(value, FieldTable):
        return encode_table(value)
    out = bytearray()
    if kind == "typed-array":
        assert value.element_tag is not None
        out.append(value.element_tag)
        octets.write_long(out, len(value.items))
    for tag, item in value.items:
        if kind != "typed-array":
            out.append(tag)
        _write_value(out, tag, item, system)
    return bytes(out)


def _read_void(buffer: Buffer, offset: int, end: int) -> tuple[None, int]:
    return None, offset


def _write_void(out: bytearray, value: None) -> None:
    return None


def _read_uuid(buffer: Buffer, offset: int, end: int) -> tuple[UUID, int]:
    raw, offset = octets.read_exactly(buffer, offset, end, 16)
    return UUID(bytes=raw), offset


def _write_uuid(out: bytearray, value: UUID) -> None:
    out += value.bytes


_NESTED = frozenset({"table", "array", "sequence", "typed-array"})

_ENCODINGS = {
    "latin": ("iso8859-15", "strict"),
    "utf8": ("utf-8", "surrogateescape"),
    "utf16": ("utf-16-be", "surrogatepass"),
    "utf32": ("utf-32-be", "surrogatepass"),
}

# kind -> (reader, writer); nested kinds are read above
KINDS: dict[str, tuple[Reader, Writer]] = {
    "boolean": (octets.read_boolean, octets.write_boolean),
    "int8": octets.fixed("b"),
    "uint8": octets.fixed("B"),
    "int16": octets.fixed("h"),
    "uint16": octets.fixed("H"),
    "int32": octets.fixed("i"),
    "uint32": octets.fixed("I"),
    "int64": octets.fixed("q"),
    "uint64": octets.fixed("Q"),
    "float": octets.fixed("f"),
    "double": octets.fixed("d"),
    "timestamp": octets.fixed("Q"),
    "datetime": octets.fixed("q"),
    "decimal32": (octets.read_decimal32, octets.write_decimal32),
    "decimal64": (octets.read_decimal64, octets.write_decimal64),
    "shortstr": (octets.read_shortstr, octets.write_shortstr),
    "longstr": (octets.read_longstr, octets.write_longstr),
    "bytes": (octets.read_longstr, octets.write_longstr),
    "char": octets.text(octets.opaque(1), "latin-1", "strict"),
    "char-latin": octets.text(octets.opaque(1), *_ENCODINGS["latin"]),
    "char-utf32": octets.text(octets.opaque(4), *_ENCODINGS["utf32"]),
    "uuid": (_read_uuid, _write_uuid),
    "void": (_read_void, _write_void),
    **{f"bin{size}": octets.opaque(size) for size in (1, 2, 4, 5, 8, 9, 16, 32, 64, 128)},
    **{f"vbin{8 * width}": octets.counted(width) for width in (1, 2, 4)},
    **{
        f"str{8 * width}-{name}": octets.text(octets.counted(width), *encoding)
        for width in (1, 2, 4)
        for name, encoding in _ENCODINGS.items()
    },
}
