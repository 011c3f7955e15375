"""Frames for what happened before the capture began: an open, and the begin of a session.

A link cannot be made up: its address is in its attach only.
"""

from __future__ import annotations

from collections.abc import Iterable

from .acts import Act
from .frame import make_frame
from .pairs import SessionPair

CONTAINER_ID = "amqpscope-replay"
#: Room enough: what limits the peer is the capture's own flow frames.
_WINDOW = 0x7FFF_FFFF


def synthetic_open(copy_no: int | None) -> bytes:
    """An open without any demands."""
    container = CONTAINER_ID if copy_no is None else f"{CONTAINER_ID}-{copy_no}"
    return make_frame("open", {"container-id": container})


def synthetic_begin(session: SessionPair, acts: Iterable[Act]) -> bytes:
    """A begin on the captured channel. The first delivery-id may be held to be the
    next-outgoing-id, so that it is given as such."""
    ids = (
        act.frame.uint("delivery-id")
        for act in acts
        if act.session is session and act.name == "transfer" and act.is_first
    )
    fields = {
        "next-outgoing-id": next((i for i in ids if i is not None), 0),
        "incoming-window": _WINDOW,
        "outgoing-window": _WINDOW,
    }
    return make_frame("begin", fields, session.own_channel or 0)
