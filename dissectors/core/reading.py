"""Cells to Python's own values, for those who look at few of them. Whole tables are for Arrow
(``core/arrow.py``) or Parquet, and loading Arrow takes longer than dissecting most captures."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from itertools import repeat
from typing import Any

import numpy as np

from dissectors.core.columns import NULL_CELL, is_blank
from dissectors.core.rows import Batch
from dissectors.core.texts import coded, number_texts

_ALL_BITS = 0xFFFFFFFFFFFFFFFF


def read_rows(batch: Batch, names: Container[str] | None = None) -> Iterator[dict[str, Any]]:
    """Rows with all columns, or those asked for; each is made when its turn comes."""
    chosen = [
        (position, column.name)
        for position, column in enumerate(batch.table.columns)
        if names is None or column.name in names
    ]
    columns = [_values(batch, position) for position, _ in chosen]
    for values in zip(*columns, strict=True):
        yield {name: value for (_, name), value in zip(chosen, values, strict=True)}


def read_numbers(batch: Batch, name: str, absent: int) -> np.ndarray:
    """A column of whole numbers, with ``absent`` for null."""
    cells = _cells(batch, batch.table.index(name))
    return np.where(cells == NULL_CELL, absent, cells)


def read_choices(batch: Batch, name: str) -> tuple[np.ndarray, list[str | None]]:
    """A column of words or texts: for each row a number, and what the numbers mean; 0 is null."""
    cells, texts = coded(batch, batch.table.index(name))
    numbers, used = number_texts(cells, texts)
    return np.where(cells == NULL_CELL, 0, numbers + 1), [None, *map(_readable, used)]


def _cells(batch: Batch, position: int) -> np.ndarray:
    return batch.grid[position, : batch.num_rows]


def _values(batch: Batch, position: int) -> Iterator[Any]:
    cells = _cells(batch, position)
    if is_blank(cells):
        return repeat(None, len(cells))
    kind = batch.table.columns[position].kind
    if kind in ("word", "text"):
        cells, texts = coded(batch, position)
        return (None if cell == NULL_CELL else _readable(texts[cell]) for cell in cells.tolist())
    read = _READERS[kind](batch, position)
    return (None if cell == NULL_CELL else read(cell) for cell in cells.tolist())


def _readable(text: str) -> str:
    """As files have it: what came as octets that are no UTF-8 is spelled out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _octets_reader(batch: Batch, position: int) -> Callable[[int], bytes]:
    """Cells are lengths: one value begins where the one before it ends."""
    heap = batch.heaps[position]
    end = 0

    def read(size: int) -> bytes:
        nonlocal end
        end += size
        return bytes(heap[end - size : end])

    return read


def _string_reader(batch: Batch, position: int) -> Callable[[int], str]:
    read = _octets_reader(batch, position)
    return lambda size: read(size).decode()


# kind → what makes the function that reads the cells of a column, in order of rows
_READERS: dict[str, Callable[[Batch, int], Callable[[int], Any]]] = {
    "int64": lambda _batch, _position: int,
    "int32": lambda _batch, _position: int,
    "bool": lambda _batch, _position: bool,
    "ratio": lambda _batch, _position: lambda cell: cell / 1_000_000,
    "string": _string_reader,
    "hash": lambda _batch, _position: lambda cell: f"{cell & _ALL_BITS:016x}",
    "bytes": _octets_reader,
}
