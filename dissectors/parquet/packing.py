"""Bit packing: whole numbers as deltas, and dictionary codes, in Parquet's encodings.

Octets are written into a buffer of the caller's, whose size is looked at once; every encoder
returns how many they are.
"""

import cython

# A block of deltas and its four miniblocks (Parquet's DELTA_BINARY_PACKED; the usual sizes).
BLOCK = cython.declare(cython.Py_ssize_t, 128)
MINIBLOCK = cython.declare(cython.Py_ssize_t, 32)
MINIBLOCKS = cython.declare(cython.int, 4)
# Least delta, widths, and values of at most 64 bits; sizes and the first value before them.
BLOCK_BYTES = cython.declare(cython.Py_ssize_t, 10 + 4 + 8 * 128)
HEAD_BYTES = cython.declare(cython.Py_ssize_t, 32)
MASK_32 = cython.declare(cython.ulonglong, 0xFFFFFFFF)
MASK_64 = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
SIGN_32 = cython.declare(cython.ulonglong, 0x80000000)
SIGN_64 = cython.declare(cython.ulonglong, 0x8000000000000000)
# Values of more bits than this are written with 64: they do not fit behind a half-full word.
WIDE = cython.declare(cython.int, 32)
ALL_BITS = cython.declare(cython.int, 64)
# Codes are packed by eight; so many equal ones in a row are worth a run of their own.
GROUP = cython.declare(cython.Py_ssize_t, 8)
WORTH_A_RUN = cython.declare(cython.Py_ssize_t, 16)
MAX_VARINT_BYTES = cython.declare(cython.Py_ssize_t, 10)
CODE_BYTES = cython.declare(cython.Py_ssize_t, 5)


def is_compiled() -> bool:
    """As plain Python these loops are slower than Arrow's encoder."""
    return cython.compiled


def room_for_deltas(count: int) -> int:
    """Octets that ``encode_deltas`` may need."""
    return HEAD_BYTES + (count // BLOCK + 1) * BLOCK_BYTES


def room_for_codes(count: int) -> int:
    """Octets that ``encode_codes`` may need, heads of runs among them."""
    return (count + GROUP) * CODE_BYTES + MAX_VARINT_BYTES


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
    at = put_varint(octets, at, zigzag(cython.cast(cython.ulonglong, numbers[0]) & MASK_64))
    while begin < count:
        at = _put_block(numbers, begin, min(BLOCK, count - begin), is_narrow, octets, at)
        begin += BLOCK
    return at


def widen(
    bounds: cython.longlong[::1], numbers: cython.p_longlong, count: cython.Py_ssize_t
) -> cython.int:
    """Bounds that hold these numbers as well."""
    least: cython.longlong = bounds[0]
    greatest: cython.longlong = bounds[1]
    i: cython.Py_ssize_t
    for i in range(count):
        if numbers[i] < least:
            least = numbers[i]
        if numbers[i] > greatest:
            greatest = numbers[i]
    bounds[0] = least
    bounds[1] = greatest
    return 0


def put_varint(
    out: cython.p_uchar, at: cython.Py_ssize_t, number: cython.ulonglong
) -> cython.Py_ssize_t:
    """Write an unsigned number, seven bits an octet; the place after it."""
    while number > 0x7F:
        out[at] = (number & 0x7F) | 0x80
        number >>= 7
        at += 1
    out[at] = number
    return at + 1


def zigzag(number: cython.ulonglong) -> cython.ulonglong:
    """Of the two's complement of a signed number."""
    doubled: cython.ulonglong = (number << 1) & MASK_64
    return doubled ^ MASK_64 if number & SIGN_64 else doubled


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
    deltas: cython.ulonglong[128]
    mask: cython.ulonglong = MASK_32 if is_narrow else MASK_64
    sign: cython.ulonglong = SIGN_32 if is_narrow else SIGN_64
    delta: cython.ulonglong
    least: cython.ulonglong = mask
    differing: cython.ulonglong = 0
    last: cython.ulonglong = cython.cast(cython.ulonglong, values[begin - 1])
    number: cython.ulonglong
    i: cython.Py_ssize_t
    if not cython.compiled:
        deltas = [0] * 128
    # With the sign bit turned, unsigned numbers compare as the signed ones that they stand for.
    for i in range(count):
        number = cython.cast(cython.ulonglong, values[begin + i])
        delta = ((number - last) & mask) ^ sign
        last = number
        deltas[i] = delta
        differing |= delta ^ deltas[0]
        if delta < least:
            least = delta
    number = least ^ sign
    if is_narrow and number & SIGN_32:
        number |= MASK_64 ^ MASK_32
    at = put_varint(out, at, zigzag(number))
    if not differing:
        return put_word(out, at, 0)
    for i in range(count):
        deltas[i] -= least
    for i in range(count, BLOCK):
        deltas[i] = 0
    return _put_miniblocks(deltas, out, at)


def _put_miniblocks(
    deltas: cython.p_ulonglong, out: cython.p_uchar, at: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The widths of the four, then their values; one of zeros takes no octets."""
    widths_at: cython.Py_ssize_t = at
    start: cython.Py_ssize_t
    i: cython.Py_ssize_t
    bits: cython.ulonglong
    miniblock: cython.int
    width: cython.int
    at += MINIBLOCKS
    for miniblock in range(MINIBLOCKS):
        start = miniblock * MINIBLOCK
        bits = 0
        for i in range(start, start + MINIBLOCK):
            bits |= deltas[i]
        width = 0
        while bits:
            width += 1
            bits >>= 1
        if width > WIDE:
            width = ALL_BITS
        out[widths_at + miniblock] = width
        if width:
            at = _pack(deltas, start, width, out, at)
    return at


def _pack(
    numbers: cython.p_ulonglong,
    start: cython.Py_ssize_t,
    width: cython.int,
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """A miniblock's values, ``width`` bits each, from the low bit on: whole 32-bit words."""
    held: cython.ulonglong = 0
    held_bits: cython.int = 0
    i: cython.Py_ssize_t
    for i in range(start, start + MINIBLOCK):
        if width == ALL_BITS:
            put_word(out, at, numbers[i] & MASK_32)
            put_word(out, at + 4, numbers[i] >> 32)
            at += 8
            continue
        held |= numbers[i] << held_bits
        held_bits += width
        if held_bits >= 32:
            put_word(out, at, held & MASK_32)
            at += 4
            held >>= 32
            held_bits -= 32
    return at


def put_word(
    out: cython.p_uchar, at: cython.Py_ssize_t, number: cython.ulonglong
) -> cython.Py_ssize_t:
    """Four octets, least significant first; the place after them."""
    out[at] = number & 0xFF
    out[at + 1] = (number >> 8) & 0xFF
    out[at + 2] = (number >> 16) & 0xFF
    out[at + 3] = (number >> 24) & 0xFF
    return at + 4


def encode_codes(
    codes: cython.int[::1],
    count: cython.Py_ssize_t,
    width: cython.int,
    out: cython.uchar[::1],
) -> cython.Py_ssize_t:
    """Dictionary codes in Parquet's hybrid of runs of equal values and packed groups of eight."""
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
            at = put_word(out, at, held & MASK_32)
            held >>= 32
            held_bits -= 32
    while at < stop:
        out[at] = held & 0xFF
        held >>= 8
        at += 1
    return at
