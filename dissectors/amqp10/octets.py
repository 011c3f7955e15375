"""Reading the frequent encodings without making values: for the hot frames and sections.

Every function takes offsets into a buffer and answers -1 for what it does not understand, also
where there is no such place; the table-driven codec then says what is wrong with it. Compiled, the
octets are read through a pointer, after one look at whether all of a value is there.
"""

import struct

import cython

#: The bit of each of eight octets that no octet of ASCII has.
HIGH_BITS = cython.declare(cython.ulonglong, 0x8080808080808080)
_UNPACK_U32 = struct.Struct(">I").unpack_from
#: Descriptors inside descriptors that the quick way follows before it leaves it to the codec.
_MAX_NESTING = cython.declare(cython.int, 8)


def read_u32(buf: bytes, at: cython.Py_ssize_t) -> cython.longlong:
    """Four octets, most significant first."""
    octets: cython.p_uchar = buf
    if at < 0 or at + 4 > len(buf):
        raise IndexError("octets are missing")
    return _u32(octets, at)


def _u32(octets: cython.p_uchar, at: cython.Py_ssize_t) -> cython.longlong:
    if not cython.compiled:
        return _UNPACK_U32(octets, at)[0]
    high: cython.longlong = octets[at]
    return (high << 24) | (octets[at + 1] << 16) | (octets[at + 2] << 8) | octets[at + 3]


def skip_value(
    buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, depth: cython.int
) -> cython.Py_ssize_t:
    """Where the value at `at` ends, by its format code's high nibble (1.0 §1.2); -1 if past end."""
    octets: cython.p_uchar = buf
    code: cython.int
    width: cython.int
    if not 0 <= at < end <= len(buf):
        return -1
    code = octets[at]
    if code == 0:
        if depth >= _MAX_NESTING:
            return -1
        at = skip_value(buf, at + 1, end, depth + 1)
        return at if at < 0 else skip_value(buf, at, end, depth + 1)
    width = code >> 4
    if width < 4:
        return -1
    if width < 10:
        at += 1 if width == 4 else 1 + (1 << (width - 5))
    elif width & 1:
        if at + 5 > end:
            return -1
        at += 5 + _u32(octets, at + 1)
    else:
        if at + 2 > end:
            return -1
        at += 2 + octets[at + 1]
    return at if at <= end else -1


def read_code(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """The numeric descriptor of the described value at `at`, small or full width; else -1."""
    octets: cython.p_uchar = buf
    if at < 0 or at + 3 > end or end > len(buf) or octets[at] != 0:
        return -1
    if octets[at + 1] == 0x53:
        return octets[at + 2]
    if octets[at + 1] == 0x80 and at + 10 <= end and _u32(octets, at + 2) == 0:
        return _u32(octets, at + 6)
    return -1


def after_code(buf: bytes, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the value begins behind a descriptor that `read_code` understood."""
    return at + 3 if buf[at + 1] == 0x53 else at + 10


def list_count(buf: bytes, at: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.longlong:
    """The number of items of the list at `at` that ends at `stop`; -1 if it is no list."""
    octets: cython.p_uchar = buf
    code: cython.int
    if not 0 <= at < stop <= len(buf):
        return -1
    code = octets[at]
    if code == 0xC0 and at + 3 <= stop:
        return octets[at + 2]
    if code == 0xD0 and at + 9 <= stop:
        return _u32(octets, at + 5)
    return 0 if code == 0x45 else -1


def list_items(buf: bytes, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the first item of a list that `list_count` understood begins."""
    code: cython.int = buf[at]
    if code == 0xC0:
        return at + 3
    return at + 9 if code == 0xD0 else at + 1


def read_uint(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """The uint at `at` in any of its encodings; -1 for null, -2 for anything else."""
    taken: cython.longlong = take_uint(buf, at, end)
    return taken >> 3 if taken else -2


def read_boolean(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """The boolean at `at`, 0 or 1; -1 for null, -2 for anything else."""
    taken: cython.longlong = take_boolean(buf, at, end)
    return taken >> 3 if taken else -2


def take_uint(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """Number and extent of the uint at `at` in one: 8 x the number (-1 for null) + the octets
    that it takes. 0 for anything else."""
    octets: cython.p_uchar = buf
    code: cython.int
    if not 0 <= at < end <= len(buf):
        return 0
    code = octets[at]
    if code == 0x43:
        return 1
    if code == 0x52 and at + 2 <= end:
        return octets[at + 1] * 8 + 2
    if code == 0x70 and at + 5 <= end:
        return _u32(octets, at + 1) * 8 + 5
    return -7 if code == 0x40 else 0


def take_boolean(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """The boolean at `at` in the way of `take_uint`."""
    octets: cython.p_uchar = buf
    code: cython.int
    if not 0 <= at < end <= len(buf):
        return 0
    code = octets[at]
    if code == 0x41:
        return 9
    if code == 0x42:
        return 1
    if code == 0x56 and at + 2 <= end and octets[at + 1] <= 1:
        return octets[at + 1] * 8 + 2
    return -7 if code == 0x40 else 0


def cut(buf: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> bytes:
    """buf[start:stop], without the objects that a slice costs."""
    if cython.compiled and 0 <= start <= stop <= len(buf):
        return cython.cast(cython.p_char, buf)[start:stop]
    return buf[start:stop]


def is_same(
    buf: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, known: bytes
) -> cython.bint:
    """Whether buf[start:stop] is what is known, without making an object to compare."""
    if not cython.compiled:
        return buf[start:stop] == known
    size: cython.Py_ssize_t = len(known)
    octets: cython.p_char = buf
    others: cython.p_char = known
    if stop - start != size or start < 0 or stop > len(buf):
        return False
    return memcmp(octets + start, others, size) == 0  # type: ignore[name-defined]  # noqa: F821


def is_ascii(buf: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.bint:
    """Whether buf[start:stop] is text as it stands."""
    if not cython.compiled:
        return buf[start:stop].isascii()
    octets: cython.p_uchar = buf
    eight: cython.ulonglong = 0
    bits: cython.ulonglong = 0
    if not 0 <= start <= stop <= len(buf):
        raise IndexError("octets are missing")
    while start + 8 <= stop:
        memcpy(cython.address(eight), octets + start, 8)  # type: ignore # noqa: F821
        bits |= eight
        start += 8
    while start < stop:
        bits |= octets[start]
        start += 1
    return not bits & HIGH_BITS
