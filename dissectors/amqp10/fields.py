"""All fields of a performative in one go, without making values: for the hot frames.

A layout says which type each field has. What has another type, or an encoding that hardly anyone
uses for it, makes the answer -1: the table-driven codec then reads the frame.
"""

import struct

import cython

from dissectors.amqp10.octets import after_code, list_count, read_code, skip_value

#: 1.0 §2.7.5: a transfer has the most.
MAX_FIELDS = 11
#: Types that fields of hot performatives have, by their constructors (1.0 §1.6).
_CONSTRUCTORS = {
    "state": (0x00,),
    "boolean": (0x41, 0x42, 0x56),
    "uint": (0x43, 0x52, 0x70),
    "ubyte": (0x50,),
    "binary": (0xA0,),
}
_NUMBERS = {name: number for number, name in enumerate(_CONSTRUCTORS, 1)}
_TYPES = {code: _NUMBERS[name] for name, codes in _CONSTRUCTORS.items() for code in codes}
#: The type that a constructor makes; 0 where the tables must see it.
TYPE_OF = cython.declare(bytes, bytes(_TYPES.get(code, 0) for code in range(256)))

ACCEPTED = cython.declare(cython.int, 0x24)
RELEASED = cython.declare(cython.int, 0x26)
_UNPACK_UINT = struct.Struct(">I").unpack_from


def layout(*types: str) -> bytes:
    """The types of a performative's fields, in their order."""
    assert len(types) <= MAX_FIELDS
    return bytes(_NUMBERS[name] for name in types)


class Fields:
    """Reads fields to `numbers`, by place; -1 stands for null and for what was left out.

    Of a binary the place of its first octet is told (the octet before has its length), of a
    delivery state its code, if it is an outcome that carries nothing (1.0 §3.4.2, §3.4.4).
    """

    def __init__(self) -> None:
        if not cython.compiled:
            self.numbers = [-1] * MAX_FIELDS

    def read(
        self, buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, types: bytes
    ) -> cython.Py_ssize_t:
        """Where the list at `at` ends; -1 if the tables must read it."""
        octets: cython.p_uchar = buf
        wanted: cython.p_uchar = types
        type_of: cython.p_uchar = TYPE_OF
        numbers: cython.p_longlong = self.numbers
        i: cython.Py_ssize_t
        count: cython.Py_ssize_t
        stop: cython.Py_ssize_t
        code: cython.int
        number: cython.longlong
        if not 0 <= at < at + 3 <= end <= len(buf):
            return -1
        if octets[at] == 0xC0:
            stop = at + 2 + octets[at + 1]
            count = octets[at + 2]
            at += 3
        elif octets[at] == 0xD0 and at + 9 <= end:
            stop = at + 5 + _uint(octets, at + 1)
            count = _uint(octets, at + 5)
            at += 9
        else:
            return -1
        if stop > end or not 0 < count <= len(types):
            return -1
        for i in range(count):
            if at >= stop:
                return -1
            code = octets[at]
            number = -1
            if code == 0x40:
                at += 1
            elif type_of[code] != wanted[i]:
                return -1
            elif code < 0x44 and code:
                number = code & 1 if code != 0x43 else 0
                at += 1
            elif at + 2 > stop:
                return -1
            elif code < 0x60 and code:
                number = octets[at + 1]
                at += 2
                if code == 0x56 and number > 1:
                    return -1
            elif code == 0x70:
                if at + 5 > stop:
                    return -1
                number = _uint(octets, at + 1)
                at += 5
            elif code == 0xA0:
                number = at + 2
                at += 2 + octets[at + 1]
            elif at + 4 <= stop and octets[at + 1] == 0x53 and octets[at + 3] == 0x45:
                number = octets[at + 2]
                at += 4
                if number != ACCEPTED and number != RELEASED:
                    return -1
            else:
                number = self._state(buf, at, stop)
                at = skip_value(buf, at, stop, 0)
                if number < 0 or at < 0:
                    return -1
            numbers[i] = number
        for i in range(count, len(types)):
            numbers[i] = -1
        return stop if at == stop else -1

    def _state(self, buf: bytes, at: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.int:
        """The code of an outcome that carries nothing; -1 for any other state."""
        code: cython.int = read_code(buf, at, stop)
        if code != ACCEPTED and code != RELEASED:
            return -1
        return code if list_count(buf, after_code(buf, at), stop) == 0 else -1


def _uint(octets: cython.p_uchar, at: cython.Py_ssize_t) -> cython.longlong:
    """Four octets that are there. The compiler puts it where it is used, unlike `read_u32`."""
    if not cython.compiled:
        return _UNPACK_UINT(octets, at)[0]
    high: cython.longlong = octets[at] * 0x100 + octets[at + 1]
    return high * 0x10000 + octets[at + 2] * 0x100 + octets[at + 3]
