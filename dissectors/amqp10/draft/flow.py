"""The flow-state of the draft (Book III §6.6, §8.6): credit in transfer-units, session credit, and
settlement by the low-water mark. It comes with attach, flow and transfer frames.

Session credit is told in the columns of the session windows: both say how many transfers may
still be sent, though the draft counts unsettled ones and the published version frames.
"""

from __future__ import annotations

from typing import Any

from dissectors.core.rows import NULL_CELL
from dissectors.core.words import word

from ..composites import Composite
from ..delivery import DeliveryState
from ..serial import serial_add, serial_diff
from ..state import ConnectionState

_SENDER, _RECEIVER = word("sender"), word("receiver")
_IMPLICIT = word("implicit")
#: Outcomes that senders proposed with unsettled transfers; the oldest are forgotten beyond it.
MAX_PROPOSED = 65_536


class FlowStates:
    """Follows the flow-states of one connection."""

    def __init__(self, state: ConnectionState) -> None:
        self._state = state
        self._proposed: dict[int, str] = {}

    def propose(self, delivery: Any, outcome: str) -> None:
        """The outcome that a sender gave with an unsettled transfer: what the receiver agrees to
        by settling it without another word (discussion paper §2.3.5)."""
        if len(self._proposed) >= MAX_PROPOSED:
            del self._proposed[next(iter(self._proposed))]
        self._proposed[delivery.transfer_id] = outcome

    def attached(self, session: Any, link: Any, side: int, flow: Any) -> None:
        """The initial flow-state; a receiver may grant credit with it."""
        if not isinstance(flow, Composite):
            return
        self.settle_below(session, link, side, flow["unsettled-lwm"])
        if side != link.sender and flow["link-credit"] is not None:
            self._state_flow(session, link, side, flow, False)
        else:
            self._set_session_credit(session, link, flow["session-credit"])

    def flowed(self, session: Any, link: Any, side: int, flow: Any, echo: bool) -> None:
        """A flow frame."""
        if isinstance(flow, Composite):
            self.settle_below(session, link, side, flow["unsettled-lwm"])
            self._state_flow(session, link, side, flow, echo)

    def transferred(self, session: Any, link: Any, side: int, flow: Any) -> None:
        """A transfer's flow-state counts the transfer in; it is news only where it differs from
        what was counted here."""
        if not isinstance(flow, Composite):
            return
        self.settle_below(session, link, side, flow["unsettled-lwm"])
        self._set_session_credit(session, link, flow["session-credit"])
        count = flow["transfer-count"]
        if flow["available"] is not None or count not in (None, link.delivery_count):
            self._state_flow(session, link, side, flow, False)

    def settle_below(self, session: Any, link: Any, side: int, mark: int | None) -> None:
        """All transfers of the session in the link's direction that are older than the mark are
        settled for the side that says so, with the outcome agreed on before."""
        if mark is None:
            return
        by = _SENDER if side == link.sender else _RECEIVER
        unsettled = self._state.end_of(session, link.sender).unsettled
        while (delivery := unsettled.oldest()) is not None:
            if serial_diff(delivery.delivery_id, mark) >= 0:
                return
            self._settle(delivery, by)

    def _settle(self, delivery: Any, by: int) -> None:
        proposed = self._proposed.pop(delivery.transfer_id, None)
        agreed = proposed or delivery.link.default_outcome
        if delivery.outcome is None and agreed is not None:
            self._state.apply_state(delivery, DeliveryState(agreed, agreed))
        self._state.settle(delivery, by, _IMPLICIT)

    def use_units(self, link: Any, sent_bytes: int, size: int, is_last: bool) -> None:
        """Count a transfer's payload of `size` octets after `sent_bytes` of the same message
        (Book III §7.3, transfer-unit). The state model itself counts one for a whole message."""
        receiver = link.attach_0 if link.sender else link.attach_1
        unit = None if receiver is None else receiver.get("transfer_unit")
        if not unit or link.delivery_count == NULL_CELL:
            return
        before, after = sent_bytes // unit, (sent_bytes + size) // unit
        if is_last:
            after = max(-(-(sent_bytes + size) // unit), 1) - 1
        link.delivery_count = serial_add(link.delivery_count, after - before)
        if link.receiver_credit != NULL_CELL:
            link.receiver_credit -= after - before

    def _state_flow(self, session: Any, link: Any, side: int, flow: Composite, echo: bool) -> None:
        session_credit = _number(flow["session-credit"])
        is_sender = side == link.sender
        self._set_session_credit(session, link, flow["session-credit"])
        self._state.flow(
            session,
            link,
            side,
            -1,
            -1 if is_sender else session_credit,
            -1,
            session_credit if is_sender else -1,
            _number(flow["transfer-count"]),
            _number(flow["link-credit"]),
            _number(flow["available"]),
            int(bool(flow["drain"])),
            int(echo),
        )

    def _set_session_credit(self, session: Any, link: Any, credit: int | None) -> None:
        if credit is not None:
            self._state.end_of(session, link.sender).remote_window = credit


def _number(data: int | None) -> int:
    return -1 if data is None else data
