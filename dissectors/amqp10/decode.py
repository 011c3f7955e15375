"""Octets → values (1.0 §1.2 to §1.6). Walks a constructor table; never raises on bad octets.

A value that cannot be read becomes `Malformed` with the reason in `problems`. When the wire
still bounds it (a bad string in a list, a format code whose high nibble tells its width), the
neighbours behind it are read as usual; when it does not, the compound ends there. Knows nothing
of frames, composites or what descriptors mean.
"""

from __future__ import annotations

from collections.abc import Callable

from .values import (
    ARRAY,
    COMPOUND,
    FIXED,
    UNKNOWN,
    VARIABLE,
    Array,
    Described,
    Encoding,
    Malformed,
    Problem,
    Value,
)

#: Compounds, arrays and descriptors inside each other, at most.
MAX_DEPTH = 64
#: Values made from one buffer, at most: a list of a million nulls is a million octets on the
#: wire but a hundred times that in memory, and an array of nulls needs no octets at all.
MAX_VALUES = 65_536
#: Problems listed for one buffer, at most.
MAX_PROBLEMS = 100

#: What a reader's refusal is called, by type; all other types can hold any octets.
_BAD_DATA = {"boolean": "type10.bad_boolean"}
_BAD_TEXT = "type10.bad_text"

#: 1.0 §1.2 figure 1.3: the high nibble of a format code tells the shape of its data even when
#: the code itself is unknown: (category, width).
_SHAPES: dict[int, tuple[str, int]] = {
    0x4: (FIXED, 0),
    0x5: (FIXED, 1),
    0x6: (FIXED, 2),
    0x7: (FIXED, 4),
    0x8: (FIXED, 8),
    0x9: (FIXED, 16),
    0xA: (VARIABLE, 1),
    0xB: (VARIABLE, 4),
    0xC: (COMPOUND, 1),
    0xD: (COMPOUND, 4),
    0xE: (ARRAY, 1),
    0xF: (ARRAY, 4),
}


