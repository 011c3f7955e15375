"""Loops over a column's cells: which hold something, and which number their codes have."""

import cython

from dissectors.core.columns import NULL_CELL
from dissectors.core.rows import LOOSE
from dissectors.parquet.packing import check_room

ABSENT = cython.declare(cython.longlong, NULL_CELL)
# Cells whose bits share an octet.
GROUP = cython.declare(cython.Py_ssize_t, 8)
ALL_PRESENT = cython.declare(cython.uchar, 0xFF)
LOOSE_BIT = cython.declare(cython.longlong, LOOSE)
# Marks in the place of a code's number.
UNKNOWN = -1
NEW = cython.declare(cython.int, UNKNOWN)
SEEN = cython.declare(cython.int, -2)


def compact(cells: cython.longlong[::1], bits: cython.uchar[::1]) -> cython.Py_ssize_t:
    """Move the cells that hold something to the front; how many is returned. ``bits`` gets a bit
    for every cell, set where it held something."""
    column: cython.p_longlong
    marks: cython.p_uchar
    octet: cython.uchar
    begin: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    size: cython.Py_ssize_t
    count: cython.Py_ssize_t = cells.shape[0]
    found: cython.Py_ssize_t = 0
    check_room(count, 1)
    check_room(bits.shape[0] * GROUP, count)
    if cython.compiled:
        column = cython.address(cells[0])
        marks = cython.address(bits[0])
    else:
        column, marks = cells, bits
    while begin < count:
        size = min(GROUP, count - begin)
        octet = marks_of(column, begin) if size == GROUP else marks_of_rest(column, begin, size)
        marks[begin >> 3] = octet
        if octet == ALL_PRESENT:
            if found < begin:
                for i in range(GROUP):
                    column[found + i] = column[begin + i]
            found += GROUP
        elif octet:
            for i in range(size):
                column[found] = column[begin + i]
                found += (octet >> i) & 1
        begin += GROUP
    return found


def marks_of(column: cython.p_longlong, begin: cython.Py_ssize_t) -> cython.uchar:
    """A whole group's bits. Written out: compilers do not unroll so much."""
    return (
        (column[begin] != ABSENT)
        | (column[begin + 1] != ABSENT) << 1
        | (column[begin + 2] != ABSENT) << 2
        | (column[begin + 3] != ABSENT) << 3
        | (column[begin + 4] != ABSENT) << 4
        | (column[begin + 5] != ABSENT) << 5
        | (column[begin + 6] != ABSENT) << 6
        | (column[begin + 7] != ABSENT) << 7
    )


def marks_of_rest(
    column: cython.p_longlong, begin: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.uchar:
    """Those of the column's last cells."""
    octet: cython.uchar = 0
    i: cython.Py_ssize_t
    for i in range(size):
        octet |= (column[begin + i] != ABSENT) << i
    return octet


def find_new(
    codes: cython.longlong[::1],
    count: cython.Py_ssize_t,
    known: cython.int[::1],
    found: cython.int[::1],
) -> cython.Py_ssize_t:
    """The codes that ``known`` does not number yet, each once and marked as seen; -1 where they do
    not fit into ``found``, or a text is loose."""
    source: cython.p_longlong
    i: cython.Py_ssize_t
    new_count: cython.Py_ssize_t = 0
    check_room(codes.shape[0], max(1, count))
    source = cython.address(codes[0]) if cython.compiled else codes
    for i in range(count):
        if source[i] >= LOOSE_BIT:
            return -1
        if known[source[i]] == NEW:
            if new_count == found.shape[0]:
                return -1
            known[source[i]] = SEEN
            found[new_count] = source[i]
            new_count += 1
    return new_count


def translate(
    codes: cython.longlong[::1],
    count: cython.Py_ssize_t,
    known: cython.int[::1],
    out: cython.int[::1],
) -> cython.bint:
    """The codes as ``known`` numbers them; False where one of them has no number yet."""
    source: cython.p_longlong
    target: cython.p_int
    i: cython.Py_ssize_t
    least: cython.int = 0
    number: cython.int
    check_room(codes.shape[0], max(1, count))
    check_room(out.shape[0], max(1, count))
    if cython.compiled:
        source = cython.address(codes[0])
        target = cython.address(out[0])
    else:
        source, target = codes, out
    for i in range(count):
        number = known[source[i]]
        least = min(least, number)
        target[i] = number
    return least == 0
