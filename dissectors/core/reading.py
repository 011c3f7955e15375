"""Cells to Python's own values, for those who look at few of them. Whole tables are for Arrow
(``core/arrow.py``) or Parquet, and loading Arrow takes longer than dissecting most captures."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from itertools import repeat
from typing import Any

from dissectors.core.columns import NULL_CELL, is_blank
from dissectors.core.rows import LOOSE, LOOSE_SIZE_BITS, Batch
from dissectors.core.words import vocabulary

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


def _values(batch: Batch, position: int) -> Iterator[Any]:
    cells = batch.column(position)
    if is_blank(cells):
        return repeat(None, len(cells))
    read = cell_reader(batch, position)
    return (None if cell == NULL_CELL else read(cell) for cell in cells)


def cell_reader(batch: Batch, position: int) -> Callable[[int], Any]:
    """What tells the value of a cell that holds one. Cells of strings and octets must be asked for
    in order of rows."""
    return _READERS[batch.table.columns[position].kind](batch, position)


def _readable(text: str) -> str:
    """As files have it: what came as octets that are no UTF-8 is spelled out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _word_reader(_batch: Batch, _position: int) -> Callable[[int], str]:
    return vocabulary().__getitem__


def _text_reader(batch: Batch, position: int) -> Callable[[int], str]:
    texts, heap = batch.texts, batch.heaps[position]

    def read(cell: int) -> str:
        if cell < LOOSE:
            return _readable(texts[cell])
        start, size = divmod(cell - LOOSE, 1 << LOOSE_SIZE_BITS)
        return heap[start : start + size].decode()

    return read


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


# kind → what makes the function that reads the cells of a column
_READERS: dict[str, Callable[[Batch, int], Callable[[int], Any]]] = {
    "int64": lambda _batch, _position: int,
    "int32": lambda _batch, _position: int,
    "bool": lambda _batch, _position: bool,
    "ratio": lambda _batch, _position: lambda cell: cell / 1_000_000,
    "word": _word_reader,
    "text": _text_reader,
    "string": _string_reader,
    "hash": lambda _batch, _position: lambda cell: f"{cell & _ALL_BITS:016x}",
    "bytes": _octets_reader,
}
