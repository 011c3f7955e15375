"""What the capture holds for an engine: our steps as acts, and the peer's doings as expectations.

Plain data. Each act knows how much the peer had done before it, by counts into the lists of the
`Reading`: that is what causality is checked against.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from replay.script import Step

from .frame import Frame
from .pairs import LinkPair, OwnDelivery, PeerDelivery, SessionPair


@dataclass(slots=True)
class Before:
    """How many of each the peer had done."""

    replies: int = 0
    deliveries: int = 0
    outcomes: int = 0


@dataclass(slots=True)
class Act:
    """One of our frames."""

    step: Step
    frame: Frame
    before: Before
    session: SessionPair | None = None
    link: LinkPair | None = None
    # We sent it after our own close, which should have been our last word (1.0 §2.4.3).
    is_afterword: bool = False
    # transfer, disposition: what declared the transaction that it is part of, or ends
    declare: OwnDelivery | None = None
    # transfer
    delivery: OwnDelivery | None = None
    is_first: bool = False
    is_last: bool = False
    # The capture itself shows the sender without credit: that is what is to be repeated.
    is_overdraft: bool = False
    # disposition: the deliveries of ours in its range, those of them that the peer had answered
    # before, and the peer's deliveries in its range.
    ours: list[OwnDelivery] = field(default_factory=list)
    answered: list[OwnDelivery] = field(default_factory=list)
    peer: list[PeerDelivery] = field(default_factory=list)
    # flow: the session's and the link's limit, counted from the peer's first transfer and the
    # link's first delivery, the deliveries that had come on it, and whether we as the sender
    # gave up credit (drain).
    window_limit: int | None = None
    limit: int | None = None
    link_deliveries: int = 0
    gives_up: bool = False

    @property
    def name(self) -> str:
        return self.frame.name


@dataclass(slots=True)
class Reply:
    """The peer opened, began, attached, detached, ended or closed; had the last word on one of
    its deliveries; or gave up its credit when it was drained."""

    name: str
    step: Step
    session: SessionPair | None = None
    link: LinkPair | None = None
    delivery: PeerDelivery | None = None
    is_given_up: bool = False
    # It came after the peer's close, which should have been its last word (1.0 §2.4.3).
    is_afterword: bool = False


@dataclass(slots=True)
class Outcome:
    """The peer stated an outcome of one of our deliveries, or settled it."""

    delivery: OwnDelivery
    step: Step
