"""The outcomes that carry nothing, accepted and released (1.0 §3.4.2, §3.4.4): nearly all that
hot frames state, and the same two objects for all of them."""

import cython

from dissectors.amqp10.delivery import DeliveryState

ACCEPTED = cython.declare(cython.longlong, 0x24)
_ACCEPTED = DeliveryState("accepted", "accepted")
_RELEASED = DeliveryState("released", "released")


def plain_outcome(code: cython.longlong) -> DeliveryState:
    """The outcome of a code that `Fields` has read; None for -1."""
    if code < 0:
        return None
    return _ACCEPTED if code == ACCEPTED else _RELEASED
