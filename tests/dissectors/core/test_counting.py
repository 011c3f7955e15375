"""Rows counted by columns are what counting them one by one gives."""

from __future__ import annotations

from collections import Counter

import pytest

from dissectors.core.counting import count_by
from dissectors.core.rows import RowBuffer
from dissectors.tables import FRAMES, TRANSFERS

KEYS = ("connection_id", "kind", "direction", "outcome")


@pytest.mark.parametrize("connections", [1, 3, 40_000])
def test_whatever_the_number_of_combinations(connections: int) -> None:
    rows = RowBuffer(TRANSFERS, lambda _buffer: None)
    truth: Counter[tuple[str | None, ...]] = Counter()
    sums: Counter[tuple[str | None, ...]] = Counter()
    for number in range(50_000):
        row = {
            "connection_id": f"c{number % connections}",
            "kind": "publish" if number % 2 else "deliver",
            "outcome": "accepted" if number % 5 else None,
            "body_bytes": 2**45 + number if number % 7 else None,
        }
        rows.append(row)
        key = tuple(row.get(name) for name in KEYS)
        truth[key] += 1
        sums[key] += row["body_bytes"] or 0
    found = count_by(rows.take(), KEYS, "body_bytes")
    assert {key: (count, total) for key, count, total in found} == {
        key: (truth[key], sums[key]) for key in truth
    }
    assert len(found) == len(truth)


def test_numbers_that_are_all_absent() -> None:
    rows = RowBuffer(FRAMES, lambda _buffer: None)
    for name in ("a", "b", "a"):
        rows.append({"name": name})
    assert sorted(count_by(rows.take(), ("name",), "size_bytes")) == [
        (("a",), 2, 0),
        (("b",), 1, 0),
    ]


def test_no_rows() -> None:
    rows = RowBuffer(TRANSFERS, lambda _buffer: None)
    assert count_by(rows.take(), KEYS, "body_bytes") == []
