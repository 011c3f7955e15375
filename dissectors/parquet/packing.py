"""Whole numbers as bit-packed differences: Parquet's DELTA_BINARY_PACKED.

Octets are written into a buffer of the caller's, whose size is looked at once; every encoder
returns how many they are. Constants and the shortest functions are in the ``.pxd`` as well: known
to the C compiler, loops over them are unrolled and work on several numbers at once.
"""

import cython

if not cython.compiled:
    # A block of deltas and its four miniblocks (the usual sizes).
    BLOCK = 128
    MINIBLOCK = 32
    MINIBLOCKS = 4
    # Least delta, widths, and values of at most 64 bits; sizes and the first value before them.
    BLOCK_BYTES = 10 + 4 + 8 * 128
    HEAD_BYTES = 32
    # Values of more bits than this are written with 64: they do not fit behind a half-full word.
    WIDE = 32
    ALL_BITS = 64

    def wrap_64(number: int) -> int:
        """What 64 bits of two's complement keep of a number."""
        return (number + (1 << 63) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)

    def wrap_32(number: int) -> int:
        return (number + (1 << 31) & 0xFFFFFFFF) - (1 << 31)

    def low_32(number: int) -> int:
        """Their low half."""
        return number & 0xFFFFFFFF

    def bit_width(bits: int) -> int:
        """Of 64 bits, those up to the highest one that is set."""
        return (bits & 0xFFFFFFFFFFFFFFFF).bit_length()

    def put_word(out: bytearray, at: int, number: int) -> int:
        """Four octets of a number's low half, least significant first; the place after them."""
        out[at : at + 4] = low_32(number).to_bytes(4, "little")
        return at + 4

    def put_varint(out: bytearray, at: int, number: int) -> int:
        """Write an unsigned number, seven bits an octet; the place after it."""
        while number > 0x7F:
            out[at] = (number & 0x7F) | 0x80
            number >>= 7
            at += 1
        out[at] = number
        return at + 1

    def zigzag(number: int) -> int:
        """A signed number as an unsigned one that is short where the number is near zero."""
        return number << 1 if number >= 0 else (-number << 1) - 1


def is_compiled() -> bool:
    """As plain Python these loops are slower than Arrow's encoder."""
    return cython.compiled


