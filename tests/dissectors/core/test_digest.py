"""Digests of every length that has a way of its own, against xxhash's library."""

from __future__ import annotations

import random

import pytest
from xxhash import xxh3_64_intdigest

from dissectors.core.digest import digest


@pytest.mark.parametrize("size", [*range(0, 260), 1000, 100_000])
def test_digests_are_those_of_the_library(size: int) -> None:
    rng = random.Random(size)
    for octets in (bytes(size), b"\xff" * size, rng.randbytes(size)):
        around = b"before" + octets + b"after"
        assert digest(around, 6, 6 + size) == xxh3_64_intdigest(octets)
