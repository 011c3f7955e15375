"""The live connection as far as it has come: what both sides have said of it."""

from __future__ import annotations

from typing import Any

from .content import Names
from .frame import Frame
from .model import Model, endpoint
from .octets import binary_of, read_composite, text_of
from .pairs import LinkPair, PeerDelivery, SessionPair

#: Fields of `properties` that a live peer makes up anew: message-id, reply-to, correlation-id,
#: group-id, reply-to-group-id (1.0 §3.2.4).
_MADE_UP = (0, 4, 5, 10, 12)
#: 1.0 §2.7.1: no limit where none is stated.
NO_LIMIT = 0xFFFF_FFFF
_NS_PER_MS = 1_000_000


class Live:
    """Shared by the parts of an engine: they change it, it decides nothing."""

    def __init__(self, connection_id: str, side: int) -> None:
        self.side = side
        self.model = Model(connection_id)
        self.has_own_open = False
        self.has_own_close = False
        self.peer_open: Frame | None = None
        self.has_peer_close = False
        self.peer_close_count = 0
        # The peer's close came after ours.
        self.is_close_answered = False
        self.sessions: dict[int, SessionPair] = {}
        self.links: dict[int, LinkPair] = {}
        self.names = Names()
        # Captured txn-id → live one.
        self.txns: dict[bytes, bytes] = {}
        self.max_frame_bytes = NO_LIMIT
        self.idle_ns: int | None = None
        self.answered_count = 0

    @property
    def peer_side(self) -> int:
        return 1 - self.side

    def see_open(self, frame: Frame, own_limit: int | None) -> None:
        """The peer's limits hold for what we send (1.0 §2.7.1)."""
        self.peer_open = frame
        stated = frame.uint("max-frame-size")
        self.max_frame_bytes = min(stated or NO_LIMIT, own_limit or NO_LIMIT)
        idle_ms = frame.uint("idle-time-out")
        self.idle_ns = idle_ms * _NS_PER_MS if idle_ms else None

    def bind_session(self, pair: SessionPair, session: Any) -> None:
        pair.live = session
        self.sessions[session.session_id] = pair

    def bind_link(self, pair: LinkPair, link: Any) -> None:
        pair.live = link
        self.links[link.link_id] = pair

    def session_of(self, session: Any | None) -> SessionPair | None:
        return None if session is None else self.sessions.get(session.session_id)

    def link_of(self, link: Any | None) -> LinkPair | None:
        return None if link is None else self.links.get(link.link_id)

    def has_peer_begun(self, pair: SessionPair) -> bool:
        return pair.live is not None and bool(endpoint(pair.live, self.peer_side).has_begun)

    def has_own_begun(self, pair: SessionPair) -> bool:
        return pair.live is not None and bool(endpoint(pair.live, self.side).has_begun)

    def transaction_names(self) -> Names:
        """What a coordinator's messages speak of: transactions by their live ids."""
        names = Names()
        names.whole = self.txns
        return names

    def captured_words(self, payload: bytes) -> bytes:
        """A live message as the capture would have it."""
        names = self.names
        return names.reversed().applied(payload) if names.whole or names.generated else payload

    def match(self, delivery: PeerDelivery, live_id: int | None, properties: bytes) -> None:
        """This is what the captured delivery is here."""
        delivery.live_id = live_id
        if delivery.is_settlement_due and live_id is not None:
            delivery.link.session.peer_unsettled[live_id] = delivery
        if delivery.properties and properties != delivery.properties:
            self._learn_properties(delivery.properties, properties)

    def settle_for(self, delivery: PeerDelivery) -> None:
        """No message with its content came in its turn: take the one that did."""
        stranger = delivery.link.take_stranger(delivery)
        if stranger is not None:
            self.match(delivery, *stranger)

    def _learn_properties(self, captured: bytes, live: bytes) -> None:
        """Identifiers that the live peer made up: our answers must speak of them."""
        one, other = (read_composite(octets, 0, len(octets)) for octets in (captured, live))
        if one is None or other is None:
            return
        for place in _MADE_UP:
            old, new = _octets_of(one.item(place)), _octets_of(other.item(place))
            if old and new and old != new and old not in self.names.generated:
                self.names.whole[old] = new


def _octets_of(item: bytes) -> bytes | None:
    text = text_of(item)
    return binary_of(item) if text is None else text.encode()
