"""Dictionary codes in Parquet's hybrid of runs of equal values and packed groups of eight."""

import cython

from dissectors.parquet.packing import check_room

if not cython.compiled:
    from dissectors.parquet.packing import put_varint, put_word

    # Codes are packed by eight; so many equal ones in a row are worth a run of their own.
    GROUP = 8
    WORTH_A_RUN = 16
    MAX_VARINT_BYTES = 10
    CODE_BYTES = 5


def room_for_codes(count: int) -> int:
    """Octets that ``encode_codes`` may need, heads of runs among them."""
    return (count + GROUP) * CODE_BYTES + MAX_VARINT_BYTES


def encode_codes(
    codes: cython.int[::1],
    count: cython.Py_ssize_t,
    width: cython.int,
    out: cython.uchar[::1],
) -> cython.Py_ssize_t:
    """``width`` bits each; ``count`` is at least 1."""
    numbers: cython.p_int
    octets: cython.p_uchar
    at: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = 0
    # Where the codes begin that are not written yet: whole groups before i.
    waiting: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    check_room(codes.shape[0], max(1, count))
    check_room(out.shape[0], (count + GROUP) * CODE_BYTES + MAX_VARINT_BYTES)
    if cython.compiled:
        numbers = cython.address(codes[0])
        octets = cython.address(out[0])
    else:
        numbers, octets = codes, out
    while i < count:
        end = i + 1
        while end < count and numbers[end] == numbers[i]:
            end += 1
        if end - i >= WORTH_A_RUN or (waiting == i and end == count):
            at = _put_groups(numbers, waiting, i, width, octets, at)
            at = _put_run(numbers[i], end - i, width, octets, at)
            waiting = i = end
        else:
            # Packed codes come in whole groups: on to the next place where a run may begin.
            i += GROUP
    return _put_groups(numbers, waiting, count, width, octets, at)


def encode_run(
    code: cython.int, count: cython.Py_ssize_t, width: cython.int, out: cython.uchar[::1]
) -> cython.Py_ssize_t:
    """The same for codes that are all alike."""
    check_room(out.shape[0], CODE_BYTES + MAX_VARINT_BYTES)
    return _put_run(code, count, width, cython.address(out[0]) if cython.compiled else out, 0)


def _put_run(
    code: cython.int,
    count: cython.Py_ssize_t,
    width: cython.int,
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    at = put_varint(out, at, count << 1)
    put_word(out, at, code)
    return at + ((width + 7) >> 3)


def _put_groups(
    codes: cython.p_int,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    width: cython.int,
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """One packed run; only the last one of a page may end inside a group, which zeros fill."""
    groups: cython.Py_ssize_t = (end - begin + GROUP - 1) // GROUP
    held: cython.ulonglong = 0
    held_bits: cython.int = 0
    i: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    if groups == 0:
        return at
    at = put_varint(out, at, (groups << 1) | 1)
    stop = at + groups * width
    for i in range(begin, end):
        held |= cython.cast(cython.ulonglong, codes[i]) << held_bits
        held_bits += width
        if held_bits >= 32:
            at = put_word(out, at, held)
            held >>= 32
            held_bits -= 32
    while at < stop:
        out[at] = held & 0xFF
        held >>= 8
        at += 1
    return at
