"""Cells of one column on their way out of a row buffer: looked through, numbered anew, wiped."""

from array import array

import cython

# Absent. No spec-defined number of AMQP reaches it: 64-bit values are clipped by clip_int64.
NULL_CELL = -0x8000000000000000
ABSENT = cython.declare(cython.longlong, NULL_CELL)
CELL_BYTES = cython.declare(cython.Py_ssize_t, 8)


def is_alike(cells: cython.longlong[::1]) -> cython.bint:
    """Whether all cells of a column are the same: each is compared with its neighbour."""
    size: cython.Py_ssize_t = cells.shape[0]
    if size < 2:
        return True
    if cells[0] != cells[size - 1]:
        return False
    if not cython.compiled:
        octets = bytes(cells)
        return octets[CELL_BYTES:] == octets[:-CELL_BYTES]
    first: cython.p_longlong = cython.address(cells[0])
    return memcmp(first, first + 1, (size - 1) * CELL_BYTES) == 0  # type: ignore # noqa: F821


def is_blank(cells: cython.longlong[::1]) -> cython.bint:
    """Whether a column holds nothing: so it is with most columns of most captures."""
    return cells.shape[0] == 0 or (cells[0] == ABSENT and is_alike(cells))


def fill(cells: cython.longlong[::1], value: cython.longlong) -> cython.int:
    """The same in all of them."""
    i: cython.Py_ssize_t
    size: cython.Py_ssize_t = cells.shape[0]
    if not cython.compiled:
        cells[:] = array("q", (value,)) * size
        return 0
    if size:
        first: cython.p_longlong = cython.address(cells[0])
        for i in range(size):
            first[i] = value
    return 0


def renumber(
    cells: cython.longlong[::1], numbers: cython.int[::1], known: cython.int[::1]
) -> cython.Py_ssize_t:
    """Write the number of each cell's code to `numbers`, 0 where absent.

    Texts of all columns share one pool and words one vocabulary, so a column's codes are sparse;
    its dictionary holds only what it uses. `known` has a place per code, -1 in all; afterwards the
    number of each code in use. Returns how many are in use.
    """
    i: cython.Py_ssize_t
    number: cython.int
    used: cython.int = 0
    cell: cython.longlong
    if not cython.compiled:
        return _renumber(cells, numbers, known)
    for i in range(cells.shape[0]):
        cell = cells[i]
        if cell == ABSENT:
            numbers[i] = 0
            continue
        number = known[cell]
        if number < 0:
            number = used
            known[cell] = number
            used += 1
        numbers[i] = number
    return used


def _renumber(cells, numbers, known) -> int:
    """The same by whole columns, for where no compiler was; numbers follow the codes' order."""
    import numpy as np  # which the compiled backend does without, and starts sooner

    cells, numbers, known = np.asarray(cells), np.asarray(numbers), np.asarray(known)
    is_present = cells != ABSENT
    known[cells[is_present]] = 0
    in_use = np.flatnonzero(known == 0)
    known[in_use] = np.arange(len(in_use), dtype=np.int32)
    numbers[:] = np.where(is_present, known[np.where(is_present, cells, 0)], 0)
    return len(in_use)
