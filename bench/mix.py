"""What busy traffic looks like: sizes and bursts that both families' generators draw from.

Thirteen of our own recordings (``samples/``) were counted: bulk transfers aside, they have 0.75 to
3.2 frames a packet and 90 to 220 octets a frame. Most messages are short and many are sent one by
one. What is made here has 3.4 frames a packet of 92 octets (0-9-1) and 1.5 of 197 (1.0).
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
