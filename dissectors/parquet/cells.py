"""Loops over a column's cells: which hold something, and which number their codes have."""

import cython

from dissectors.core.columns import NULL_CELL
from dissectors.parquet.packing import check_room

ABSENT = cython.declare(cython.longlong, NULL_CELL)
# Cells whose bits share an octet.
GROUP = cython.declare(cython.Py_ssize_t, 8)
# Marks in the place of a code's number.
UNKNOWN = -1
NEW = cython.declare(cython.int, UNKNOWN)
SEEN = cython.declare(cython.int, -2)


def compact(
    cells: cython.longlong[::1], out: cython.longlong[::1], bits: cython.uchar[::1]
) -> cython.Py_ssize_t:
    """The cells that hold something, one after the other; how many is returned. ``bits`` gets a
    bit for every cell, set where it holds something."""
    source: cython.p_longlong
    target: cython.p_longlong
    marks: cython.p_uchar
    octet: cython.uchar
    begin: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    count: cython.Py_ssize_t = cells.shape[0]
    found: cython.Py_ssize_t = 0
    check_room(count, 1)
    check_room(out.shape[0], count)
    check_room(bits.shape[0] * GROUP, count)
    if cython.compiled:
        source = cython.address(cells[0])
        target = cython.address(out[0])
        marks = cython.address(bits[0])
    else:
        source, target, marks = cells, out, bits
    with cython.nogil:
        while begin < count:
            octet = 0
            for i in range(begin, min(begin + GROUP, count)):
                target[found] = source[i]
                if source[i] != ABSENT:
                    octet |= 1 << (i - begin)
                    found += 1
            marks[begin >> 3] = octet
            begin += GROUP
    return found


def find_new(
    codes: cython.longlong[::1],
    count: cython.Py_ssize_t,
    known: cython.int[::1],
    found: cython.int[::1],
) -> cython.Py_ssize_t:
    """The codes that ``known`` does not number yet, each once and marked as seen; at most as many
    as fit into ``found``."""
    i: cython.Py_ssize_t
    new_count: cython.Py_ssize_t = 0
    for i in range(count):
        if known[codes[i]] == NEW:
            if new_count == found.shape[0]:
                break
            known[codes[i]] = SEEN
            found[new_count] = codes[i]
            new_count += 1
    return new_count


def translate(
    codes: cython.longlong[::1],
    count: cython.Py_ssize_t,
    known: cython.int[::1],
    out: cython.int[::1],
) -> cython.int:
    """The codes as ``known`` numbers them."""
    i: cython.Py_ssize_t
    for i in range(count):
        out[i] = known[codes[i]]
    return 0
