"""Which captured request a live client's method stands for, and which answers that releases.

Per channel, in order, by method name. Requests that the live client left out are passed over with
their replies; a method that the capture does not have from here on is nobody's.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass

from dissectors.amqp09.frames import BODY, HEADER, METHOD
from replay.engine09.parts import PROTOCOL_HEADER, Part
from replay.engine09.vocabulary import ANSWERS, HANDSHAKE, SETTLEMENTS
from replay.script import CLIENT

# How far ahead a method is looked for before it counts as not captured.
MAX_AHEAD = 64
# Said by the engine itself when the client asks.
OWN = frozenset({"connection.start", "connection.tune", "connection.open-ok", "connection.secure",
                 "connection.close-ok"})  # fmt: skip


@dataclass(slots=True)
class Release:
    """A captured server frame and what must have come from the client before it may go."""

    part: Part
    requests: int
    settlements: int
    publishes: int


class Matcher:
    """The captured client's requests and the server's frames, channel by channel."""

    def __init__(self, parts: list[Part]) -> None:
        self._requests: dict[int, list[Part]] = {}
        self._releases: dict[int, deque[Release]] = {}
        # Requests per channel that have come or were passed over, deliveries settled, publishes.
        self._come: Counter[int] = Counter()
        self._settled: Counter[int] = Counter()
        self._publishes = 0
        self._passed: set[int] = set()
        self._read(parts)

    def _read(self, parts: list[Part]) -> None:
        requests: Counter[int] = Counter()
        settled: dict[int, _Settled] = {}
        publishes = 0
        for part in parts:
            channel = part.channel
            if part.side == CLIENT:
                if part.type != METHOD or part.name in HANDSHAKE or part.name in ANSWERS:
                    continue
                if part.name in SETTLEMENTS:
                    settled.setdefault(channel, _Settled()).settle(part)
                elif part.name not in ("connection.close", PROTOCOL_HEADER):
                    self._requests.setdefault(channel, []).append(part)
                    requests[channel] += 1
                    publishes += part.name == "basic.publish"
                continue
            if part.name in OWN or part.type not in (METHOD, HEADER, BODY):
                continue
            is_delivery = part.name in ("basic.deliver", "basic.get-ok")
            if is_delivery:
                settled.setdefault(channel, _Settled()).add(part.number("delivery-tag"))
            done = settled.get(channel)
            self._releases.setdefault(channel, deque()).append(
                Release(
                    part,
                    requests[channel],
                    done.count if is_delivery and done is not None else 0,
                    publishes if is_delivery else 0,
                )
            )

    # -- the client -----------------------------------------------------------------------

    def match(self, part: Part) -> Part | None:
        """The captured request that a live one stands for; None = not captured."""
        requests = self._requests.get(part.channel, [])
        begin = self._come[part.channel]
        for index in range(begin, min(len(requests), begin + MAX_AHEAD)):
            if requests[index].name != part.name:
                continue
            for passed in requests[begin:index]:
                self._pass_over(passed)
            found = requests[index]
            if part.get("nowait") and found.reply is not None:
                self._passed.add(id(found.reply))
            self._count(found)
            self._come[part.channel] = index + 1
            return found
        return None

    def _pass_over(self, part: Part) -> None:
        if part.reply is not None:
            self._passed.add(id(part.reply))
        self._count(part)

    def _count(self, part: Part) -> None:
        self._publishes += part.name == "basic.publish"

    def settled(self, channel: int, count: int) -> None:
        self._settled[channel] += count

    def drop_channel(self, channel: int) -> None:
        self._releases.pop(channel, None)

    # -- the server -----------------------------------------------------------------------

    def next(self) -> Release | None:
        """The earliest captured frame that may go now."""
        best: Release | None = None
        for channel, releases in self._releases.items():
            while releases and self._is_passed(releases[0].part):
                releases.popleft()
            if releases and self._is_free(channel, releases[0]):
                first = releases[0]
                if best is None or _order(first) < _order(best):
                    best = first
        return best

    def take(self) -> Release | None:
        found = self.next()
        if found is not None:
            self._releases[found.part.channel].popleft()
        return found

    def _is_passed(self, part: Part) -> bool:
        method = part.content.method if part.content is not None else part
        return id(method) in self._passed

    def _is_free(self, channel: int, release: Release) -> bool:
        return (
            self._come[channel] >= release.requests
            and self._settled[channel] >= release.settlements
            and self._publishes >= release.publishes
        )


class _Settled:
    """How many captured deliveries were settled so far on a channel."""

    def __init__(self) -> None:
        self.count = 0
        self._open: dict[int, None] = {}

    def add(self, tag: int) -> None:
        self._open[tag] = None

    def settle(self, part: Part) -> None:
        tag = part.number("delivery-tag")
        is_multiple = bool(part.get("multiple"))
        tags = (
            [t for t in self._open if t <= tag or not tag]
            if is_multiple
            else ([tag] if tag in self._open else [])
        )
        for one in tags:
            del self._open[one]
        self.count += len(tags)


def _order(release: Release) -> int:
    assert release.part.step is not None
    return release.part.step.no
