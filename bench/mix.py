"""What busy traffic looks like: sizes and bursts that both families' generators draw from.

Our own recordings of brokers and clients (``samples/``) have 1.2 to 3.2 frames a packet and 90 to
220 octets a frame, bulk transfers aside: most messages are short and many are sent one by one.
"""

from __future__ import annotations

import random

_BODY_BYTES = (16, 32, 64, 120, 120, 250, 400)
_MESSAGES_AT_ONCE = (1, 1, 1, 2, 3, 10)


def body(rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice(_BODY_BYTES))


def burst(rng: random.Random) -> int:
    """How many messages a sender hands to TCP in one go."""
    return rng.choice(_MESSAGES_AT_ONCE)
