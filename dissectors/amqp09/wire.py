"""Numbers and slices out of octets, fast: compiled to plain C, interpreted by struct.

Callers have checked that the octets are there; compiled, it is checked again before a pointer is
used, once for all octets of a value.
"""

from struct import Struct

import cython

_U16 = Struct(">H").unpack_from
_U32 = Struct(">I").unpack_from
_U64 = Struct(">Q").unpack_from


def be16(buf: bytes, at: cython.Py_ssize_t) -> cython.longlong:
    if not cython.compiled:
        return _U16(buf, at)[0]
    octets: cython.p_uchar = buf
    if at < 0 or at + 2 > len(buf):
        raise IndexError("octets are missing")
    return (octets[at] << 8) | octets[at + 1]


def be32(buf: bytes, at: cython.Py_ssize_t) -> cython.longlong:
    if not cython.compiled:
        return _U32(buf, at)[0]
    value: cython.uint
    octets: cython.p_uchar = buf
    if at < 0 or at + 4 > len(buf):
        raise IndexError("octets are missing")
    value = octets[at]
    return (value << 24) | (octets[at + 1] << 16) | (octets[at + 2] << 8) | octets[at + 3]


def be64(buf: bytes, at: cython.Py_ssize_t) -> cython.ulonglong:
    if not cython.compiled:
        return _U64(buf, at)[0]
    value: cython.ulonglong = 0
    i: cython.Py_ssize_t
    octets: cython.p_uchar = buf
    if at < 0 or at + 8 > len(buf):
        raise IndexError("octets are missing")
    for i in range(at, at + 8):
        value = (value << 8) | octets[i]
    return value


def cut(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bytes:
    """buf[at:end], compiled without the slice object and the numbers that Python makes for it."""
    if not cython.compiled:
        return buf[at:end]
    octets: cython.p_char = buf
    if at < 0 or at > end or end > len(buf):
        raise IndexError("octets are missing")
    return octets[at:end]


def is_same(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, known: bytes) -> cython.bint:
    """Whether buf[at:end] is what is known, without making an object to compare."""
    if not cython.compiled:
        return buf[at:end] == known
    size: cython.Py_ssize_t = len(known)
    octets: cython.p_char = buf
    others: cython.p_char = known
    if end - at != size or at < 0 or end > len(buf):
        return False
    return memcmp(octets + at, others, size) == 0  # type: ignore[name-defined]  # noqa: F821
