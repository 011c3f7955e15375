"""Frames of the draft by its tables: each frame's row, what is wrong with it, and what it does to
the state model (Book III §7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from dissectors.core.rows import NULL_CELL, cell_of
from dissectors.tables import FRAMES

from .. import lifecycle
from ..composites import Composite
from ..delivery import DeliveryState
from ..layers import Layers
from ..meaning import error_words
from ..rare import RareFrames
from ..render import composite_tree
from ..serial import serial_diff
from ..state import ConnectionState
from .definitions import SECTION_CODES
from .flow import FlowStates
from .meaning import attach_words, transfer_state
from .message import MessageReader, read_fragments
from .vocabulary import DRAFT

_DELIVERY_TAG = cell_of(FRAMES, "delivery_tag")
#: begin's fields that the sessions table keeps as details.
_BEGIN_DETAILS = frozenset(
    ("options", "offered-capabilities", "desired-capabilities", "properties")
)


class DraftFrames(RareFrames):
    """Takes frames of one connection."""

    IN_COLUMNS: ClassVar = {
        # The message itself is not for the frames table: its fragments are told by size.
        "transfer": frozenset(("delivery-tag", "transfer-id", "settled", "more", "fragments")),
    }

    def __init__(self, state: ConnectionState, layers: Layers) -> None:
        super().__init__(DRAFT, state, layers)
        self._flows = FlowStates(state)

    def _rest(self, frame: Composite) -> dict[str, Any]:
        rest = super()._rest(frame)
        if frame.name == "transfer" and frame["fragments"]:
            fragments, _ = read_fragments(frame["fragments"])
            rest["fragments"] = [
                {
                    "section": SECTION_CODES.get(one.format_code, one.format_code),
                    "first": one.is_first,
                    "last": one.is_last,
                    "offset": one.offset,
                    "bytes": one.size,
                }
                for one in fragments
            ]
        return rest

    # -- what each frame does -------------------------------------------------------------

    def _begin(self, base: int, side: int, frame: Composite, where: Any) -> None:
        details = composite_tree(DRAFT, frame, frozenset(frame.fields) - _BEGIN_DETAILS)
        session = lifecycle.begin(
            self._state, side, where[0], frame["remote-channel"], None, None, None, None, details
        )
        self._put(base, "session_id", session.session_id)

    def _attach(self, base: int, side: int, frame: Composite, where: Any) -> None:
        if frame["name"] is None or frame["handle"] is None or frame["role"] is None:
            return
        session = self._state.session_of(side, where[0])
        link = lifecycle.attach(self._state, session, side, attach_words(DRAFT, frame))
        self._flows.attached(session, link, side, frame["flow-state"])
        self._identify(base, session, link)
        self._show_credit(base, frame["flow-state"])

    def _detach(self, base: int, side: int, frame: Composite, where: Any) -> None:
        """Book III §6.5: without a local linkage the endpoint is gone for good."""
        session = self._state.session_of(side, where[0])
        self._put(base, "session_id", session.session_id)
        if frame["handle"] is None:
            return
        error = error_words(frame["error"])
        is_closed = frame["local"] is None
        link = lifecycle.detach(self._state, session, side, frame["handle"], is_closed, error)
        if link is not None:
            self._put(base, "link_id", link.link_id)

    def _flow(self, base: int, side: int, frame: Composite, where: Any) -> None:
        if frame["handle"] is None:
            return
        session = self._state.session_of(side, where[0])
        flow = frame["flow-state"]
        # A link that was not seen to attach: who grants receives.
        is_grant = isinstance(flow, Composite) and flow["link-credit"] is not None
        link = self._state.link_of(session, side, frame["handle"], 1 - side if is_grant else side)
        self._flows.flowed(session, link, side, flow, bool(frame["echo"]))
        self._identify(base, session, link)
        self._show_credit(base, flow)

    def _transfer(self, base: int, side: int, frame: Composite, where: Any) -> None:
        if frame["handle"] is None:
            return
        state = self._state
        session = state.session_of(side, where[0])
        link = state.link_of(session, side, frame["handle"], side)
        fragments, payload = read_fragments(frame["fragments"])
        number = -1 if frame["transfer-id"] is None else frame["transfer-id"]
        begun = link.current
        is_new = begun is None or (number >= 0 and begun.delivery_id != number)
        reader: MessageReader = state.reader
        reader.add(link.link_id, fragments, is_new)
        sent_bytes = 0 if is_new else begun.message_bytes
        if not frame["aborted"]:
            self._flows.use_units(link, sent_bytes, len(payload), not frame["more"])
        delivery = self._tell_transfer(session, link, side, frame, number, payload, is_new)
        self._flows.transferred(session, link, side, frame["flow-state"])
        self._identify(base, session, link)
        self._put(base, "transfer_id", delivery.transfer_id)
        self._put(base, "delivery_id", frame["transfer-id"])
        if frame["delivery-tag"] is not None:
            tag = frame["delivery-tag"].hex().encode()
            state.conn.frames.put_string(base, _DELIVERY_TAG, tag)
        self._put(base, "is_settled", int(bool(frame["settled"])))
        self._put(base, "is_more", int(bool(frame["more"])))
        stated = transfer_state(frame["state"])
        self._put(base, "outcome", None if stated is None else stated.word)
        self._put(base, "body_bytes", len(payload))
        self._show_credit(base, frame["flow-state"])

    def _tell_transfer(
        self, session: Any, link: Any, side: int, frame: Composite, number: int, payload: bytes,
        is_new: bool,
    ) -> Any:  # fmt: skip
        """Tell the state model. Only the first frame of an unsettled transfer uses session
        credit (discussion paper, table 3), whereas the model counts every frame."""
        stated = transfer_state(frame["state"])
        proposed = None
        if stated is not None and stated.outcome is not None and not frame["settled"]:
            proposed = stated.outcome
            stated = DeliveryState(stated.name, txn_id=stated.txn_id)
        elif frame["settled"] and (stated is None or stated.outcome is None):
            default = link.default_outcome
            txn_id = None if stated is None else stated.txn_id
            stated = None if default is None else DeliveryState(default, default, txn_id=txn_id)
        end = self._state.end_of(session, side)
        is_free = not is_new or bool(frame["settled"])
        credit = end.remote_window
        if is_free:
            end.remote_window = NULL_CELL
        delivery = self._state.transfer(
            session,
            link,
            side,
            number,
            frame["delivery-tag"],
            -1,
            int(bool(frame["settled"])),
            int(bool(frame["more"])),
            int(bool(frame["resume"])),
            int(bool(frame["aborted"])),
            stated,
            payload,
            0,
            len(payload),
        )
        if is_free:
            end.remote_window = credit
        if proposed is not None and not delivery.is_settled:
            self._flows.propose(delivery, proposed)
        return delivery

    def _disposition(self, base: int, side: int, frame: Composite, where: Any) -> None:
        extents = [e for e in frame["extents"] or () if _is_extent(e)]
        if frame["role"] is None:
            return
        session = self._state.session_of(side, where[0])
        self._put(base, "session_id", session.session_id)
        found = None
        for extent in extents:
            found = self._extent(session, side, bool(frame["role"]), extent) or found
        if found is not None:
            self._put(base, "link_id", found.link.link_id)
            self._put(base, "transfer_id", found.transfer_id)
        if len(extents) == 1:
            stated = transfer_state(extents[0]["state"])
            self._put(base, "delivery_id", extents[0]["first"])
            self._put(base, "delivery_last", extents[0]["last"])
            self._put(base, "is_settled", int(bool(extents[0]["settled"])))
            self._put(base, "outcome", None if stated is None else stated.word)

    def _extent(self, session: Any, side: int, is_receiver: bool, extent: Composite) -> Any:
        """One range of transfer-ids, of one link if it names a handle (Book III §8.10)."""
        stated = transfer_state(extent["state"])
        owner = self._state.end_of(session, 1 - side if is_receiver else side)
        link = self._state.end_of(session, side).links.get(extent["handle"])
        found = None
        for first, last in _ranges(owner, link, extent["first"], extent["last"]):
            told = stated
            delivery = owner.unsettled.get(first)
            if stated is not None and delivery is not None and delivery.link.is_coordinator:
                # The txn-id is the answer of the coordinator, not where the request belongs.
                told = DeliveryState(
                    stated.name, stated.outcome, stated.condition, declared_txn=stated.txn_id
                )
            touched = self._state.disposition(
                session, side, int(is_receiver), first, last, int(bool(extent["settled"])), told
            )
            found = found or touched
        return found

    # -- columns --------------------------------------------------------------------------

    def _identify(self, base: int, session: Any, link: Any) -> None:
        self._put(base, "session_id", session.session_id)
        self._put(base, "link_id", link.link_id)

    def _show_credit(self, base: int, flow: Any) -> None:
        if isinstance(flow, Composite):
            self._put(base, "link_credit", flow["link-credit"])
            self._put(base, "delivery_count", flow["transfer-count"])


def _is_extent(data: Any) -> bool:
    return isinstance(data, Composite) and data.name == "extent" and data["first"] is not None


def _ranges(owner: Any, link: Any, first: int, last: int | None) -> Iterator[tuple[int, int]]:
    """The extent as ranges that hold transfers of its link only."""
    end = first if last is None else last
    count = serial_diff(end, first) + 1
    if link is None or count < 2:
        yield first, -1 if last is None else last
        return
    steps = [(serial_diff(d.delivery_id, first), d) for d in owner.unsettled.deliveries()]
    within = sorted((step, d.delivery_id, d.link is link) for step, d in steps if 0 <= step < count)
    if all(is_own for _, _, is_own in within):
        yield first, end
        return
    for number in [number for _, number, is_own in within if is_own]:
        yield number, number
