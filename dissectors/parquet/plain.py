"""Values as they are, in Parquet's PLAIN encoding: booleans, strings, hashes in hex digits."""

import cython

from dissectors.core.rows import LOOSE, LOOSE_SIZE_BITS
from dissectors.parquet.packing import check_room

GROUP = cython.declare(cython.Py_ssize_t, 8)
LENGTH_BYTES = cython.declare(cython.Py_ssize_t, 4)
HEX_DIGITS = cython.declare(bytes, b"0123456789abcdef")
DIGEST_DIGITS = cython.declare(cython.Py_ssize_t, 16)
LOOSE_BIT = cython.declare(cython.longlong, LOOSE)
LOOSE_SHIFT = cython.declare(cython.int, LOOSE_SIZE_BITS)
LOOSE_SIZE_MASK = cython.declare(cython.longlong, (1 << LOOSE_SIZE_BITS) - 1)
MASK_64 = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


def pack_bits(
    numbers: cython.longlong[::1], count: cython.Py_ssize_t, out: cython.uchar[::1]
) -> cython.Py_ssize_t:
    """Booleans, PLAIN: eight an octet."""
    octet: cython.uchar
    begin: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    while begin < count:
        octet = 0
        for i in range(begin, min(begin + GROUP, count)):
            octet |= (numbers[i] != 0) << (i - begin)
        out[begin >> 3] = octet
        begin += GROUP
    return (count + GROUP - 1) >> 3


def encode_strings(
    sizes: cython.longlong[::1],
    count: cython.Py_ssize_t,
    heap: cython.uchar[::1],
    out: cython.uchar[::1],
) -> cython.Py_ssize_t:
    """PLAIN strings, each behind its length; they lie in the heap one after the other."""
    at: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    for i in range(count):
        at = _put_string(heap, start, sizes[i], out, at)
        start += sizes[i]
    return at


def size_of_chosen(
    codes: cython.longlong[::1], count: cython.Py_ssize_t, offsets: cython.longlong[::1]
) -> cython.Py_ssize_t:
    """Octets that ``encode_chosen`` needs."""
    size: cython.Py_ssize_t = count * LENGTH_BYTES
    i: cython.Py_ssize_t
    for i in range(count):
        if codes[i] >= LOOSE_BIT:
            size += codes[i] & LOOSE_SIZE_MASK
        else:
            size += offsets[codes[i] + 1] - offsets[codes[i]]
    return size


def encode_chosen(
    codes: cython.longlong[::1],
    count: cython.Py_ssize_t,
    offsets: cython.longlong[::1],
    octets: cython.uchar[::1],
    loose: cython.uchar[::1],
    out: cython.uchar[::1],
) -> cython.Py_ssize_t:
    """The same for texts that codes choose: where each begins and ends is in ``offsets``, but for
    the loose ones, whose cells say it."""
    at: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    start: cython.Py_ssize_t
    cell: cython.longlong
    for i in range(count):
        cell = codes[i]
        if cell >= LOOSE_BIT:
            start = (cell ^ LOOSE_BIT) >> LOOSE_SHIFT
            at = _put_string(loose, start, cell & LOOSE_SIZE_MASK, out, at)
        else:
            start = offsets[cell]
            at = _put_string(octets, start, offsets[cell + 1] - start, out, at)
    return at


def _put_string(
    octets: cython.uchar[::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    out: cython.uchar[::1],
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    target: cython.p_uchar
    check_room(min(start, size), 0)
    check_room(octets.shape[0], start + size)
    check_room(out.shape[0], at + LENGTH_BYTES + size)
    if not cython.compiled:
        at = _put_length(out, at, size)
        out[at : at + size] = octets[start : start + size]
        return at + size
    target = cython.address(out[0])
    at = _put_length(target, at, size)
    if size:
        memcpy(target + at, cython.address(octets[start]), size)  # type: ignore # noqa: F821
    return at + size


def encode_digests(
    digests: cython.longlong[::1], count: cython.Py_ssize_t, out: cython.uchar[::1]
) -> cython.Py_ssize_t:
    """64-bit digests as PLAIN strings of hex digits, most significant first."""
    target: cython.p_uchar
    digits: cython.p_uchar = HEX_DIGITS
    number: cython.ulonglong
    at: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    check_room(digests.shape[0], count)
    check_room(out.shape[0], max(1, count * (LENGTH_BYTES + DIGEST_DIGITS)))
    target = cython.address(out[0]) if cython.compiled else out
    for i in range(count):
        number = cython.cast(cython.ulonglong, digests[i]) & MASK_64
        at = _put_length(target, at, DIGEST_DIGITS)
        for place in range(DIGEST_DIGITS):
            target[at + DIGEST_DIGITS - 1 - place] = digits[number & 15]
            number >>= 4
        at += DIGEST_DIGITS
    return at


def _put_length(
    out: cython.p_uchar, at: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Four octets, least significant first; the place after them."""
    out[at] = size & 0xFF
    out[at + 1] = (size >> 8) & 0xFF
    out[at + 2] = (size >> 16) & 0xFF
    out[at + 3] = (size >> 24) & 0xFF
    return at + LENGTH_BYTES
