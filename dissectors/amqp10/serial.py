"""Serial numbers (1.0 §2.8.10, RFC 1982): 32 bits that wrap. The one place with their rules."""

import cython

_MASK = cython.declare(cython.longlong, 0xFFFFFFFF)
_SPAN = cython.declare(cython.longlong, 0x100000000)
_HALF = cython.declare(cython.longlong, 0x80000000)


def serial_add(number: cython.longlong, steps: cython.longlong) -> cython.longlong:
    """The serial number so many steps on (or back)."""
    return (number + steps) & _MASK


def serial_diff(later: cython.longlong, earlier: cython.longlong) -> cython.longlong:
    """Steps from `earlier` to `later`; negative if it comes before (RFC 1982 §3.2)."""
    steps: cython.longlong = (later - earlier) & _MASK
    return steps - _SPAN if steps >= _HALF else steps
