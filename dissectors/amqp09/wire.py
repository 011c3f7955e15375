"""Numbers and slices out of octets, fast: here by struct, compiled by what is in the ``.pxd``.

Callers have checked that the octets are there; compiled, it is checked again before a pointer is
used, once for all octets of a value. Compiled it is inlined, so each module that uses it imports
it only where nothing is compiled.
"""

import re
from struct import Struct

import cython

if not cython.compiled:
    _PLAIN = re.compile(rb"[ !#-\[\]-\x7f]*").fullmatch
    _U16 = Struct(">H").unpack_from
    _U32 = Struct(">I").unpack_from
    _U64 = Struct(">Q").unpack_from

    def be16(buf: bytes, at: int) -> int:
        return _U16(buf, at)[0]

    def be32(buf: bytes, at: int) -> int:
        return _U32(buf, at)[0]

    def be64(buf: bytes, at: int) -> int:
        return _U64(buf, at)[0]

    def cut(buf: bytes, at: int, end: int) -> bytes:
        """buf[at:end], compiled without the slice object and the numbers that Python makes."""
        return buf[at:end]

    def cut_text(buf: bytes, at: int, end: int) -> str:
        """The same octets as UTF-8; raises where they are not."""
        return buf[at:end].decode()

    def is_plain(buf: bytes, at: int, end: int) -> bool:
        """Whether the octets are ASCII that JSON shows as it is."""
        return _PLAIN(buf, at, end) is not None

    def is_same(buf: bytes, at: int, end: int, known: bytes) -> bool:
        """Whether buf[at:end] is what is known, compiled without an object to compare."""
        return buf[at:end] == known
