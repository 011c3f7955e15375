"""Causality: what must have come from the live peer before one of our acts may go out.

`protocol`: the replies that the capture shows before it; its transaction; credit and window for a
transfer, and the messages that had come before it; the deliveries that a disposition settles;
everything that had come before a detach, end or close. `window` also keeps no more of our messages
unanswered than the capture had; `strict` waits for all that the capture shows before. What did not
come in time is given up once, and its like is not waited for again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dissectors.amqp10.serial import serial_diff
from replay.script import SERVER

from .acts import Act, Reply
from .live import Live
from .model import known
from .pairs import LinkPair, OwnDelivery, PeerDelivery, SessionPair
from .reading import Reading
from .replied import has_credit, has_replied, has_window

#: What a client may have sent on with the frame that we answer.
_PIPELINED = {"open": ("begin", "attach"), "begin": ("attach",)}
_CLOSING = ("detach", "end", "close")


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that has not come yet, in words, and how to do without it."""

    text: str
    give_up: Callable[[], None]


class Gates:
    """Asked for each act, in order."""

    def __init__(self, reading: Reading, live: Live, causality: str) -> None:
        self._reading = reading
        self._live = live
        self._has_window = causality in ("window", "strict")
        self._is_strict = causality == "strict"
        # The first of each list that has not come yet.
        self._reply_at = 0
        self._delivery_at = 0
        self._outcome_at = 0

    def hold(self, act: Act) -> Wait | None:
        """What this act has to wait for; None if it may go."""
        wait = self._answers_to(act) or self._synthetic(act) or self._transaction(act)
        if wait is None and self._is_strict:
            wait = self._everything(act)
        if wait is None:
            rule = _RULES.get(act.name)
            wait = None if rule is None else rule(self, act)
        return wait

    def remaining(self) -> Wait | None:
        """What the capture shows in answer and has not come, when all our acts are done."""
        reading = self._reading
        wait = None
        if not self._live.has_peer_close:
            wait = self._outcomes(len(reading.outcomes))
            wait = wait or self._deliveries(len(reading.deliveries))
        return wait or self._replies(len(reading.replies))

    def outstanding_ts_ns(self) -> int | None:
        """When the oldest answer that has not come was captured, of those before our acts."""
        reading = self._reading
        self._replies(len(reading.replies))
        self._outcomes(len(reading.outcomes))
        times = [
            reading.replies[i].step.ts_ns for i in (self._reply_at,) if i < len(reading.replies)
        ]
        times += [
            reading.outcomes[i].step.ts_ns for i in (self._outcome_at,) if i < len(reading.outcomes)
        ]
        return min(times, default=None)

    # -- replies --------------------------------------------------------------------------

    def _answers_to(self, act: Act) -> Wait | None:
        """The replies before an act. Clients send open, begin and attach in one go: our answer to
        the first of them does not depend on the last."""
        is_answer = self._live.side == SERVER
        if act.name == "begin":
            is_answer = act.session is not None and act.session.is_begun_by_peer
        if act.name not in _PIPELINED or not is_answer:
            return self._replies(act.before.replies)
        for reply in self._reading.replies[self._reply_at : act.before.replies]:
            if reply.name not in _PIPELINED[act.name] and not has_replied(self._live, reply):
                return Wait(_reply_text(reply), partial(_do_without, reply))
        return None

    def _replies(self, count: int) -> Wait | None:
        replies = self._reading.replies
        while self._reply_at < count:
            reply = replies[self._reply_at]
            if not has_replied(self._live, reply):
                return Wait(_reply_text(reply), partial(_do_without, reply))
            self._reply_at += 1
        return None

    def _synthetic(self, act: Act) -> Wait | None:
        """A session that we began in our own words has no captured reply to wait for."""
        session = act.session
        if session is None or not session.is_synthetic or session.is_dead:
            return None
        if self._live.has_peer_begun(session):
            return None
        return Wait("begin", session.kill)

    def _transaction(self, act: Act) -> Wait | None:
        """Only the live coordinator's answer has the id of the live transaction."""
        return None if act.declare is None else _outcome(act.declare)

    # -- messages and outcomes ------------------------------------------------------------

    def _deliveries(self, count: int) -> Wait | None:
        deliveries = self._reading.deliveries
        while self._delivery_at < count:
            delivery = deliveries[self._delivery_at]
            if not _has_come(delivery):
                return self._delivery(delivery)
            self._live.settle_for(delivery)
            self._delivery_at += 1
        return None

    def _delivery(self, delivery: PeerDelivery) -> Wait:
        return Wait(
            f"message {delivery.ordinal + 1} on {delivery.link.title}",
            lambda: _give_up_delivery(delivery),
        )

    def _outcomes(self, count: int) -> Wait | None:
        outcomes = self._reading.outcomes
        while self._outcome_at < count:
            wait = _outcome(outcomes[self._outcome_at].delivery)
            if wait is not None:
                return wait
            self._outcome_at += 1
        return None

    def _unanswered(self, act: Act) -> Wait | None:
        """No more messages unanswered than captured (counted, not named: a peer may answer in
        another order)."""
        if self._live.answered_count >= act.before.outcomes:
            return None
        return self._outcomes(act.before.outcomes)

    def _everything(self, act: Act) -> Wait | None:
        """Credit is not among it: peers top it up in batches that no two runs share."""
        before = act.before
        return self._deliveries(before.deliveries) or self._outcomes(before.outcomes)

    # -- rules by performative ------------------------------------------------------------

    def _transfer(self, act: Act) -> Wait | None:
        link, session = act.link, act.session
        if link is None or session is None or link.live is None or link.is_dead:
            return None
        if act.is_first:
            wait = self._deliveries(act.before.deliveries)
            if wait is None and self._has_window:
                wait = self._unanswered(act)
            if wait is not None:
                return wait
            if not act.is_overdraft and not has_credit(link) and not link.is_dry:
                return Wait(f"credit on {link.title}", link.dry_up)
        return self.window(session)

    def window(self, session: SessionPair) -> Wait | None:
        """Room in the peer's incoming-window for one more frame."""
        if has_window(self._live, session) or session.is_mute:
            return None
        return Wait("the session's window", session.mute)

    def _disposition(self, act: Act) -> Wait | None:
        for delivery in act.peer:
            self._live.settle_for(delivery)
            if not _is_here(delivery):
                return self._delivery(delivery)
        return next(filter(None, map(_outcome, act.answered)), None)

    def _flow(self, act: Act) -> Wait | None:
        link = act.link
        if link is None or link.is_dead or link.is_dry:
            return None
        if act.gives_up and not _is_drain_asked(link, act.limit or 0):
            return Wait(f"the request to drain {link.title}", link.dry_up)
        if link.arrived_count < act.link_deliveries:
            return self._delivery(link.deliveries[link.arrived_count])
        return None

    def _closing(self, act: Act) -> Wait | None:
        return self._outcomes(act.before.outcomes) or self._deliveries(act.before.deliveries)


