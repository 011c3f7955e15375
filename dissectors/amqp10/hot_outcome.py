"""The outcomes that carry nothing, accepted and released (1.0 §3.4.2, §3.4.4): nearly all that
hot frames state, and the same two objects for all of them."""

import cython

from dissectors.amqp10.delivery import DeliveryState
from dissectors.amqp10.octets import after_code, list_count, read_code

ACCEPTED_CODE = cython.declare(cython.int, 0x24)
RELEASED_CODE = cython.declare(cython.int, 0x26)
_ACCEPTED = DeliveryState("accepted", "accepted")
_RELEASED = DeliveryState("released", "released")
#: Stands for a state that the tables must read.
UNREAD = DeliveryState("received")


def plain_outcome(buf: bytes, at: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> DeliveryState:
    """None for null, an outcome that carries nothing, or UNREAD for what the tables must read."""
    code: cython.longlong
    if buf[at] == 0x40:
        return None
    code = read_code(buf, at, stop)
    if code != ACCEPTED_CODE and code != RELEASED_CODE:
        return UNREAD
    at = after_code(buf, at)
    if list_count(buf, at, stop) != 0:
        return UNREAD
    return _ACCEPTED if code == ACCEPTED_CODE else _RELEASED
