"""Captured things and their live counterparts: sessions, links and deliveries.

The captured half is filled when the capture is read, the live half while it is replayed. Channels
and handles of our own are kept as captured; the peer's are its own choice. Pairs hold no rules.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .frame import Frame


class SessionPair:
    """A captured session and the live one that stands for it."""

    __slots__ = (
        "captured",
        "deferred",
        "has_own_end",
        "has_peer_end",
        "is_begun_by_peer",
        "is_dead",
        "is_end_captured",
        "is_end_due",
        "is_mute",
        "is_synthetic",
        "links",
        "live",
        "own_channel",
        "own_unanswered",
        "peer_unsettled",
        "skipped_ids",
    )

    def __init__(self, captured: Any) -> None:
        self.captured = captured
        self.own_channel: int | None = None
        self.is_begun_by_peer = False
        # Begun before the capture was: we have to begin it in our own words.
        self.is_synthetic = False
        self.links: list[LinkPair] = []
        # The capture has an end of the peer.
        self.is_end_captured = False
        # The capture has an end of ours that is still to come; we have sent one.
        self.is_end_due = False
        self.has_own_end = False
        self.has_peer_end = False
        self.live: Any | None = None
        # Ended by the peer, or never answered: nothing more is sent on it.
        self.is_dead = False
        self.is_mute = False
        # Our deliveries that were not sent: the ids behind them move up (1.0 §2.8.8).
        self.skipped_ids = 0
        # By live delivery-id: our deliveries that the live peer has not answered yet.
        self.own_unanswered: dict[int, OwnDelivery] = {}
        # By live delivery-id: the peer's deliveries that it will settle itself.
        self.peer_unsettled: dict[int, PeerDelivery] = {}

        # Answers that have to wait until we have begun the session ourselves.
        self.deferred: list[bytes] = []

    def mute(self) -> None:
        """An outcome or a window did not come in time: no second wait for its like."""
        self.is_mute = True

    def kill(self) -> None:
        """Nothing more happens on it, nor on its links."""
        self.is_dead = True
        for link in self.links:
            link.kill()


class LinkPair:
    """A captured link and the live one that stands for it."""

    __slots__ = (
        "arrived_count",
        "captured",
        "coming_id",
        "deliveries",
        "has_own_detach",
        "has_peer_detach",
        "is_attached_by_peer",
        "is_dead",
        "is_detach_captured",
        "is_detach_due",
        "is_drained",
        "is_dry",
        "is_own_sender",
        "is_settling",
        "live",
        "own_attach",
        "own_handle",
        "parts",
        "peer_attach",
        "session",
        "strangers",
        "unmatched",
    )

    def __init__(self, session: SessionPair, captured: Any, own_side: int) -> None:
        self.session = session
        self.captured = captured
        self.is_own_sender = captured.sender == own_side
        self.own_handle: int | None = None
        self.is_attached_by_peer = False
        # Without our captured attach neither name nor address is known.
        self.own_attach: Frame | None = None
        self.peer_attach: Frame | None = None
        # Captured: what the peer sent on it.
        self.deliveries: list[PeerDelivery] = []
        # The capture has a detach of the peer.
        self.is_detach_captured = False
        # The capture has a detach of ours that is still to come; we have sent one.
        self.is_detach_due = False
        self.has_own_detach = False
        self.has_peer_detach = False
        # While the capture is read: the peer's flow gives up credit.
        self.is_drained = False
        self.live: Any | None = None
        self.is_dead = False
        self.is_dry = False
        # The peer settles, as captured, what we have stated an outcome for (1.0 §2.6.12).
        self.is_settling = True
        # Live: the delivery that is coming in, and how many have come.
        self.coming_id: int | None = None
        self.parts: list[bytes] = []
        self.arrived_count = 0
        # Captured deliveries without a live one yet, by content; live ones without a captured one.
        self.unmatched: dict[bytes, list[PeerDelivery]] = {}
        self.strangers: list[Stranger] = []

    def dry_up(self) -> None:
        """Credit or a delivery did not come in time: no second wait for its like."""
        self.is_dry = True

    def kill(self) -> None:
        """Nothing more happens on it: nobody will answer what we sent."""
        self.is_dead = True
        waiting = self.session.own_unanswered
        for live_id in [i for i, delivery in waiting.items() if delivery.link is self]:
            waiting.pop(live_id).is_answered = True

    def take(self, digest: bytes) -> PeerDelivery | None:
        """The next captured delivery with this content."""
        alike = self.unmatched.get(digest)
        return alike.pop(0) if alike else None

    def take_stranger(self, delivery: PeerDelivery) -> Stranger | None:
        """For a captured delivery whose turn has come: what came with content of its own."""
        if delivery.live_id is not None or not self.strangers:
            return None
        if self.arrived_count <= delivery.ordinal:
            return None
        self.unmatched[delivery.digest].remove(delivery)
        return self.strangers.pop(0)

    @property
    def title(self) -> str:
        address = self.captured.address
        return f"link {address or self.captured.name or self.own_handle}"


class Stranger(NamedTuple):
    """A live message whose content the capture does not have."""

    live_id: int | None
    properties: bytes


class OwnDelivery:
    """A message that our side sent in the capture."""

    __slots__ = (
        "captured_txn",
        "frames",
        "held",
        "is_answered",
        "is_skipped",
        "link",
        "live_id",
        "payloads",
    )

    def __init__(self, link: LinkPair) -> None:
        self.link = link
        # The transaction that the captured peer declared for it, on a coordinator link.
        self.captured_txn: bytes | None = None
        self.frames: list[Frame] = []
        self.live_id: int | None = None
        # The live peer stated an outcome or settled it, or nobody will any more.
        self.is_answered = False
        self.is_skipped = False
        # What its frames carry live where names in it had to change; None where not.
        self.payloads: list[bytes] | None = None
        # Semantic mode: frames kept until the message is whole.
        self.held: list[bytes] = []


class PeerDelivery:
    """A message that the peer sent in the capture; `live_id` once its counterpart has come."""

    __slots__ = (
        "digest",
        "is_given_up",
        "is_settled",
        "is_settlement_due",
        "link",
        "live_id",
        "ordinal",
        "properties",
    )

    def __init__(self, link: LinkPair, ordinal: int, digest: bytes, properties: bytes) -> None:
        self.link = link
        self.ordinal = ordinal
        self.digest = digest
        # The octets of its `properties` section: what the live peer may number otherwise.
        self.properties = properties
        # The sender has the last word on it in the capture; it has had it live.
        self.is_settlement_due = False
        self.is_settled = False
        self.live_id: int | None = None
        self.is_given_up = False

    @property
    def has_come(self) -> bool:
        """It, or as many as it would have been; or nothing will come any more."""
        link = self.link
        return (
            self.live_id is not None
            or self.is_given_up
            or link.is_dead
            or link.arrived_count > self.ordinal
        )
