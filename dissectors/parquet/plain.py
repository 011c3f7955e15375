"""Values as they are: booleans, the octets of strings (their lengths stand elsewhere), hashes in
hex digits."""

import cython

from dissectors.core.rows import LOOSE, LOOSE_SIZE_BITS
from dissectors.parquet.packing import check_room

GROUP = cython.declare(cython.Py_ssize_t, 8)
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
    """Octets of strings that lie in the heap one after the other."""
    i: cython.Py_ssize_t
    total: cython.Py_ssize_t = 0
    for i in range(count):
        total += sizes[i]
    return _put_string(heap, 0, total, out, 0)


def measure_chosen(
    codes: cython.longlong[::1],
    count: cython.Py_ssize_t,
    offsets: cython.longlong[::1],
    lengths: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Lengths of the texts that codes choose; their sum."""
    size: cython.longlong
    total: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    for i in range(count):
        if codes[i] >= LOOSE_BIT:
            size = codes[i] & LOOSE_SIZE_MASK
        else:
            size = offsets[codes[i] + 1] - offsets[codes[i]]
        lengths[i] = size
        total += size
    return total


def encode_chosen(
    codes: cython.longlong[::1],
    count: cython.Py_ssize_t,
    offsets: cython.longlong[::1],
    octets: cython.uchar[::1],
    loose: cython.uchar[::1],
    out: cython.uchar[::1],
) -> cython.Py_ssize_t:
    """Their octets: where each begins and ends is in ``offsets``, but for the loose ones, whose
    cells say it."""
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
    """Its octets; the place after them."""
    check_room(min(start, size), 0)
    check_room(octets.shape[0], start + size)
    check_room(out.shape[0], at + size)
    if not size:
        return at
    if not cython.compiled:
        out[at : at + size] = octets[start : start + size]
        return at + size
    memcpy(cython.address(out[at]), cython.address(octets[start]), size)  # type: ignore # noqa: F821
    return at + size


def encode_digests(
    digests: cython.longlong[::1], count: cython.Py_ssize_t, out: cython.uchar[::1]
) -> cython.Py_ssize_t:
    """64-bit digests in hex digits, most significant first."""
    target: cython.p_uchar
    digits: cython.p_uchar = HEX_DIGITS
    number: cython.ulonglong
    at: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    check_room(digests.shape[0], count)
    check_room(out.shape[0], max(1, count * DIGEST_DIGITS))
    target = cython.address(out[0]) if cython.compiled else out
    for i in range(count):
        number = cython.cast(cython.ulonglong, digests[i]) & MASK_64
        for place in range(DIGEST_DIGITS):
            target[at + DIGEST_DIGITS - 1 - place] = digits[number & 15]
            number >>= 4
        at += DIGEST_DIGITS
    return at
