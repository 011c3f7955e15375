"""What the live peer sends: matched with what it sent in the capture, and answered where the
protocol demands an answer that the capture does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dissectors.amqp10.composites import STANDARD
from replay.engine import Engine

from .content import PROPERTIES, digest_of, section_of
from .frame import EMPTY, Frame, make_frame
from .live import Live
from .matching import address_in, captured_link, is_dynamic, termini_of
from .model import attach_of, link_at
from .pairs import LinkPair, SessionPair, Stranger
from .ranges import ids_in_range
from .reading import Reading
from .transactions import declared_txn

NOT_CAPTURED = "amqp:not-allowed"


class Listener:
    """Takes the peer's frames after the prologue; answers go out by `answer`."""

    def __init__(
        self, engine: Engine, reading: Reading, live: Live, answer: Callable[[bytes], None]
    ) -> None:
        self._engine = engine
        self._reading = reading
        self._live = live
        self._answer = answer

    def take(self, octets: bytes, now_ns: int) -> None:
        frame = Frame(octets)
        live = self._live
        session = live.model.session(live.peer_side, frame.channel)
        handle = None
        if "handle" in frame.places and frame.name != "attach":
            handle = frame.uint("handle")
        link = None if handle is None else link_at(session, live.peer_side, handle)
        live.model.take(live.peer_side, octets, now_ns)
        handler = _HANDLERS.get(frame.name)
        if handler is not None:
            handler(self, frame, live.session_of(session), live.link_of(link))
        elif frame.name != EMPTY:
            self._engine.note("unreadable", f"the peer sent {len(octets)} octets of no known frame")

    # -- connection and sessions ----------------------------------------------------------

    def _open(self, frame: Frame, session: SessionPair | None, link: LinkPair | None) -> None:
        self._live.see_open(frame, self._engine.settings.max_frame_bytes)

    def _begin(self, frame: Frame, session: SessionPair | None, link: LinkPair | None) -> None:
        live = self._live
        begun = live.model.session(live.peer_side, frame.channel)
        if begun is None or live.session_of(begun) is not None:
            return
        waiting = (s for s in self._reading.sessions if s.is_begun_by_peer and s.live is None)
        pair = next(waiting, None)
        if pair is None:
            channel = frame.channel
            self._unmatched("begin", [make_frame("begin", _answer_to_begin(channel), channel),
                                      make_frame("end", _refusal(), channel)])  # fmt: skip
            return
        live.bind_session(pair, begun)

    def _end(self, frame: Frame, session: SessionPair | None, link: LinkPair | None) -> None:
        if session is None:
            return
        session.has_peer_end = True
        session.kill()
        is_answered = session.has_own_end or session.is_end_due or session.is_end_captured
        if not is_answered:
            session.has_own_end = True
            self._answer(make_frame("end", {}, session.own_channel or 0))

    def _close(self, frame: Frame, session: SessionPair | None, link: LinkPair | None) -> None:
        self._live.is_close_answered |= self._live.has_own_close
        self._live.has_peer_close = True
        self._live.peer_close_count += 1
        for pair in self._reading.sessions:
            pair.kill()

    # -- links ----------------------------------------------------------------------------

    def _attach(self, frame: Frame, session: SessionPair | None, link: LinkPair | None) -> None:
        live = self._live
        attached = link_at(
            live.model.session(live.peer_side, frame.channel),
            live.peer_side,
            frame.uint("handle"),
        )
        if session is None or attached is None:
            return
        pair = live.link_of(attached)
        if pair is None and attach_of(attached, live.side) is None:
            pair = captured_link(frame, session, self._engine.rewriter)
            if pair is None:
                self._refuse_link(frame, session)
                return
            live.bind_link(pair, attached)
        if pair is not None and pair.peer_attach is not None:
            self._learn_addresses(frame, pair)

    def _refuse_link(self, frame: Frame, session: SessionPair) -> None:
        channel = session.own_channel or 0
        handle = max((link.own_handle or 0 for link in session.links), default=0) + 1
        attach = {"name": frame.text("name"), "handle": handle, "role": not frame.flag("role")}
        if frame.flag("role"):
            attach["initial-delivery-count"] = 0
        detach = {"handle": handle, "closed": True, **_refusal()}
        answers = [make_frame("attach", attach, channel), make_frame("detach", detach, channel)]
        termini = " → ".join(str(address) for address in termini_of(frame))
        self._unmatched(f"attach {frame.text('name')} ({termini})", answers, session)

    def _learn_addresses(self, frame: Frame, pair: LinkPair) -> None:
        """What the capture's peer called a node and the live one calls otherwise."""
        assert pair.peer_attach is not None
        rewriter = self._engine.rewriter
        for name in ("source", "target"):
            captured, live = address_in(pair.peer_attach, name), address_in(frame, name)
            is_made = pair.is_attached_by_peer or is_dynamic(pair.own_attach, name)
            if is_made and captured and live:
                rewriter.learn(captured, live)

    def _detach(self, frame: Frame, session: SessionPair | None, link: LinkPair | None) -> None:
        if link is None:
            return
        link.has_peer_detach = True
        link.kill()
        is_answered = link.has_own_detach or link.is_detach_due or link.is_detach_captured
        if not is_answered and link.own_handle is not None:
            link.has_own_detach = True
            fields = {"handle": link.own_handle, "closed": frame.flag("closed")}
            self._answer(make_frame("detach", fields, link.session.own_channel or 0))

    def _flow(self, frame: Frame, session: SessionPair | None, link: LinkPair | None) -> None:
        if frame.flag("echo"):
            self._engine.note("echo", "the peer asked for a flow in return")

    # -- messages -------------------------------------------------------------------------

    def _transfer(self, frame: Frame, session: SessionPair | None, link: LinkPair | None) -> None:
        if link is None:
            return
        if not link.parts:
            link.coming_id = frame.uint("delivery-id")
        link.parts.append(frame.payload)
        if frame.flag("more") and not frame.flag("aborted"):
            return
        payload = b"".join(link.parts)
        link.parts = []
        if not frame.flag("aborted"):
            self._arrive(link, link.coming_id, payload)

    def _arrive(self, link: LinkPair, live_id: int | None, payload: bytes) -> None:
        """A whole message: which captured one is it?"""
        properties = section_of(payload, PROPERTIES)
        delivery = link.take(digest_of(self._live.captured_words(payload)))
        link.arrived_count += 1
        if delivery is not None:
            self._live.match(delivery, live_id, properties)
        elif link.arrived_count > len(link.deliveries):
            self._extra(link)
        else:
            link.strangers.append(Stranger(live_id, properties))

    def _extra(self, link: LinkPair) -> None:
        detail = {"handle": link.own_handle, "closed": True, **_refusal()}
        answer = [make_frame("detach", detail, link.session.own_channel or 0)]
        self._unmatched(f"message {link.arrived_count} on {link.title}", answer)

    def _disposition(
        self, frame: Frame, session: SessionPair | None, link: LinkPair | None
    ) -> None:
        first = frame.uint("first")
        if session is None or first is None:
            return
        if not frame.flag("role"):
            for settled in ids_in_range(session.peer_unsettled, first, frame.uint("last")):
                settled.is_settled = True
            return
        for delivery in ids_in_range(session.own_unanswered, first, frame.uint("last")):
            if delivery.captured_txn is not None:
                txn = declared_txn(frame.raw("state"))
                if txn is not None:
                    self._live.txns[delivery.captured_txn] = txn
            delivery.is_answered = True
            self._live.answered_count += 1
            assert delivery.live_id is not None
            del session.own_unanswered[delivery.live_id]

    # -- what the capture does not have ---------------------------------------------------

    def _unmatched(
        self, what: str, refusal: list[bytes], session: SessionPair | None = None
    ) -> None:
        engine = self._engine
        engine.note("unmatched", f"not in the capture: {what}", "soft")
        if engine.role != "server":
            return
        if engine.settings.unmatched == "error":
            if session is not None and not self._live.has_own_begun(session):
                session.deferred += refusal
                return
            for octets in refusal:
                self._answer(octets)
        elif engine.settings.unmatched == "close":
            self._answer(make_frame("close", _refusal()))


def _refusal() -> dict[str, Any]:
    fields = {"condition": NOT_CAPTURED, "description": "not in the capture"}
    return {"error": STANDARD.encode("error", fields)}


def _answer_to_begin(channel: int) -> dict[str, Any]:
    return {
        "remote-channel": channel,
        "next-outgoing-id": 0,
        "incoming-window": 0,
        "outgoing-window": 0,
    }


_HANDLERS: dict[str, Callable[[Listener, Frame, SessionPair | None, LinkPair | None], None]] = {
    "open": Listener._open,
    "begin": Listener._begin,
    "attach": Listener._attach,
    "flow": Listener._flow,
    "transfer": Listener._transfer,
    "disposition": Listener._disposition,
    "detach": Listener._detach,
    "end": Listener._end,
    "close": Listener._close,
}
