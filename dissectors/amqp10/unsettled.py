"""The deliveries of one side of a session that are not settled, by delivery-id.

Ids count up one by one (1.0 §2.7.5), so nearly each has a place of its own in a ring that is as
long as the unsettled are many, and no key object is made to find it. The few whose place is taken
are in a dict.
"""

from operator import attrgetter

import cython

from dissectors.amqp10.delivery import Delivery

#: Deliveries remembered; the oldest is written beyond it.
MAX_UNSETTLED = 262_144
#: Places of a fresh ring, a power of two, and how much longer it becomes when it is crowded.
FIRST_PLACES = 64
GROWTH = 4

#: Transfers are numbered as they come.
_age = attrgetter("transfer_id")


class Unsettled:
    """A delivery is added once and keeps its delivery-id."""

    def __init__(self) -> None:
        self.ring: list = [None] * FIRST_PLACES
        self.mask = FIRST_PLACES - 1
        self.others: dict = {}
        self.count = 0
        self.limit = MAX_UNSETTLED
        # Some of the oldest, the oldest last; those that were dropped since are among them.
        self.aged: list = []

    def __len__(self) -> int:
        return self.count

    @cython.wraparound(False)
    def get(self, delivery_id: cython.longlong) -> Delivery:
        """None if there is none of that id."""
        found: Delivery = self.ring[delivery_id & self.mask]
        if found is not None and found.delivery_id == delivery_id:
            return found
        return self.others.get(delivery_id) if self.others else None

    @cython.wraparound(False)
    def add(self, delivery: Delivery) -> cython.int:
        """There is none of its id yet."""
        place: cython.Py_ssize_t = delivery.delivery_id & self.mask
        if self.ring[place] is not None and 2 * self.count > self.mask:
            self._grow()
            place = delivery.delivery_id & self.mask
        self.count += 1
        if self.ring[place] is None:
            self.ring[place] = delivery
        else:
            self.others[delivery.delivery_id] = delivery
        return 0

    @cython.wraparound(False)
    def drop(self, delivery_id: cython.longlong) -> cython.int:
        """Whether there was one of that id."""
        place: cython.Py_ssize_t = delivery_id & self.mask
        found: Delivery = self.ring[place]
        if found is not None and found.delivery_id == delivery_id:
            self.ring[place] = None
        elif not self.others or self.others.pop(delivery_id, None) is None:
            return 0
        self.count -= 1
        return 1

    def _grow(self) -> cython.int:
        delivery: Delivery
        kept: list = self.deliveries()
        self.mask = (self.mask + 1) * GROWTH - 1
        self.ring = [None] * (self.mask + 1)
        self.others = {}
        self.count = 0
        for delivery in kept:
            self.add(delivery)
        return 0

    def deliveries(self) -> list:
        """All of them, the oldest first."""
        found: list = [delivery for delivery in self.ring if delivery is not None]
        found.extend(self.others.values())
        found.sort(key=_age)
        return found

    def oldest(self) -> Delivery:
        """The one that was added first; None if there is none."""
        delivery: Delivery
        if not self.count:
            self.aged = []
            return None
        while True:
            while self.aged:
                delivery = self.aged[-1]
                if self.get(delivery.delivery_id) is delivery:
                    return delivery
                self.aged.pop()
            self.aged = self.deliveries()
            self.aged.reverse()
