"""Values → octets (1.0 §1.2 to §1.6). Walks a constructor table.

A value is written in the encoding it came in; if its data no longer fits there, in the next
wider one of its type. Malformed values are written back as the octets they were. Unlike the
decoder this side raises, because what it is given comes from our own callers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any

from .values import ARRAY, COMPOUND, FIXED, VARIABLE, Array, Described, Encoding, Malformed, Value


class EncodeError(ValueError):
    """The data is no value of the type it was called."""


class Encoder:
    """Writes values against one constructor table (encodings by type, narrowest first)."""

    __slots__ = ("_by_type",)

    def __init__(self, by_type: dict[str, tuple[Encoding, ...]]) -> None:
        self._by_type = by_type

    def value(self, value: Value) -> bytes:
        """Constructor and data."""
        if isinstance(value, Malformed):
            return bytes(value.data)
        if isinstance(value, Described):
            return b"\x00" + self.value(value.descriptor) + self.value(value.data)
        encoding, data = self._fitting([value.encoding, *self._wider(value.encoding)], [value])
        return bytes((encoding.code,)) + data[0]

    def make(self, type_name: str, data: Any) -> Value:
        """A value in the narrowest encoding that holds it."""
        candidates = self._by_type[type_name]
        encoding, _ = self._fitting(candidates, [Value(candidates[0], data)])
        return Value(encoding, data)

    def make_array(
        self, element_type: str, elements: tuple[Any, ...], descriptors: tuple[Value, ...]
    ) -> Array:
        """An array whose element constructor is the narrowest that holds every element."""
        candidates = self._by_type[element_type]
        given = [e if isinstance(e, Value) else Value(candidates[0], e) for e in elements]
        element, _ = self._fitting(_array_order(candidates), given)
        values = [_recast(value, element, descriptors) for value in given]
        arrays = [row for row in self._by_type["array"] if row.category == ARRAY]
        array = Array(arrays[-1], tuple(values), element, descriptors)
        encoding, _ = self._fitting(arrays, [array])
        return Array(encoding, tuple(values), element, descriptors)

    def _wider(self, encoding: Encoding) -> Iterable[Encoding]:
        rows = self._by_type.get(encoding.type, ())
        return (row for row in rows if row.width > encoding.width)

    def _fitting(
        self, candidates: Iterable[Encoding], values: list[Value]
    ) -> tuple[Encoding, list[bytes]]:
        """The first encoding that holds all `values`, with their data octets."""
        refusal: Exception | None = None
        for encoding in candidates:
            try:
                return encoding, [self._data(encoding, value) for value in values]
            except (ValueError, OverflowError, struct.error, AttributeError, TypeError) as error:
                refusal = error
        name = values[0].type if values else "value"
        raise EncodeError(f"no encoding of {name} holds {values!r}: {refusal}") from refusal

    def _data(self, encoding: Encoding, value: Value) -> bytes:
        if isinstance(value, Malformed):
            return bytes(value.data)
        return _WRITERS[encoding.category](self, encoding, value)

    def _fixed(self, encoding: Encoding, value: Value) -> bytes:
        assert encoding.write is not None
        return encoding.write(value.data)

    def _variable(self, encoding: Encoding, value: Value) -> bytes:
        assert encoding.write is not None
        data = encoding.write(value.data)
        return len(data).to_bytes(encoding.width, "big") + data

    def _compound(self, encoding: Encoding, value: Value) -> bytes:
        items = value.data
        if encoding.type == "map":
            items = [item for pair in value.data for item in pair]
        return _sized(encoding.width, len(items), b"".join(map(self.value, items)))

    def _array(self, encoding: Encoding, value: Value) -> bytes:
        assert isinstance(value, Array)
        body = b"".join(b"\x00" + self.value(descriptor) for descriptor in value.descriptors)
        elements = [_undescribed(item, len(value.descriptors)) for item in value.data]
        element, octets = self._fitting([value.element, *self._wider(value.element)], elements)
        body += bytes((element.code,)) + b"".join(octets)
        return _sized(encoding.width, len(elements), body)


def _sized(width: int, count: int, body: bytes) -> bytes:
    """The size field counts the count field too (1.0 §1.2.3)."""
    return (len(body) + width).to_bytes(width, "big") + count.to_bytes(width, "big") + body


def _undescribed(value: Value, levels: int) -> Value:
    for _ in range(levels):
        value = value.data
    return value


def _recast(value: Value, element: Encoding, descriptors: tuple[Value, ...]) -> Value:
    """The value as an element: in the shared encoding, behind the shared descriptors."""
    if isinstance(value, Array):
        value = Array(element, value.data, value.element, value.descriptors)
    else:
        value = Value(element, value.data)
    for descriptor in reversed(descriptors):
        value = Described(descriptor, value)
    return value


def _array_order(candidates: tuple[Encoding, ...]) -> list[Encoding]:
    """Encodings without data octets (true, uint0, list0) come last: they fit only arrays of
    one repeated value, which peers do not expect."""
    return sorted(candidates, key=lambda row: row.width == 0 and row.type != "null")


_WRITERS: dict[str, Callable[[Encoder, Encoding, Value], bytes]] = {
    FIXED: Encoder._fixed,
    VARIABLE: Encoder._variable,
    COMPOUND: Encoder._compound,
    ARRAY: Encoder._array,
}
