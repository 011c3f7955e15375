"""Reading the frequent encodings without making values: for the hot frames and sections.

Every function takes offsets into a buffer and answers -1 (or None) for what it does not
understand; the table-driven codec then says what is wrong with it.
"""

import struct

import cython

_UNPACK_U32 = struct.Struct(">I").unpack_from
#: Descriptors inside descriptors that the quick way follows before it leaves it to the codec.
_MAX_NESTING = cython.declare(cython.int, 8)


def read_u32(buf: bytes, at: cython.Py_ssize_t) -> cython.longlong:
    """Four octets, most significant first."""
    if cython.compiled:
        high: cython.longlong = buf[at]
        return (high << 24) | (buf[at + 1] << 16) | (buf[at + 2] << 8) | buf[at + 3]
    return _UNPACK_U32(buf, at)[0]


def skip_value(
    buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, depth: cython.int
) -> cython.Py_ssize_t:
    """Where the value at `at` ends, by its format code's high nibble (1.0 §1.2); -1 if past end."""
    code: cython.int
    width: cython.int
    if at >= end:
        return -1
    code = buf[at]
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
        at += 5 + read_u32(buf, at + 1)
    else:
        if at + 2 > end:
            return -1
        at += 2 + buf[at + 1]
    return at if at <= end else -1


def read_code(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """The numeric descriptor of the described value at `at`, small or full width; else -1."""
    code: cython.int
    if at + 3 > end or buf[at] != 0:
        return -1
    code = buf[at + 1]
    if code == 0x53:
        return buf[at + 2]
    if code == 0x80 and at + 10 <= end and read_u32(buf, at + 2) == 0:
        return read_u32(buf, at + 6)
    return -1


def after_code(buf: bytes, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the value begins behind a descriptor that `read_code` understood."""
    return at + 3 if buf[at + 1] == 0x53 else at + 10


def list_count(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """The number of items of the list at `at`, if the list ends within `end`; else -1."""
    code: cython.int
    stop: cython.Py_ssize_t = skip_value(buf, at, end, 0)
    if stop < 0:
        return -1
    code = buf[at]
    if code == 0xC0 and stop >= at + 3:
        return buf[at + 2]
    if code == 0xD0 and stop >= at + 9:
        return read_u32(buf, at + 5)
    return 0 if code == 0x45 else -1


def list_items(buf: bytes, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the first item of a list that `list_count` understood begins."""
    code: cython.int = buf[at]
    if code == 0xC0:
        return at + 3
    return at + 9 if code == 0xD0 else at + 1


def read_uint(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """The uint at `at` in any of its encodings; -1 for null, -2 for anything else."""
    code: cython.int
    if at >= end:
        return -2
    code = buf[at]
    if code == 0x43:
        return 0
    if code == 0x52 and at + 2 <= end:
        return buf[at + 1]
    if code == 0x70 and at + 5 <= end:
        return read_u32(buf, at + 1)
    return -1 if code == 0x40 else -2


def read_boolean(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """The boolean at `at`, 0 or 1; -1 for null, -2 for anything else."""
    code: cython.int
    if at >= end:
        return -2
    code = buf[at]
    if code == 0x41:
        return 1
    if code == 0x42:
        return 0
    if code == 0x56 and at + 2 <= end and buf[at + 1] <= 1:
        return buf[at + 1]
    return -1 if code == 0x40 else -2


def take_uint(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """Number and extent of the uint at `at` in one: 8 x the number (-1 for null) + the octets
    that it takes. 0 for anything else."""
    code: cython.int
    if at >= end:
        return 0
    code = buf[at]
    if code == 0x43:
        return 1
    if code == 0x52 and at + 2 <= end:
        return buf[at + 1] * 8 + 2
    if code == 0x70 and at + 5 <= end:
        return read_u32(buf, at + 1) * 8 + 5
    return -7 if code == 0x40 else 0


def take_boolean(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """The boolean at `at` in the way of `take_uint`."""
    code: cython.int
    if at >= end:
        return 0
    code = buf[at]
    if code == 0x41:
        return 9
    if code == 0x42:
        return 1
    if code == 0x56 and at + 2 <= end and buf[at + 1] <= 1:
        return buf[at + 1] * 8 + 2
    return -7 if code == 0x40 else 0


def cut(buf: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> bytes:
    """buf[start:stop], without the objects that a slice costs."""
    if cython.compiled and 0 <= start <= stop <= len(buf):
        return cython.cast(cython.p_char, buf)[start:stop]
    return buf[start:stop]


def is_ascii(octets: bytes) -> cython.bint:
    """Whether the octets are text as they stand."""
    if cython.compiled:
        i: cython.Py_ssize_t
        bits: cython.int = 0
        for i in range(len(octets)):
            bits |= octets[i]
        return bits < 0x80
    return octets.isascii()
