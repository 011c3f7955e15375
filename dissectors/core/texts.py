"""Texts as octets or numbers, many at a time."""

from __future__ import annotations

import numpy as np

from dissectors.core.columns import renumber
from dissectors.core.rows import LOOSE, LOOSE_SIZE_BITS, Batch
from dissectors.core.words import vocabulary


def encode_all(texts: list[str]) -> tuple[bytes, np.ndarray]:
    """UTF-8 of all, one after the other, and where each begins and the last one ends.

    Octets off the wire that are no UTF-8 were kept as surrogates: they are spelled out."""
    joined = "".join(texts)
    octets = joined.encode("utf-8", "backslashreplace")
    parts: list[str] | list[bytes] = texts
    if len(octets) != len(joined):
        parts = [text.encode("utf-8", "backslashreplace") for text in texts]
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)), out=offsets[1:])
    return octets, offsets


def coded(batch: Batch, position: int) -> tuple[np.ndarray, list[str]]:
    """The cells of a column of words or texts, and what their codes mean. Loose texts have codes
    here like all others."""
    cells = batch.grid[position, : batch.num_rows]
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


def number_texts(codes: np.ndarray, spellings: list[str]) -> tuple[np.ndarray, list[str]]:
    """The codes of a column numbered anew, 0 where absent, and the texts by number: only those
    in use, because the pool that codes are of has the texts of all columns."""
    numbers = np.empty(len(codes), dtype=np.int32)
    known = np.full(len(spellings), -1, dtype=np.int32)
    used = [""] * renumber(codes, numbers, known)
    for code in np.flatnonzero(known >= 0).tolist():
        used[known[code]] = spellings[code]
    return numbers, used
