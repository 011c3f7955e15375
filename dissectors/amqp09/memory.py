"""Bounded memories of one connection or channel: requeued deliveries and unplaced confirms.

They answer "which earlier message is this?" where the wire does not say, and forget the oldest
when full: a capture must not be able to make them grow.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dissectors.amqp09.transfers import Transfer

MAX_REQUEUED = 65_536
MAX_UNPLACED = 4096


class Requeued:
    """Deliveries that went back to their queue, by what the next delivery will look like."""

    def __init__(self) -> None:
        self._ids: OrderedDict[tuple, list[int]] = OrderedDict()
        self._count = 0

    def remember(self, transfer: Transfer) -> None:
        digest = transfer.final_digest()
        if digest is None:
            return
        key = (transfer.exchange, transfer.routing_key, transfer.body_bytes, digest)
        self._ids.setdefault(key, []).append(transfer.transfer_id)
        self._count += 1
        while self._count > MAX_REQUEUED:
            _, oldest = self._ids.popitem(last=False)
            self._count -= len(oldest)

    def find(self, transfer: Transfer) -> int | None:
        """The earliest delivery of the same message that was requeued, taken out."""
        digest = transfer.final_digest()
        key = (transfer.exchange, transfer.routing_key, transfer.body_bytes, digest)
        ids = self._ids.get(key)
        if not ids:
            return None
        self._count -= 1
        found = ids.pop(0)
        if not ids:
            del self._ids[key]
        return found


class Confirm(NamedTuple):
    """A broker's ack or nack, as it came."""

    tag: int
    is_multiple: bool
    outcome: int
    ts_ns: int
    packet_no: int


class UnplacedConfirms:
    """Publishes whose number since confirm.select is not known, and the confirms that came.

    A capture that begins in mid-connection, or lost publishes, does not say how many there were
    before. But a tag can be confirmed only after its publish: each confirm gives a least number
    for the latest publish, and the greatest of these is exact as soon as once all publishes were
    confirmed. So both are kept until the channel ends, or too many wait.
    """

    def __init__(self, least: int = 0) -> None:
        self.publishes: list[Transfer] = []
        self.confirms: list[Confirm] = []
        # Number of the publish before the first one kept here, at least.
        self.before = least

    @property
    def is_full(self) -> bool:
        return max(len(self.publishes), len(self.confirms)) >= MAX_UNPLACED

    def add_publish(self, transfer: Transfer) -> None:
        self.publishes.append(transfer)

    def add_confirm(self, confirm: Confirm) -> None:
        self.before = max(self.before, confirm.tag - len(self.publishes))
        self.confirms.append(confirm)

    def placed(self) -> list[tuple[int, Transfer]]:
        """Publishes with their numbers."""
        return [(self.before + 1 + i, t) for i, t in enumerate(self.publishes)]