def _outcome(delivery: OwnDelivery) -> Wait | None:
    session = delivery.link.session
    if delivery.is_answered or delivery.is_skipped or session.is_mute:
        return None
    return Wait(f"the outcome of a message on {delivery.link.title}", session.mute)


def _is_here(delivery: PeerDelivery) -> bool:
    """It and no other, or there is no hope for it."""
    link = delivery.link
    return delivery.live_id is not None or delivery.is_given_up or link.is_dead or link.is_dry


def _has_come(delivery: PeerDelivery) -> bool:
    # Tokens are not sent, so that their answers do not come either.
    return delivery.has_come or delivery.link.is_dry or bool(delivery.link.captured.is_secret)


def _give_up_delivery(delivery: PeerDelivery) -> None:
    delivery.is_given_up = True
    delivery.link.dry_up()


def _is_drain_asked(link: LinkPair, limit: int) -> bool:
    return link.live is None or (bool(link.live.is_draining) and _has_limit(link, limit))


def _has_limit(link: LinkPair, limit: int) -> bool:
    """The receiver has granted at least as much as captured (or the link is not there)."""
    if link.live is None:
        return True
    found, start = known(link.live.limit), known(link.live.initial_delivery_count)
    return found is not None and serial_diff(found, start or 0) >= limit


def _do_without(reply: Reply) -> None:
    """A session or link that is not answered cannot be used."""
    reply.is_given_up = True
    if reply.name == "begin" and reply.session is not None:
        reply.session.kill()
    if reply.name == "attach" and reply.link is not None:
        reply.link.kill()
    if reply.name == "settlement" and reply.link is not None:
        reply.link.is_settling = False


def _reply_text(reply: Reply) -> str:
    return reply.name if reply.link is None else f"{reply.name} of {reply.link.title}"


_RULES: dict[str, Callable[[Gates, Act], Wait | None]] = {
    "transfer": Gates._transfer,
    "disposition": Gates._disposition,
    "flow": Gates._flow,
    **dict.fromkeys(_CLOSING, Gates._closing),
}
