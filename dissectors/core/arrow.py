"""From row buffers to Arrow: the only file that knows how a cell becomes an Arrow value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dissectors.core.rows import NULL_CELL, RowBuffer
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
    cells = np.frombuffer(rows.cells, dtype=np.int64, count=rows.count * rows.width)
    grid = cells.reshape(rows.count, rows.width)
    # Always a copy: a column of one row is contiguous already, and the buffer is used again.
    arrays = [
        _column(column, grid[:, i].copy(), rows, i) for i, column in enumerate(rows.table.columns)
    ]
    batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(rows.table))
    rows.clear()
    return batch


def _column(column: Column, values: np.ndarray, rows: RowBuffer, position: int) -> pa.Array:
    is_absent = values == NULL_CELL
    absent_count = int(np.count_nonzero(is_absent))
    kind = column.kind
    if absent_count == len(values):
        return pa.nulls(len(values), ARROW_TYPES[kind])
    if absent_count:
        values[is_absent] = 0
        validity = pa.py_buffer(np.packbits(~is_absent, bitorder="little"))
    else:
        validity = None
    if kind in ("word", "text"):
        spellings = vocabulary() if kind == "word" else list(rows.pool)
        present = values[~is_absent] if absent_count else values
        return _dictionary(values, present, spellings, validity, absent_count)
    if kind in ("string", "bytes"):
        heap = pa.py_buffer(rows.heaps[position])
        return _strings(ARROW_TYPES[kind], _offsets(values), heap, validity, absent_count)
    if kind == "hash":
        return _hashes(values, validity, absent_count)
    if kind == "bool":
        data = np.packbits(values.astype(np.bool_), bitorder="little")
    elif kind == "ratio":
        data = values / 1_000_000
    elif kind == "int32":
        data = values.astype(np.int32)
    else:
        data = values
    buffers = [validity, pa.py_buffer(data)]
    return pa.Array.from_buffers(ARROW_TYPES[kind], len(values), buffers, absent_count)


def _dictionary(
    codes: np.ndarray,
    present: np.ndarray,
    spellings: list[str],
    validity: pa.Buffer | None,
    absent_count: int,
) -> pa.Array:
    """Only the strings in use enter the column's dictionary: the pool has those of all columns."""
    is_used = np.zeros(len(spellings), dtype=np.bool_)
    is_used[present] = True
    renumber = np.cumsum(is_used, dtype=np.int32) - 1
    used = [spellings[i] for i in np.flatnonzero(is_used).tolist()]
    numbers = np.maximum(renumber[codes], 0).astype(np.int32, copy=False)
    buffers = [validity, pa.py_buffer(numbers)]
    indices = pa.Array.from_buffers(pa.int32(), len(codes), buffers, absent_count)
    return pa.DictionaryArray.from_arrays(indices, _texts(used), safe=False)


def _texts(values: list[str]) -> pa.Array:
    """Octets off the wire that are no UTF-8 were kept as surrogates: they are spelled out. Made
    of buffers, because pa.array() imports pandas to see whether it was given one of its arrays."""
    octets = [value.encode("utf-8", "backslashreplace") for value in values]
    lengths = np.fromiter(map(len, octets), dtype=np.int64, count=len(octets))
    return _strings(pa.string(), _offsets(lengths), pa.py_buffer(b"".join(octets)), None, 0)


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
