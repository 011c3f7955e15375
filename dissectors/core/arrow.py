"""From row buffers to Arrow: the only file that knows how a cell becomes an Arrow value."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa

from dissectors.core.columns import renumber
from dissectors.core.rows import NULL_CELL, ROWS_PER_BATCH, RowBuffer
from dissectors.core.words import vocabulary
from dissectors.tables import Column, Table

_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
ARROW_TYPES: dict[str, pa.DataType] = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "bool": pa.bool_(),
    "ratio": pa.float64(),
    "word": _DICTIONARY,
    "text": _DICTIONARY,
    "string": pa.string(),
    "hash": pa.string(),
    "bytes": pa.binary(),
}
_HEX_PAIRS = np.frombuffer("".join(f"{i:02x}" for i in range(256)).encode(), dtype=np.uint16)


def arrow_schema(table: Table) -> pa.Schema:
    return pa.schema([pa.field(c.name, ARROW_TYPES[c.kind], c.is_nullable) for c in table.columns])


def take_batch(rows: RowBuffer) -> pa.RecordBatch:
    """The buffered rows as a record batch; the buffer starts anew."""
    arrays = [
        _column(column, rows.grid[i, : rows.count], rows, i)
        for i, column in enumerate(rows.table.columns)
    ]
    batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(rows.table))
    rows.clear()
    return batch


def _column(column: Column, values: np.ndarray, rows: RowBuffer, position: int) -> pa.Array:
    """An array that shares no memory with the buffer, which is used again."""
    is_absent = values == NULL_CELL
    absent_count = int(np.count_nonzero(is_absent))
    kind = column.kind
    if absent_count == len(values):
        return _nulls(ARROW_TYPES[kind], len(values))
    validity = pa.py_buffer(np.packbits(~is_absent, bitorder="little")) if absent_count else None
    if kind in ("word", "text"):
        spellings = vocabulary() if kind == "word" else list(rows.pool)
        return _dictionary(values, spellings, validity, absent_count)
    if kind in ("string", "bytes"):
        lengths = np.where(is_absent, 0, values) if absent_count else values
        heap = pa.py_buffer(rows.heaps[position])
        return _strings(ARROW_TYPES[kind], _offsets(lengths), heap, validity, absent_count)
    if kind == "hash":
        return _hashes(values, validity, absent_count)
    buffers = [validity, pa.py_buffer(_NUMBERS[kind](values))]
    return pa.Array.from_buffers(ARROW_TYPES[kind], len(values), buffers, absent_count)


_NUMBERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "int64": np.copy,
    "int32": lambda values: values.astype(np.int32),
    "bool": lambda values: np.packbits(values.astype(np.bool_), bitorder="little"),
    "ratio": lambda values: values / 1_000_000,
}


@cache
def _all_nulls(arrow_type: pa.DataType) -> pa.Array:
    return pa.nulls(ROWS_PER_BATCH, arrow_type)


def _nulls(arrow_type: pa.DataType, count: int) -> pa.Array:
    """Whole batches without a value in some column are many: they share the same nulls."""
    return _all_nulls(arrow_type) if count == ROWS_PER_BATCH else pa.nulls(count, arrow_type)


def _dictionary(
    codes: np.ndarray, spellings: list[str], validity: pa.Buffer | None, absent_count: int
) -> pa.Array:
    """Only the strings in use enter the column's dictionary: the pool has those of all columns."""
    numbers = np.empty(len(codes), dtype=np.int32)
    known = np.full(len(spellings), -1, dtype=np.int32)
    used = [""] * renumber(codes, numbers, known)
    for code in np.flatnonzero(known >= 0).tolist():
        used[known[code]] = spellings[code]
    buffers = [validity, pa.py_buffer(numbers)]
    indices = pa.Array.from_buffers(pa.int32(), len(codes), buffers, absent_count)
    return pa.DictionaryArray.from_arrays(indices, _texts(used), safe=False)


def _texts(values: list[str]) -> pa.Array:
    """Octets off the wire that are no UTF-8 were kept as surrogates: they are spelled out. Made
    of buffers, because pa.array() imports pandas to see whether it was given one of its arrays."""
    joined = "".join(values)
    octets = joined.encode("utf-8", "backslashreplace")
    parts: list[str] | list[bytes] = values
    if len(octets) != len(joined):
        parts = [value.encode("utf-8", "backslashreplace") for value in values]
    lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    return _strings(pa.string(), _offsets(lengths), pa.py_buffer(octets), None, 0)


def _offsets(lengths: np.ndarray) -> np.ndarray:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _strings(
    arrow_type: pa.DataType,
    offsets: np.ndarray,
    heap: pa.Buffer,
    validity: pa.Buffer | None,
    absent_count: int,
) -> pa.Array:
    buffers = [validity, pa.py_buffer(offsets), heap]
    return pa.Array.from_buffers(arrow_type, len(offsets) - 1, buffers, absent_count)


def _hashes(values: np.ndarray, validity: pa.Buffer | None, absent_count: int) -> pa.Array:
    """Sixteen hex digits each, most significant first."""
    octets = values.astype(">i8").view(np.uint8)
    offsets = np.arange(0, 16 * len(values) + 1, 16, dtype=np.int32)
    return _strings(pa.string(), offsets, pa.py_buffer(_HEX_PAIRS[octets]), validity, absent_count)
