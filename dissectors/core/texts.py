"""Texts as octets or numbers, many at a time."""

from __future__ import annotations

import numpy as np

from dissectors.core.columns import renumber


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


def number_texts(codes: np.ndarray, spellings: list[str]) -> tuple[np.ndarray, list[str]]:
    """The codes of a column numbered anew, 0 where absent, and the texts by number: only those
    in use, because the pool that codes are of has the texts of all columns."""
    numbers = np.empty(len(codes), dtype=np.int32)
    known = np.full(len(spellings), -1, dtype=np.int32)
    used = [""] * renumber(codes, numbers, known)
    for code in np.flatnonzero(known >= 0).tolist():
        used[known[code]] = spellings[code]
    return numbers, used
