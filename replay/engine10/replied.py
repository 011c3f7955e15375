"""What the live peer has done so far: replied as captured, granted credit, left room to send."""

from __future__ import annotations

from collections.abc import Callable

from .acts import Reply
from .live import Live
from .model import attach_of, credit_of, window_of
from .pairs import LinkPair, SessionPair


def has_credit(link: LinkPair) -> bool:
    credit = None if link.live is None else credit_of(link.live)
    return credit is not None and credit > 0


def has_window(live: Live, session: SessionPair) -> bool:
    window = None if session.live is None else window_of(session.live, live.side)
    return window is None or window > 0


def has_replied(live: Live, reply: Reply) -> bool:
    """It has come, or need not be waited for any more."""
    if reply.is_given_up:
        return True
    if live.has_peer_close:
        is_owed = reply.is_afterword or _is_asked_for(live, reply)
        return not is_owed or _has_said(live, reply)
    return _REPLIED[reply.name](live, reply)


def _is_asked_for(live: Live, reply: Reply) -> bool:
    """An answer to our own detach or end. Some brokers send it after their answer to our close."""
    if not live.is_close_answered:
        return False
    if reply.name == "detach":
        return reply.link is not None and reply.link.has_own_detach
    return reply.name == "end" and reply.session is not None and reply.session.has_own_end


def _has_said(live: Live, reply: Reply) -> bool:
    said = _SAID.get(reply.name)
    return said is None or said(live, reply)


def _has_begun(live: Live, reply: Reply) -> bool:
    session = reply.session
    return session is None or session.is_dead or live.has_peer_begun(session)


def _has_attached(live: Live, reply: Reply) -> bool:
    link = reply.link
    if link is None or link.is_dead or link.session.is_dead:
        return True
    return link.live is not None and attach_of(link.live, live.peer_side) is not None


def _is_settled(live: Live, reply: Reply) -> bool:
    delivery = reply.delivery
    if delivery is None or delivery.link.is_dead or not delivery.link.is_settling:
        return True
    is_hopeless = delivery.is_given_up or (delivery.link.is_dry and delivery.live_id is None)
    return delivery.is_settled or is_hopeless


def _is_drained(live: Live, reply: Reply) -> bool:
    link = reply.link
    if link is None or link.is_dead or link.live is None:
        return True
    return not has_credit(link)


#: What the peer really said, whatever its close has ended.
_SAID: dict[str, Callable[[Live, Reply], bool]] = {
    "detach": lambda live, reply: reply.link is None or reply.link.has_peer_detach,
    "end": lambda live, reply: reply.session is None or reply.session.has_peer_end,
    "close": lambda live, reply: live.peer_close_count > 1,
}
_REPLIED: dict[str, Callable[[Live, Reply], bool]] = {
    "open": lambda live, reply: live.peer_open is not None,
    "begin": _has_begun,
    "attach": _has_attached,
    "detach": lambda live, reply: reply.link is None or reply.link.is_dead,
    "end": lambda live, reply: reply.session is None or reply.session.is_dead,
    "close": lambda live, reply: live.has_peer_close,
    "settlement": _is_settled,
    "drained credit": _is_drained,
}
