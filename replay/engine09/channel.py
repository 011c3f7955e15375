"""One channel of a replayed client: what the capture shows of it and what is live, side by side.

Holds only what gates need: which replies are awaited, which deliveries are outstanding under which
tag, how many publishes wait for their confirm. What became of each message is told by the
dissectors' model afterwards.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from replay.engine09.parts import Part


class Key(NamedTuple):
    """What makes two deliveries the same message on the same consumer."""

    consumer: str
    exchange: str
    routing_key: str
    body_hash: str


class Window:
    """Publishes in confirm mode that wait for their confirm."""

    def __init__(self) -> None:
        self.count = 0
        self.waiting: dict[int, None] = {}

    def publish(self) -> None:
        self.count += 1
        self.waiting[self.count] = None

    def settle(self, tag: int, is_multiple: bool) -> None:
        if not is_multiple:
            self.waiting.pop(tag, None)
            return
        for number in list(self.waiting):
            if tag and number > tag:
                break
            del self.waiting[number]


class Deliveries:
    """Deliveries by tag; a rollback makes what was settled outstanding again."""

    def __init__(self) -> None:
        self.count = 0
        self.is_transactional = False
        self.outstanding: dict[int, Key] = {}
        self._settled: dict[int, Key] = {}

    def add(self, tag: int, key: Key, is_no_ack: bool) -> None:
        self.count += 1
        if not is_no_ack:
            self.outstanding[tag] = key

    def covered(self, tag: int, is_multiple: bool) -> list[int]:
        """The outstanding tags that a settlement names."""
        if not is_multiple:
            return [tag] if tag in self.outstanding else []
        return [t for t in self.outstanding if t <= tag or not tag]

    def settle(self, tags: Iterable[int]) -> None:
        for tag in tags:
            key = self.outstanding.pop(tag, None)
            if key is not None and self.is_transactional:
                self._settled[tag] = key

    def commit(self) -> None:
        self._settled.clear()

    def rollback(self) -> None:
        back = {**self._settled, **self.outstanding}
        self.outstanding = dict(sorted(back.items()))
        self._settled.clear()


class ChannelState:
    """Both worlds of one channel number, from one channel.open to the next."""

    def __init__(self, number: int) -> None:
        self.number = number
        # Closed by the live server: nothing is sent on it until it is opened again.
        self.is_dead = False
        # The captured client goes on for a while before it says close-ok, and so do we.
        self.owes_close_ok = False
        # We closed it on our own; it cannot be opened again before the server has agreed.
        self.is_closing = False
        self.is_flow_stopped = False
        # Replies that the capture shows before our next step and that have not come yet.
        self.awaited: deque[Part] = deque()
        # Replies that came before the capture shows them.
        self.surplus = 0
        # Our requests that the live server has not answered.
        self.requests: deque[Part] = deque()
        self.captured = Deliveries()
        self.live = Deliveries()
        self.captured_window: Window | None = None
        self.live_window: Window | None = None
        # Live tags by content, and by consumer with their content, in order of arrival.
        self.arrivals: dict[Key, list[int]] = {}
        self.by_consumer: dict[str, list[tuple[int, Key]]] = {}
        # captured tag → how many deliveries of the same content, and of the same consumer, came
        # before it
        self.places: dict[int, tuple[int, int]] = {}
        self.counts: Counter[Key | str] = Counter()
        self.tags: dict[int, int] = {}

    def expect(self, part: Part) -> None:
        """The capture shows this reply here."""
        if self.surplus:
            self.surplus -= 1
        else:
            self.awaited.append(part)

    def reply(self) -> None:
        """A reply has come."""
        if self.awaited:
            self.awaited.popleft()
        else:
            self.surplus += 1

    def deliver(self, tag: int, key: Key, is_no_ack: bool) -> None:
        """A captured delivery."""
        self.captured.add(tag, key, is_no_ack)
        self.places[tag] = (self.counts[key], self.counts[key.consumer])
        self.counts[key] += 1
        self.counts[key.consumer] += 1
        self.tags.pop(tag, None)

    def arrive(self, tag: int, key: Key, is_no_ack: bool) -> None:
        """A live delivery."""
        self.live.add(tag, key, is_no_ack)
        self.arrivals.setdefault(key, []).append(tag)
        self.by_consumer.setdefault(key.consumer, []).append((tag, key))

    def match(self, captured_tag: int, known: set[Key]) -> int | None:
        """The live tag of a captured delivery: by content, else by order among what is new.

        The n-th live delivery of a content is the n-th captured one. A live message at the same
        place of the same consumer stands for the captured one only if the capture knows no
        message of that content: it would be somebody else's.
        """
        found = self.tags.get(captured_tag)
        if found is not None:
            return found
        key = self.captured.outstanding[captured_tag]
        of_content, of_consumer = self.places[captured_tag]
        arrivals = self.arrivals.get(key, ())
        others = self.by_consumer.get(key.consumer, ())
        if of_content < len(arrivals):
            found = arrivals[of_content]
        elif of_consumer < len(others) and others[of_consumer][1] not in known:
            found = others[of_consumer][0]
        if found is not None:
            self.tags[captured_tag] = found
        return found

    def recover(self) -> None:
        """The client asked for all unsettled deliveries again (basic.recover)."""
        self.captured.outstanding.clear()
        self.live.outstanding.clear()