def room_for_deltas(count: int) -> int:
    """Octets that ``encode_deltas`` may need."""
    return HEAD_BYTES + (count // BLOCK + 1) * BLOCK_BYTES


def check_room(have: cython.Py_ssize_t, needed: cython.Py_ssize_t) -> cython.int:
    if have < needed:
        raise IndexError("the buffer is too short")
    return 0


def encode_deltas(
    values: cython.longlong[::1],
    count: cython.Py_ssize_t,
    is_narrow: cython.bint,
    bounds: cython.longlong[::1],
    out: cython.uchar[::1],
) -> cython.Py_ssize_t:
    """DELTA_BINARY_PACKED, for INT64 or (narrow) INT32; ``count`` is at least 1. ``bounds``, a
    least and a greatest number, are widened."""
    numbers: cython.p_longlong
    octets: cython.p_uchar
    at: cython.Py_ssize_t
    begin: cython.Py_ssize_t = 1
    check_room(values.shape[0], max(1, count))
    check_room(out.shape[0], HEAD_BYTES + (count // BLOCK + 1) * BLOCK_BYTES)
    if cython.compiled:
        numbers = cython.address(values[0])
        octets = cython.address(out[0])
    else:
        numbers, octets = values, out
    widen(bounds, numbers, count)
    at = put_varint(octets, 0, BLOCK)
    at = put_varint(octets, at, MINIBLOCKS)
    at = put_varint(octets, at, count)
    at = put_varint(octets, at, zigzag(numbers[0]))
    while begin < count:
        at = _put_block(numbers, begin, min(BLOCK, count - begin), is_narrow, octets, at)
        begin += BLOCK
    return at


def widen(
    bounds: cython.longlong[::1], numbers: cython.p_longlong, count: cython.Py_ssize_t
) -> cython.int:
    """Bounds that hold these numbers as well. Every second one has a least and a greatest of its
    own: a comparison need not wait for the one before it."""
    least: cython.longlong = bounds[0]
    greatest: cython.longlong = bounds[1]
    other_least: cython.longlong = least
    other_greatest: cython.longlong = greatest
    i: cython.Py_ssize_t
    for i in range(0, count - 1, 2):
        least = min(least, numbers[i])
        greatest = max(greatest, numbers[i])
        other_least = min(other_least, numbers[i + 1])
        other_greatest = max(other_greatest, numbers[i + 1])
    bounds[0] = min(least, other_least, numbers[count - 1])
    bounds[1] = max(greatest, other_greatest, numbers[count - 1])
    return 0


def _put_block(
    values: cython.p_longlong,
    begin: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    is_narrow: cython.bint,
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Least delta, the miniblocks' widths, and what each delta is above the least one.

    Arithmetic wraps around at the column's width, as the readers' does.
    """
    deltas: cython.longlong[128]
    least: cython.longlong
    differing: cython.longlong = 0
    i: cython.Py_ssize_t
    if not cython.compiled:
        deltas = [0] * BLOCK
    # Short loops with one purpose each, so that compilers can make much of them.
    for i in range(count):
        deltas[i] = wrap_64(values[begin + i] - values[begin + i - 1])
    if is_narrow:
        for i in range(count):
            deltas[i] = wrap_32(deltas[i])
    least = deltas[0]
    for i in range(count):
        least = min(least, deltas[i])
    at = put_varint(out, at, zigzag(least))
    for i in range(count):
        deltas[i] = wrap_64(deltas[i] - least)
        differing |= deltas[i]
    if not differing:
        return put_word(out, at, 0)
    if is_narrow:
        for i in range(count):
            deltas[i] = low_32(deltas[i])
    for i in range(count, BLOCK):
        deltas[i] = 0
    return _put_miniblocks(deltas, out, at)


def _put_miniblocks(
    deltas: cython.p_longlong, out: cython.p_uchar, at: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The widths of the four, then their values; one of zeros takes no octets."""
    widths_at: cython.Py_ssize_t = at
    start: cython.Py_ssize_t
    i: cython.Py_ssize_t
    bits: cython.longlong
    miniblock: cython.int
    width: cython.int
    at += MINIBLOCKS
    for miniblock in range(MINIBLOCKS):
        start = miniblock * MINIBLOCK
        bits = 0
        for i in range(start, start + MINIBLOCK):
            bits |= deltas[i]
        width = bit_width(bits)
        if width > WIDE:
            width = ALL_BITS
        out[widths_at + miniblock] = width
        if width == ALL_BITS:
            at = _put_whole(deltas, start, out, at)
        elif width:
            at = _pack(deltas, start, width, out, at)
    return at


def _put_whole(
    numbers: cython.p_longlong,
    start: cython.Py_ssize_t,
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """A miniblock's values, 64 bits each."""
    i: cython.Py_ssize_t
    for i in range(start, start + MINIBLOCK):
        at = put_word(out, at, numbers[i])
        at = put_word(out, at, numbers[i] >> 32)
    return at


def _pack(
    numbers: cython.p_longlong,
    start: cython.Py_ssize_t,
    width: cython.int,
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """A miniblock's values, ``width`` bits each, from the low bit on: whole 32-bit words. The
    values are used up."""
    held: cython.ulonglong = 0
    held_bits: cython.int = 0
    i: cython.Py_ssize_t
    count: cython.Py_ssize_t = MINIBLOCK
    # Two that fit into a word together are one from here on.
    while 2 * width <= WIDE:
        count >>= 1
        for i in range(count):
            numbers[start + i] = numbers[start + 2 * i] | numbers[start + 2 * i + 1] << width
        width *= 2
    for i in range(start, start + count):
        held |= numbers[i] << held_bits
        held_bits += width
        if held_bits >= 32:
            at = put_word(out, at, held)
            held >>= 32
            held_bits -= 32
    return at
