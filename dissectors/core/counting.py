"""Rows counted by what some of their columns hold.

Combinations of values are numbers here: where there are not too many of them, a row costs some
additions and no Python object.
"""

from array import array
from math import prod
from typing import Any

import cython

from dissectors.core.columns import NULL_CELL, renumber
from dissectors.core.reading import cell_reader
from dissectors.core.rows import Batch
from dissectors.core.words import vocabulary

ABSENT = cython.declare(cython.longlong, NULL_CELL)
# More combinations of keys than this have no place each, but an entry in a dict.
MAX_COMBINATIONS = 1 << 16


def count_by(
    batch: Batch, keys: tuple[str, ...], summed: str
) -> list[tuple[tuple[Any, ...], int, int]]:
    """(key values, rows, sum) per combination of words and texts; ``summed`` names a column of
    whole numbers."""
    positions = [batch.table.index(key) for key in keys]
    weights = batch.column(batch.table.index(summed))
    found = None
    if cython.compiled and not any(batch.heaps[position] for position in positions):
        found = _count_places(batch, positions, weights)
    if found is None:
        found = _count_entries(batch, positions, weights)
    readers = [cell_reader(batch, position) for position in positions]
    return [
        (
            tuple(
                [
                    None if cell == NULL_CELL else read(cell)
                    for read, cell in zip(readers, cells, strict=True)
                ]
            ),
            count,
            total,
        )
        for cells, count, total in found
    ]


def _count_entries(
    batch: Batch, positions: list[int], weights: memoryview
) -> list[tuple[tuple[int, ...], int, int]]:
    """For any cells; the fastest way of plain Python."""
    counts: dict = {}
    sums: dict = {}
    columns = [batch.column(position) for position in positions]
    for cells, weight in zip(zip(*columns, strict=True), weights, strict=True):
        counts[cells] = counts.get(cells, 0) + 1
        if weight != NULL_CELL:
            sums[cells] = sums.get(cells, 0) + weight
    return [(cells, count, sums.get(cells, 0)) for cells, count in counts.items()]


def _count_places(
    batch: Batch, positions: list[int], weights: memoryview
) -> list[tuple[tuple[int, ...], int, int]] | None:
    """Compiled only, for cells that are codes: a place for every combination; None where these
    are too many."""
    numbers = memoryview(array("i", bytes(4 * batch.num_rows)))
    places = memoryview(array("q", bytes(8 * batch.num_rows)))
    choices: list[list[int]] = []
    for position in positions:
        column = batch.column(position)
        is_text = batch.table.columns[position].kind == "text"
        known = memoryview(
            array("i", (-1,)) * max(1, len(batch.texts if is_text else vocabulary()))
        )
        used = [NULL_CELL] * (1 + renumber(column, numbers, known))
        for code, number in enumerate(known):
            if number >= 0:
                used[1 + number] = code
        combine(places, column, numbers, len(used))
        choices.append(used)
        if prod(map(len, choices)) > MAX_COMBINATIONS:
            return None
    size = prod(map(len, choices))
    counts, sums = (memoryview(array("q", bytes(8 * size))) for _ in range(2))
    add_up(places, weights, counts, sums)
    found = []
    for place, count in enumerate(counts):
        if count:
            cells = []
            rest = place
            for used in reversed(choices):
                rest, number = divmod(rest, len(used))
                cells.append(used[number])
            found.append((tuple(reversed(cells)), count, sums[place]))
    return found


def combine(
    places: cython.longlong[::1],
    cells: cython.longlong[::1],
    numbers: cython.int[::1],
    count: cython.longlong,
) -> cython.int:
    """One more column into the combinations' places: it has so many choices, the first one for
    cells that are absent."""
    i: cython.Py_ssize_t
    for i in range(places.shape[0]):
        places[i] = places[i] * count + (0 if cells[i] == ABSENT else 1 + numbers[i])
    return 0


def add_up(
    places: cython.longlong[::1],
    weights: cython.longlong[::1],
    counts: cython.longlong[::1],
    sums: cython.longlong[::1],
) -> cython.int:
    """Count each place, and sum up what is there."""
    i: cython.Py_ssize_t
    for i in range(places.shape[0]):
        counts[places[i]] += 1
        if weights[i] != ABSENT:
            sums[places[i]] += weights[i]
    return 0
