"""Values of a message's properties as the columns of `transfers` want them."""

import uuid

import cython

from dissectors.amqp10.octets import read_u32

_SPAN = cython.declare(cython.longlong, 0x100000000)
_HALF = cython.declare(cython.longlong, 0x80000000)


def read_timestamp(buf: bytes, at: cython.Py_ssize_t) -> cython.longlong:
    """Eight octets with a sign (1.0 §1.6.17)."""
    high: cython.longlong = read_u32(buf, at)
    if high >= _HALF:
        high -= _SPAN
    return high * _SPAN + read_u32(buf, at + 4)


def primitive_text(buf: bytes, at: cython.Py_ssize_t, stop: cython.Py_ssize_t):
    """An id, address or name as text: strings as they are, numbers in decimal, UUIDs in their
    usual form, binary as its UTF-8 if that can be printed, else hex. None for other types."""
    code: cython.int = buf[at]
    if code == 0xA1 or code == 0xA3 or code == 0xA0:
        raw = buf[at + 2 : stop]
    elif code == 0xB1 or code == 0xB3 or code == 0xB0:
        raw = buf[at + 5 : stop]
    elif code == 0x53:
        return str(buf[at + 1])
    elif code == 0x80:
        return str(int.from_bytes(buf[at + 1 : stop], "big"))
    elif code == 0x44:
        return "0"
    elif code == 0x98:
        return str(uuid.UUID(bytes=buf[at + 1 : stop]))
    else:
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return raw.hex()
    return raw.hex() if (code == 0xA0 or code == 0xB0) and not text.isprintable() else text
