"""A captured conversation read once, from the side that is to be played again.

The dissectors' model tells which session and link a frame is about; what is noted here is only
what the engine needs to do the same with other numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dissectors.amqp10.serial import serial_diff
from replay.script import ConversationScript, Step

from .acts import Act, Before, Outcome, Reply
from .content import PROPERTIES, digest_of, section_of
from .frame import EMPTY, PROTOCOL_HEADER, UNREADABLE, Frame
from .model import Model, credit_of, endpoint, known, link_at
from .pairs import LinkPair, OwnDelivery, PeerDelivery, SessionPair
from .ranges import ids_in_range
from .sasl import CapturedLogin
from .transactions import declared_txn, discharged_txn, stated_txn

_SASL = "sasl-"
_ENDING = ("detach", "end")


class Reading:
    """Acts, replies, deliveries and outcomes, each in captured order."""

    def __init__(self, conversation: ConversationScript, side: int) -> None:
        self.side = side
        self.login = CapturedLogin()
        self.acts: list[Act] = []
        self.replies: list[Reply] = []
        self.deliveries: list[PeerDelivery] = []
        self.outcomes: list[Outcome] = []
        self.sessions: list[SessionPair] = []
        self.has_own_open = False
        self._model = Model(conversation.connection_id)
        self._sessions: dict[int, SessionPair] = {}
        self._links: dict[int, LinkPair] = {}
        self._own_by_session: dict[int, dict[int, OwnDelivery]] = {}
        self._peer_by_session: dict[int, dict[int, PeerDelivery]] = {}
        self._sending: dict[int, OwnDelivery] = {}
        self._coming: dict[int, tuple[int | None, list[bytes]]] = {}
        self._answered: set[int] = set()
        # What declared each transaction, by the txn-id that the captured peer gave it.
        self._declares: dict[bytes, OwnDelivery] = {}
        self._has_peer_close = False
        self._has_own_close = False
        for step in conversation.steps:
            self._read(step)

    def _read(self, step: Step) -> None:
        frame = Frame(step.octets)
        if frame.name == PROTOCOL_HEADER or frame.name.startswith(_SASL):
            self.login.see(frame)
            self._model.take(step.side, step.octets, step.ts_ns)
            return
        # A detach or end takes away what it speaks of: look first.
        session, link = self._of(step.side, frame)
        advance = self._advance(step.side, frame, link)
        credit = None if link is None else credit_of(link)
        self._model.take(step.side, step.octets, step.ts_ns)
        if frame.name not in _ENDING:
            session, link = self._of(step.side, frame)
        if step.side != self.side:
            pair = self._link(session, link)
            if pair is not None:
                pair.is_drained = advance > 0
            reader = _PEER.get(frame.name)
            if reader is not None:
                reader(self, step, frame, self._pair(session), pair)
            return
        if frame.name == EMPTY:
            return  # heartbeats are the engine's own (1.0 §2.4.5)
        act = Act(step, frame, self._before(), self._pair(session), self._link(session, link))
        act.is_overdraft = credit is not None and credit <= 0
        act.gives_up = advance > 0
        act.is_afterword = self._has_own_close
        self._has_own_close |= frame.name == "close"
        own = _OWN.get(frame.name)
        if own is not None:
            own(self, act)
        self.acts.append(act)

    # -- finding --------------------------------------------------------------------------

    def _of(self, side: int, frame: Frame) -> tuple[Any | None, Any | None]:
        """The captured session and link that a frame is about."""
        if frame.name in (UNREADABLE, EMPTY, "open", "close"):
            return None, None
        session = self._model.session(side, frame.channel)
        handle = frame.uint("handle") if "handle" in frame.places else None
        return session, None if handle is None else link_at(session, side, handle)

    def _pair(self, session: Any | None) -> SessionPair | None:
        if session is None:
            return None
        pair = self._sessions.get(session.session_id)
        if pair is None:
            pair = self._sessions[session.session_id] = SessionPair(session)
            pair.is_begun_by_peer = session.begun_by == 1 - self.side
            pair.is_synthetic = not endpoint(session, self.side).has_begun
            pair.is_synthetic &= not pair.is_begun_by_peer
            self.sessions.append(pair)
        pair.own_channel = known(endpoint(session, self.side).channel)
        return pair

    def _link(self, session: Any | None, link: Any | None) -> LinkPair | None:
        if link is None:
            return None
        pair = self._links.get(link.link_id)
        if pair is None:
            owner = self._pair(session)
            assert owner is not None
            pair = self._links[link.link_id] = LinkPair(owner, link, self.side)
            owner.links.append(pair)
        return pair

    def _before(self) -> Before:
        return Before(len(self.replies), len(self.deliveries), len(self.outcomes))

    def _advance(self, side: int, frame: Frame, link: Any | None) -> int:
        """Credit that a sender's flow gives up: its delivery-count runs ahead (1.0 §2.6.7)."""
        if frame.name != "flow" or link is None or link.sender != side:
            return 0
        stated, count = frame.uint("delivery-count"), known(link.delivery_count)
        return 0 if stated is None or count is None else serial_diff(stated, count)

    # -- what we did ----------------------------------------------------------------------

    def _own_open(self, act: Act) -> None:
        self.has_own_open = True

    def _own_attach(self, act: Act) -> None:
        link = act.link
        if link is not None:
            link.own_attach = act.frame
            link.own_handle = act.frame.uint("handle")

    def _own_transfer(self, act: Act) -> None:
        link = act.link
        if link is None:
            return
        key = link.captured.link_id
        delivery = self._sending.get(key)
        if delivery is None:
            act.is_first = True
            delivery = self._sending[key] = OwnDelivery(link)
            delivery_id = act.frame.uint("delivery-id")
            if delivery_id is not None:
                session_id = link.session.captured.session_id
                self._own_by_session.setdefault(session_id, {})[delivery_id] = delivery
        act.delivery = delivery
        delivery.frames.append(act.frame)
        self._in_transaction(act)
        act.is_last = not act.frame.flag("more") or act.frame.flag("aborted")
        if act.is_last:
            del self._sending[key]

    def _own_disposition(self, act: Act) -> None:
        first, last = act.frame.uint("first"), act.frame.uint("last")
        if act.session is None or first is None:
            return
        session_id = act.session.captured.session_id
        if act.frame.flag("role"):
            act.peer = list(ids_in_range(self._peer_by_session.get(session_id, {}), first, last))
        else:
            ours = self._own_by_session.get(session_id, {})
            act.ours = list(ids_in_range(ours, first, last))
            act.answered = [d for d in act.ours if id(d) in self._answered]
        self._in_transaction(act)

    def _in_transaction(self, act: Act) -> None:
        txn_id = stated_txn(act.frame.raw("state"))
        if txn_id is None and act.link is not None and act.link.captured.is_coordinator:
            txn_id = discharged_txn(act.frame.payload)
        act.declare = None if txn_id is None else self._declares.get(txn_id)

    def _own_flow(self, act: Act) -> None:
        link = act.link
        self._own_window(act)
        if link is None:
            return
        act.limit = self._limit(link)
        act.link_deliveries = len(link.deliveries)

    def _own_window(self, act: Act) -> None:
        """The limit that our incoming-window sets, counted from the peer's first transfer."""
        if act.session is None:
            return
        peer = endpoint(act.session.captured, 1 - self.side)
        start = known(peer.initial_outgoing_id)
        seen, window = act.frame.uint("next-incoming-id"), act.frame.uint("incoming-window")
        if window is not None:
            received = 0 if seen is None or start is None else serial_diff(seen, start)
            act.window_limit = received + window

    def _own_detach(self, act: Act) -> None:
        if act.link is not None:
            act.link.is_detach_due = True

    def _own_end(self, act: Act) -> None:
        if act.session is not None:
            act.session.is_end_due = True

    def _limit(self, link: LinkPair) -> int:
        """The receiver's limit, counted from the sender's first delivery."""
        captured = link.captured
        start = known(captured.initial_delivery_count)
        limit = known(captured.limit)
        if limit is None:
            return 0
        return serial_diff(limit, start if start is not None else 0)

    # -- what the peer did ----------------------------------------------------------------

    def _peer_reply(
        self, step: Step, frame: Frame, session: SessionPair | None, link: LinkPair | None
    ) -> None:
        reply = Reply(frame.name, step, session, link)
        if self._has_peer_close:
            reply.is_afterword = True
        self._has_peer_close |= frame.name == "close"
        self.replies.append(reply)
        if frame.name == "detach" and link is not None:
            link.is_detach_captured = True
        elif frame.name == "end" and session is not None:
            session.is_end_captured = True

    def _peer_attach(
        self, step: Step, frame: Frame, session: SessionPair | None, link: LinkPair | None
    ) -> None:
        if link is not None:
            link.peer_attach = frame
            link.is_attached_by_peer = link.own_attach is None
        self._peer_reply(step, frame, session, link)

    def _peer_transfer(
        self, step: Step, frame: Frame, session: SessionPair | None, link: LinkPair | None
    ) -> None:
        if link is None or session is None:
            return
        key = link.captured.link_id
        delivery_id, parts = self._coming.setdefault(key, (frame.uint("delivery-id"), []))
        parts.append(frame.payload)
        if frame.flag("more") and not frame.flag("aborted"):
            return
        del self._coming[key]
        if frame.flag("aborted"):
            return
        delivery = self._peer_delivery(link, b"".join(parts))
        link.deliveries.append(delivery)
        link.unmatched.setdefault(delivery.digest, []).append(delivery)
        self.deliveries.append(delivery)
        if delivery_id is not None:
            session_id = session.captured.session_id
            self._peer_by_session.setdefault(session_id, {})[delivery_id] = delivery

    def _peer_delivery(self, link: LinkPair, payload: bytes) -> PeerDelivery:
        properties = section_of(payload, PROPERTIES)
        return PeerDelivery(link, len(link.deliveries), digest_of(payload), properties)

    def _peer_disposition(
        self, step: Step, frame: Frame, session: SessionPair | None, link: LinkPair | None
    ) -> None:
        first = frame.uint("first")
        if session is None or first is None:
            return
        if not frame.flag("role"):
            self._peer_settles(step, frame, session)
            return
        ours = self._own_by_session.get(session.captured.session_id, {})
        for delivery in ids_in_range(ours, first, frame.uint("last")):
            txn_id = declared_txn(frame.raw("state"))
            if txn_id is not None:
                delivery.captured_txn = txn_id
                self._declares[txn_id] = delivery
            if id(delivery) not in self._answered:
                self._answered.add(id(delivery))
                self.outcomes.append(Outcome(delivery, step))

    def _peer_settles(self, step: Step, frame: Frame, session: SessionPair) -> None:
        """The sender's last word where the receiver settles second (1.0 §2.6.12)."""
        theirs = self._peer_by_session.get(session.captured.session_id, {})
        first = frame.uint("first")
        assert first is not None
        for delivery in ids_in_range(theirs, first, frame.uint("last")):
            if not delivery.is_settlement_due:
                delivery.is_settlement_due = True
                self.replies.append(Reply("settlement", step, session, delivery.link, delivery))

    def _peer_flow(
        self, step: Step, frame: Frame, session: SessionPair | None, link: LinkPair | None
    ) -> None:
        if link is not None and link.is_drained:
            self.replies.append(Reply("drained credit", step, session, link))


_OWN: dict[str, Callable[[Reading, Act], None]] = {
    "open": Reading._own_open,
    "attach": Reading._own_attach,
    "transfer": Reading._own_transfer,
    "disposition": Reading._own_disposition,
    "flow": Reading._own_flow,
    "detach": Reading._own_detach,
    "end": Reading._own_end,
}
_PEER: dict[str, Callable[[Reading, Step, Frame, SessionPair | None, LinkPair | None], None]] = {
    "open": Reading._peer_reply,
    "begin": Reading._peer_reply,
    "attach": Reading._peer_attach,
    "transfer": Reading._peer_transfer,
    "disposition": Reading._peer_disposition,
    "flow": Reading._peer_flow,
    "detach": Reading._peer_reply,
    "end": Reading._peer_reply,
    "close": Reading._peer_reply,
}
