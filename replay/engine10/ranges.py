"""What a disposition speaks of: a range of delivery-ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from dissectors.amqp10.serial import serial_add, serial_diff

_T = TypeVar("_T")


def ids_in_range(known_ids: dict[int, _T], first: int, last: int | None) -> Iterable[_T]:
    """What a range of delivery-ids means, without walking a range made to hurt (1.0 §2.7.6)."""
    count = 1 if last is None else serial_diff(last, first) + 1
    if count <= 2 * len(known_ids) + 64:
        ids: Iterable[int] = (serial_add(first, step) for step in range(max(count, 0)))
    else:
        inside = [i for i in known_ids if 0 <= serial_diff(i, first) < count]
        ids = sorted(inside, key=lambda i: serial_diff(i, first))
    return [known_ids[i] for i in ids if i in known_ids]
