"""The front part of a performative whose end is missing, as if its sender had said no more.

A snap length cuts open, attach and their like in the middle, after the fields that tell most.
The lists that the cut runs through are closed behind their last whole item; nothing is guessed.
"""

from __future__ import annotations

from .definitions import PERFORMATIVES, SASL_FRAMES
from .octets import read_u32, skip_value

#: Of these the absence of a field misleads nobody, or `rare.py` looks for it. What a transfer
#: or flow does not say means something (1.0 §2.7.4, §2.7.5), so half of one is not used.
READABLE_IN_PART = frozenset(
    row.code for row in (*PERFORMATIVES, *SASL_FRAMES) if row.name not in ("transfer", "flow")
)
#: Composites inside each other that are followed: attach, source, default-outcome, error.
_MAX_DEPTH = 4
_LIST32 = 0xD0


def seen_part(buf: bytes, at: int, seen: int, depth: int = 0) -> bytes | None:
    """The value at `at` less what lies behind `seen`; None if nothing of it can be used."""
    stop = skip_value(buf, at, seen, 0)
    if stop >= 0:
        return buf[at:stop]
    if at >= seen or depth > _MAX_DEPTH:
        return None
    if buf[at] == 0:
        inner = skip_value(buf, at + 1, seen, 0)
        part = None if inner < 0 else seen_part(buf, inner, seen, depth)
        return None if part is None else buf[at:inner] + part
    return _list_part(buf, at, seen, depth)


def _list_part(buf: bytes, at: int, seen: int, depth: int) -> bytes | None:
    if buf[at] == 0xC0 and at + 3 <= seen:
        count, at = buf[at + 2], at + 3
    elif buf[at] == _LIST32 and at + 9 <= seen:
        count, at = read_u32(buf, at + 5), at + 9
    else:
        return None
    items: list[bytes] = []
    while len(items) < count:
        stop = skip_value(buf, at, seen, 0)
        item = seen_part(buf, at, seen, depth + 1)
        if item is not None:
            items.append(item)
        if stop < 0:
            break
        at = stop
    body = b"".join(items)
    sizes = (len(body) + 4).to_bytes(4, "big") + len(items).to_bytes(4, "big")
    return bytes((_LIST32,)) + sizes + body
