"""Messages of a channel that wait for their settlement, found by their tags.

Tags count up one by one (0-9-1 §1.8.3.13), so those that wait are close together: each has its
place by the low bits of its tag, and no number object is made to find it. A tag whose place is
taken is among `others`. It does not know what settlement is.
"""

from operator import attrgetter

import cython

from dissectors.amqp09.transfers import Transfer

# A power of two; so many again and again while more than every second place is taken.
FIRST_PLACES = 32
WIDENING = 4
# Tags up to one are taken one by one if they are not many more than what waits.
SPARE_STEPS = cython.declare(cython.Py_ssize_t, 64)
MAX_UINT64 = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)

# Transfers are numbered as they come.
_by_age = attrgetter("transfer_id")


class Waiting:
    """Transfers by tag; a tag is not changed while its transfer waits."""

    def __init__(self) -> None:
        self.places: list = [None] * FIRST_PLACES
        self.mask = FIRST_PLACES - 1
        self.others: dict = {}
        self.count = 0
        # Some of the oldest, the very oldest last, and among them some that wait no longer.
        self.aged: list = []

    def get(self, tag: cython.ulonglong) -> Transfer | None:
        """The transfer with this tag, if it waits."""
        place: cython.Py_ssize_t = tag & self.mask
        t: Transfer = self.places[place]
        if t is not None and t.tag == tag:
            return t
        return self.others.get(tag) if self.others else None

    def put(self, t: Transfer) -> cython.int:
        """It waits from now on, instead of another one with this tag."""
        place: cython.Py_ssize_t
        there: Transfer
        if 2 * self.count > self.mask:
            self._widen()
        place = t.tag & self.mask
        there = self.places[place]
        if there is None:
            if self.others and self.others.pop(t.tag, None) is not None:
                self.count -= 1
            self.places[place] = t
            self.count += 1
        elif there.tag == t.tag:
            self.places[place] = t
        else:
            self.count += 0 if t.tag in self.others else 1
            self.others[t.tag] = t
        return 0

    def take(self, tag: cython.ulonglong) -> Transfer | None:
        """The transfer with this tag, which waits no longer; None if there is none."""
        place: cython.Py_ssize_t = tag & self.mask
        t: Transfer = self.places[place]
        if t is not None and t.tag == tag:
            self.places[place] = None
        else:
            t = self.others.pop(tag, None) if self.others else None
            if t is None:
                return None
        self.count -= 1
        return t

    def take_up_to(self, low: cython.ulonglong, tag: cython.ulonglong) -> list:
        """All from `low`, the lowest, up to this tag; walks whichever is shorter, tags or all."""
        n: cython.ulonglong
        t: Transfer
        near: cython.ulonglong = 2 * self.count + SPARE_STEPS
        taken: list = []
        if low <= tag < MAX_UINT64 and tag - low <= near:
            for n in range(low, tag + 1):
                t = self.take(n)
                if t is not None:
                    taken.append(t)
            return taken
        for t in self.transfers():
            if t.tag <= tag:
                taken.append(self.take(t.tag))
        return taken

    def transfers(self) -> list:
        """All that wait, the oldest first."""
        found: list = [t for t in self.places if t is not None]
        found.extend(self.others.values())
        found.sort(key=_by_age)
        return found

    def take_oldest(self) -> Transfer | None:
        """The one that came first, which waits no longer; None if there is none."""
        t: Transfer
        while self.count:
            if not self.aged:
                self.aged = self.transfers()
                self.aged.reverse()
            t = self.aged.pop()
            if self.get(t.tag) is t:
                return self.take(t.tag)
        self.aged = []
        return None

    def _widen(self) -> cython.int:
        t: Transfer
        kept: list = self.transfers()
        self.mask = (self.mask + 1) * WIDENING - 1
        self.places = [None] * (self.mask + 1)
        self.others = {}
        self.count = 0
        for t in kept:
            self.put(t)
        return 0
