"""Whole numbers out of octets, fast: compiled to shifts, interpreted by struct.

Callers have checked that the octets are there.
"""

from struct import Struct

import cython

_U16 = Struct(">H").unpack_from
_U32 = Struct(">I").unpack_from
_U64 = Struct(">Q").unpack_from


def be16(buf: bytes, at: cython.Py_ssize_t) -> cython.longlong:
    if not cython.compiled:
        return _U16(buf, at)[0]
    return (buf[at] << 8) | buf[at + 1]


def be32(buf: bytes, at: cython.Py_ssize_t) -> cython.longlong:
    if not cython.compiled:
        return _U32(buf, at)[0]
    high: cython.longlong = (buf[at] << 8) | buf[at + 1]
    return (high << 16) | (buf[at + 2] << 8) | buf[at + 3]


def be64(buf: bytes, at: cython.Py_ssize_t) -> cython.ulonglong:
    if not cython.compiled:
        return _U64(buf, at)[0]
    value: cython.ulonglong = 0
    i: cython.Py_ssize_t
    for i in range(at, at + 8):
        value = (value << 8) | buf[i]
    return value
