"""Texts as octets, many at a time."""

from __future__ import annotations

from array import array
from itertools import accumulate


def encode_all(texts: list[str]) -> tuple[bytes, memoryview]:
    """UTF-8 of all, one after the other, and where each begins and the last one ends.

    Octets off the wire that are no UTF-8 were kept as surrogates: they are spelled out."""
    joined = "".join(texts)
    octets = joined.encode("utf-8", "backslashreplace")
    parts: list[str] | list[bytes] = texts
    if len(octets) != len(joined):
        parts = [text.encode("utf-8", "backslashreplace") for text in texts]
    return octets, memoryview(array("q", accumulate(map(len, parts), initial=0)))
