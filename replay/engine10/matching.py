"""Which captured link is it that the live peer attaches? Clients make names up anew each time."""

from __future__ import annotations

from replay.fields10 import shape
from replay.rewrite import Rewriter

from .frame import Frame
from .octets import boolean_of, text_of
from .pairs import LinkPair, SessionPair

_ADDRESS, _DYNAMIC = 0, 4
_COORDINATOR = 0x30
_TERMINI = ("source", "target")


def captured_link(frame: Frame, session: SessionPair, rewriter: Rewriter) -> LinkPair | None:
    """By name, by addresses, and by addresses that differ only in what clients make up."""

    def addresses(attach: Frame) -> tuple[object, ...]:
        return tuple(rewriter.back(a) if isinstance(a, str) else a for a in termini_of(attach))

    candidates = [
        pair
        for pair in session.links
        if pair.is_attached_by_peer and pair.live is None and pair.peer_attach is not None
        and pair.is_own_sender == frame.flag("role")
    ]  # fmt: skip
    for alike in (_name_of, addresses, _shapes):
        for pair in candidates:
            assert pair.peer_attach is not None
            if alike(frame) == alike(pair.peer_attach):
                return pair
    return None


def address_in(frame: Frame | None, name: str) -> str | None:
    """The address of a terminus in an attach."""
    terminus = None if frame is None else frame.composite(name)
    return None if terminus is None else text_of(terminus.item(_ADDRESS))


def is_dynamic(frame: Frame | None, name: str) -> bool:
    """Whether an attach asks the peer to make the node (1.0 §3.5.3)."""
    terminus = None if frame is None else frame.composite(name)
    return terminus is not None and boolean_of(terminus.item(_DYNAMIC))


def _name_of(frame: Frame) -> str | None:
    return frame.text("name")


def termini_of(frame: Frame) -> tuple[object, ...]:
    """Source and target: the address, or what stands for it."""
    out: list[object] = []
    for name in _TERMINI:
        terminus = frame.composite(name)
        if terminus is not None and terminus.code == _COORDINATOR:
            out.append(("coordinator",))
        elif is_dynamic(frame, name):
            out.append(("dynamic",))
        else:
            out.append(address_in(frame, name))
    return tuple(out)


def _shapes(frame: Frame) -> tuple[object, ...]:
    return tuple(shape(a) if isinstance(a, str) else a for a in termini_of(frame))