class Decoder:
    """Reads the values of one buffer against one constructor table."""

    __slots__ = ("_budget", "_buffer", "_by_code", "_problems")

    def __init__(
        self,
        by_code: list[Encoding | None],
        buffer: bytes | memoryview,
        problems: list[Problem],
    ) -> None:
        self._by_code = by_code
        self._buffer = buffer
        self._problems = problems
        self._budget = MAX_VALUES

    def value(self, start: int, end: int, depth: int) -> Value:
        """The value whose constructor is at `start`, within `end`."""
        if start >= end:
            return self._unbounded("type10.truncated", "no octet left to read", start, end)
        refusal = self._over_limit(start, end, depth)
        if refusal is not None:
            return refusal
        code = self._buffer[start]
        if code == 0:
            return self._described(start, end, depth)
        encoding = self._by_code[code]
        if encoding is None:
            return self._unknown(code, start, end)
        return self._data(encoding, start, start + 1, end, depth)

    def _over_limit(self, start: int, end: int, depth: int) -> Value | None:
        if depth > MAX_DEPTH:
            detail = f"nested deeper than {MAX_DEPTH}"
            return self._unbounded("type10.too_deep", detail, start, end)
        self._budget -= 1
        if self._budget < 0:
            detail = f"more than {MAX_VALUES} values in one buffer"
            return self._unbounded("type10.too_many_values", detail, start, end)
        return None

    def _described(self, start: int, end: int, depth: int) -> Value:
        descriptor = self.value(start + 1, end, depth + 1)
        if isinstance(descriptor, Malformed) and not descriptor.is_bounded:
            return self._keep(descriptor.problem, start, end, is_bounded=False)
        inner = self.value(descriptor.end, end, depth + 1)
        if isinstance(inner, Malformed) and not inner.is_bounded:
            return self._keep(inner.problem, start, end, is_bounded=False)
        return Described(descriptor, inner, start, inner.end)

    def _unknown(self, code: int, start: int, end: int) -> Value:
        detail = f"format code 0x{code:02x} is not in the constructor table"
        shape = _SHAPES.get(code >> 4)
        stop = None if shape is None else self._extent(*shape, start + 1, end)
        if stop is None:
            return self._unbounded("type10.unknown_constructor", detail, start, end)
        self._note("type10.unknown_constructor", detail, start)
        return self._keep("type10.unknown_constructor", start, stop, is_bounded=True)

    def _extent(self, category: str, width: int, data: int, end: int) -> int | None:
        """Where data of this shape ends, or None if that is past `end`."""
        stop = data + width
        if category != FIXED and stop <= end:
            stop += int.from_bytes(self._buffer[data:stop], "big")
        return stop if stop <= end else None

    def _data(self, encoding: Encoding, start: int, data: int, end: int, depth: int) -> Value:
        """The data octets at `data` read by `encoding`; `start` is where the value began."""
        stop = self._extent(encoding.category, encoding.width, data, end)
        if stop is None:
            detail = f"{encoding.name} runs past the {end - data} octets left"
            return self._unbounded("type10.truncated", detail, start, end, encoding)
        return _READERS[encoding.category](self, encoding, start, data, stop, depth)

    def _fixed(self, encoding: Encoding, start: int, data: int, stop: int, depth: int) -> Value:
        return self._primitive(encoding, start, data, stop)

    def _variable(self, encoding: Encoding, start: int, data: int, stop: int, depth: int) -> Value:
        return self._primitive(encoding, start, data + encoding.width, stop)

    def _primitive(self, encoding: Encoding, start: int, data: int, stop: int) -> Value:
        assert encoding.read is not None
        try:
            return Value(encoding, encoding.read(bytes(self._buffer[data:stop])), start, stop)
        except ValueError as error:
            problem = _BAD_DATA.get(encoding.type, _BAD_TEXT)
            self._note(problem, f"{encoding.name}: {error}", start)
            return self._keep(problem, start, stop, is_bounded=True, encoding=encoding)

    def _compound(self, encoding: Encoding, start: int, data: int, stop: int, depth: int) -> Value:
        body = data + 2 * encoding.width
        if body > stop:
            return self._bad_count(encoding, start, stop, "size leaves no room for the count")
        count = int.from_bytes(self._buffer[data + encoding.width : body], "big")
        items: list[Value] = []
        at = body
        while len(items) < count and at < stop:
            item = self.value(at, stop, depth + 1)
            items.append(item)
            at = item.end
        if len(items) != count or at != stop:
            detail = f"{encoding.name} of {count} items: {len(items)} found"
            detail += f", {stop - at} octets left over" if at != stop else ""
            self._note("type10.bad_count", detail, start)
        if encoding.type == "map":
            return self._map(encoding, start, stop, items)
        return Value(encoding, tuple(items), start, stop)

    def _map(self, encoding: Encoding, start: int, stop: int, items: list[Value]) -> Value:
        if len(items) % 2:
            self._note("type10.odd_map", "a key without a value", start)
            return self._keep("type10.odd_map", start, stop, is_bounded=True, encoding=encoding)
        keys = items[::2]
        if len(set(keys)) != len(keys):
            # 1.0 §1.6.23 calls such a map invalid; all pairs are kept for the reader to see.
            self._note("type10.duplicate_key", "two equal map keys", start)
        return Value(encoding, tuple(zip(keys, items[1::2], strict=True)), start, stop)

    def _array(self, encoding: Encoding, start: int, data: int, stop: int, depth: int) -> Value:
        at = data + 2 * encoding.width
        if at > stop:
            return self._bad_count(encoding, start, stop, "size leaves no room for the count")
        count = int.from_bytes(self._buffer[data + encoding.width : at], "big")
        descriptors: list[Value] = []
        while at < stop and self._buffer[at] == 0 and len(descriptors) <= MAX_DEPTH:
            descriptors.append(self.value(at + 1, stop, depth + 1))
            at = descriptors[-1].end
        element = self._by_code[self._buffer[at]] if at < stop else None
        if element is None:
            detail = f"{encoding.name}: no known constructor for its elements"
            self._note("type10.unknown_constructor", detail, start)
            return self._keep("type10.unknown_constructor", start, stop, True, encoding)
        elements, at = self._elements(element, descriptors, at + 1, stop, count, depth)
        if len(elements) != count or at != stop:
            detail = f"{encoding.name} of {count} elements: {len(elements)} found"
            detail += f", {stop - at} octets left over" if at != stop else ""
            self._note("type10.bad_count", detail, start)
        return Array(encoding, tuple(elements), element, tuple(descriptors), start, stop)

    def _elements(
        self,
        element: Encoding,
        descriptors: list[Value],
        at: int,
        stop: int,
        count: int,
        depth: int,
    ) -> tuple[list[Value], int]:
        elements: list[Value] = []
        needs_octets = element.category != FIXED or element.width > 0
        while len(elements) < count and (at < stop or not needs_octets):
            item = self._over_limit(at, stop, depth + 1)
            if item is None:
                item = self._data(element, at, at, stop, depth + 1)
            at = item.end
            for descriptor in reversed(descriptors):
                item = Described(descriptor, item, item.start, item.end)
            elements.append(item)
            if self._budget < 0:
                break
        return elements, at

    def _note(self, code: str, detail: str, offset: int) -> None:
        """One more problem; past the limit only the fact that there were more."""
        found = len(self._problems)
        if found < MAX_PROBLEMS:
            self._problems.append(Problem(code, detail, offset))
        elif found == MAX_PROBLEMS:
            detail = f"more than {MAX_PROBLEMS} problems; the rest are not listed"
            self._problems.append(Problem("type10.more_problems", detail, offset))

    def _bad_count(self, encoding: Encoding, start: int, stop: int, detail: str) -> Value:
        self._note("type10.bad_count", f"{encoding.name}: {detail}", start)
        return self._keep("type10.bad_count", start, stop, is_bounded=True, encoding=encoding)

    def _unbounded(
        self, problem: str, detail: str, start: int, end: int, encoding: Encoding = UNKNOWN
    ) -> Value:
        self._note(problem, detail, start)
        return self._keep(problem, start, end, is_bounded=False, encoding=encoding)

    def _keep(
        self,
        problem: str,
        start: int,
        stop: int,
        is_bounded: bool,
        encoding: Encoding = UNKNOWN,
    ) -> Malformed:
        raw = bytes(self._buffer[start:stop])
        return Malformed(problem, raw, is_bounded, encoding, start, stop)


_READERS: dict[str, Callable[[Decoder, Encoding, int, int, int, int], Value]] = {
    FIXED: Decoder._fixed,
    VARIABLE: Decoder._variable,
    COMPOUND: Decoder._compound,
    ARRAY: Decoder._array,
}
