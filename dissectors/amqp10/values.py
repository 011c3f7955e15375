"""What one encoded AMQP value is once read: its wire type, its data, and where its bytes were.

A value remembers the encoding it came in, so that writing it again gives the same octets, and
its byte range, so that replay can splice around it. Values are never changed after they are
made. Reading and writing live in `decode.py` and `encode.py`; this file refuses to know octets.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

FIXED = "fixed"
VARIABLE = "variable"
COMPOUND = "compound"
ARRAY = "array"


class Problem(NamedTuple):
    """Something wrong in encoded bytes: a code of the `problems` table, in words, and where."""

    code: str
    detail: str
    offset: int


@dataclass(frozen=True, slots=True)
class Encoding:
    """One row of the constructor table (1.0 §1.6): how one type looks behind one format code.

    `width` is the number of data octets (fixed) or of the size field (all other categories).
    `read` and `write` turn the data octets of a fixed or variable encoding into the Python
    value and back; `write` raises ValueError, OverflowError or struct.error for what will not
    fit. Compound and array encodings have neither: their items are encodings of their own.
    """

    code: int
    type: str
    name: str
    category: str
    width: int
    read: Callable[[bytes], Any] | None = None
    write: Callable[[Any], bytes] | None = None


#: Stands for a format code that the constructor table does not list.
UNKNOWN = Encoding(-1, "unknown", "unknown", FIXED, 0)
DESCRIBED = Encoding(0x00, "described", "described", FIXED, 0)


class Value:
    """One value. `data` by type: None, bool, int, float, Decimal, str (string, symbol, char),
    bytes (binary), UUID, int milliseconds (timestamp), a tuple of values (list, array), or a
    tuple of (key, value) pairs (map).

    `start` and `end` bound its octets in the buffer it was read from, constructor included
    (an array's elements share one constructor: theirs cover the data only); -1 when it was made.
    """

    __slots__ = ("data", "encoding", "end", "start")

    def __init__(self, encoding: Encoding, data: Any, start: int = -1, end: int = -1) -> None:
        self.encoding = encoding
        self.data = data
        self.start = start
        self.end = end

    @property
    def type(self) -> str:
        """The AMQP type name: `uint`, `symbol`, `map`, `described`, …"""
        return self.encoding.type

    def __eq__(self, other: object) -> bool:
        """Same class, same encoding, same data, wherever the bytes were."""
        if type(other) is not type(self):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        return (self.encoding.code, _exact(self.data))

    def __repr__(self) -> str:
        return f"<{self.encoding.name} {self.data!r}>"


class Described(Value):
    """A value with a descriptor in front (1.0 §1.2); `data` is the value described."""

    __slots__ = ("descriptor",)

    def __init__(self, descriptor: Value, data: Value, start: int = -1, end: int = -1) -> None:
        super().__init__(DESCRIBED, data, start, end)
        self.descriptor = descriptor

    def _identity(self) -> tuple[Any, ...]:
        return (self.descriptor._identity(), self.data._identity())

    def __repr__(self) -> str:
        return f"<described {self.descriptor.data!r} {self.data!r}>"


class Array(Value):
    """An array: the constructor that all elements share, kept even when there are none."""

    __slots__ = ("descriptors", "element")

    def __init__(
        self,
        encoding: Encoding,
        data: tuple[Value, ...],
        element: Encoding,
        descriptors: tuple[Value, ...] = (),
        start: int = -1,
        end: int = -1,
    ) -> None:
        super().__init__(encoding, data, start, end)
        self.element = element
        self.descriptors = descriptors

    def _identity(self) -> tuple[Any, ...]:
        return (self.encoding.code, self.element.code, self.descriptors, self.data)


class Malformed(Value):
    """Octets that are no valid value, kept as they are; `problem` is the code that says why.

    `is_bounded` tells whether the wire still said where the value ends: if not, nothing behind
    it in the same compound can be read.
    """

    __slots__ = ("is_bounded", "problem")

    def __init__(
        self,
        problem: str,
        raw: bytes,
        is_bounded: bool,
        encoding: Encoding = UNKNOWN,
        start: int = -1,
        end: int = -1,
    ) -> None:
        super().__init__(encoding, raw, start, end)
        self.problem = problem
        self.is_bounded = is_bounded

    def _identity(self) -> tuple[Any, ...]:
        return (self.problem, self.data)

    def __repr__(self) -> str:
        return f"<malformed {self.problem} {self.data.hex()}>"


def _exact(data: Any) -> Any:
    """A stand-in that tells -0.0 from 0.0 and 1.0 from 1.00, and lets a NaN equal itself."""
    if isinstance(data, float):
        return struct.pack(">d", data)
    if isinstance(data, Decimal):
        return data.as_tuple()
    return data
