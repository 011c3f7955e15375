"""Arrow columns from Python values: one copy of the octets, and no look at each of them.

``pa.array`` grows its buffer as it goes and so copies large values several times; it also imports
pandas, which takes a new worker longer than its first megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa


def make_batch(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows, one at least, of whole values: nothing in them is absent."""
    columns = zip(*rows, strict=True)
    arrays = [_MAKERS[field.type](column) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _octets_column(values: Sequence[bytes], kind: pa.DataType | None = None) -> pa.Array:
    """Of type binary, or string (then the octets are UTF-8)."""
    offsets = np.zeros(len(values) + 1, dtype=np.int32)
    lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
    np.cumsum(lengths, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind or pa.binary(), len(values), buffers, 0)


def _text_column(values: Sequence[str]) -> pa.Array:
    """Names of files may hold octets that are no UTF-8: Spark could not read them."""
    octets = [value.encode("utf-8", "backslashreplace") for value in values]
    return _octets_column(octets, pa.string())


def _int64_column(values: Sequence[int]) -> pa.Array:
    numbers = np.array(values, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(numbers)], 0)


_MAKERS: dict[pa.DataType, Callable[[Sequence[Any]], pa.Array]] = {
    pa.binary(): _octets_column,
    pa.int64(): _int64_column,
    pa.string(): _text_column,
}
