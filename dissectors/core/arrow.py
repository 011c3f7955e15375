"""From row buffers to Arrow: the only file that knows how a cell becomes an Arrow value."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import cache

import numpy as np
import pyarrow as pa

from dissectors.core.columns import NULL_CELL, is_blank, renumber
from dissectors.core.rows import LOOSE, LOOSE_SIZE_BITS, ROWS_PER_BATCH, Batch
from dissectors.core.texts import encode_all
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
    return pa.schema([_field(column) for column in table.columns])


def to_arrow(batch: Batch, columns: Container[str] | None = None) -> pa.RecordBatch:
    """Rows as a record batch that shares no memory with them; on demand only some columns."""
    chosen = [
        (position, column)
        for position, column in enumerate(batch.table.columns)
        if columns is None or column.name in columns
    ]
    arrays = [_column(column, batch, position) for position, column in chosen]
    fields = [_field(column) for _, column in chosen]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _field(column: Column) -> pa.Field:
    return pa.field(column.name, ARROW_TYPES[column.kind], column.is_nullable)


def _column(column: Column, batch: Batch, position: int) -> pa.Array:
    cells = batch.column(position)
    kind = column.kind
    if is_blank(cells):
        return _nulls(ARROW_TYPES[kind], len(cells))
    values = np.asarray(cells)
    is_absent = values == NULL_CELL
    absent_count = int(np.count_nonzero(is_absent))
    validity = pa.py_buffer(np.packbits(~is_absent, bitorder="little")) if absent_count else None
    if kind in ("word", "text"):
        values, spellings = _coded(values, batch, position)
        return _dictionary(values, spellings, validity, absent_count)
    if kind in ("string", "bytes"):
        lengths = np.where(is_absent, 0, values) if absent_count else values
        heap = pa.py_buffer(batch.heaps[position])
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
    """Only with the texts in use, because the pool that codes are of has those of all columns."""
    numbers = np.empty(len(codes), dtype=np.int32)
    known = np.full(len(spellings), -1, dtype=np.int32)
    used = [""] * renumber(codes.data, numbers.data, known.data)
    for code in np.flatnonzero(known >= 0).tolist():
        used[known[code]] = spellings[code]
    buffers = [validity, pa.py_buffer(numbers)]
    indices = pa.Array.from_buffers(pa.int32(), len(codes), buffers, absent_count)
    return pa.DictionaryArray.from_arrays(indices, _texts(used), safe=False)


def _coded(cells: np.ndarray, batch: Batch, position: int) -> tuple[np.ndarray, list[str]]:
    """The cells of a column of words or texts, and what their codes mean. Loose texts have codes
    here like all others."""
    if batch.table.columns[position].kind == "word":
        return cells, vocabulary()
    heap = batch.heaps[position]
    if not heap:
        return cells, batch.texts
    cells, texts = cells.copy(), list(batch.texts)
    codes: dict[bytes, int] = {}
    for row in np.flatnonzero(cells >= LOOSE).tolist():
        start, size = divmod(int(cells[row]) - LOOSE, 1 << LOOSE_SIZE_BITS)
        octets = bytes(heap[start : start + size])
        code = codes.get(octets)
        if code is None:
            code = codes[octets] = len(texts)
            texts.append(octets.decode())
        cells[row] = code
    return cells, texts


def _texts(values: list[str]) -> pa.Array:
    """Made of buffers, because pa.array() imports pandas to see whether it was given one of its
    arrays."""
    octets, offsets = encode_all(values)
    places = np.asarray(offsets).astype(np.int32)
    return _strings(pa.string(), places, pa.py_buffer(octets), None, 0)


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
