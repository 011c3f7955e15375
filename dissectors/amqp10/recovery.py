"""What becomes of a link's deliveries when it goes, and when it comes back (1.0 §2.6.5, §2.6.13,
§3.5.3): settled with the default outcome if the source goes with it, else kept for a resumption.

Works on `ConnectionState` with plain values; how they were encoded is not known here.
"""

from __future__ import annotations

from typing import Any

from dissectors.core.words import word

from .state import ConnectionState

#: The events that end a link, as `end_deliveries` is told of them.
DETACH, CLOSED, END, CLOSE = "detach", "closed", "end", "close"
#: 1.0 §3.5.6: what destroys a terminus, by expiry-policy, when its timeout is zero.
_EXPIRES_AT = {
    "link-detach": frozenset((DETACH, END, CLOSE)),
    "session-end": frozenset((END, CLOSE)),
    "connection-close": frozenset((CLOSE,)),
    "never": frozenset(),
}
#: Deliveries of detached links kept for a resumption.
MAX_SUSPENDED = 65_536

_W_IMPLICIT = word("implicit")


def end_deliveries(state: ConnectionState, link: Any, event: str) -> None:
    """The link goes: settle, suspend or leave what it has unsettled."""
    if link.current is not None:
        state.abandon(link.current)
    if link.is_coordinator:
        # 1.0 §4.2: a control link takes the transactions that it declared with it.
        state.transactions.abandon(link)
    if link.unsettled_count <= 0:
        return
    end_point = state.end_of(link.session, link.sender)
    mine = [d for d in end_point.unsettled.deliveries() if d.link is link]
    is_destroyed = event == CLOSED or _expires(link, event)
    for delivery in mine:
        if is_destroyed and _may_be_settled(state, link, delivery):
            continue
        if is_destroyed:
            delivery.outcome = delivery.outcome or link.default_outcome
            left = link.unsettled_count
            state.settle(delivery, _W_IMPLICIT, _W_IMPLICIT)
            link.unsettled_count = left
        elif link.name is not None and delivery.tag is not None:
            _suspend(state, link, end_point, delivery)


def recover(state: ConnectionState, link: Any, unsettled: dict[bytes, Any] | None) -> None:
    """1.0 §2.6.13: the unsettled map of a resumed link tells states that were lost before."""
    attempts = state.suspended.get((link.name, link.sender))
    if not attempts:
        return
    link.resumes = next(iter(attempts.values())).link.link_id
    for tag, delivery_state in (unsettled or {}).items():
        delivery = attempts.get(tag)
        if delivery is not None and delivery_state is not None:
            state.apply_state(delivery, delivery_state)


def write_suspended(state: ConnectionState) -> None:
    """Nothing will be resumed any more."""
    for attempts in state.suspended.values():
        for delivery in attempts.values():
            state.transfers.write(delivery)
    state.suspended.clear()


def _suspend(state: ConnectionState, link: Any, end_point: Any, delivery: Any) -> None:
    if state.suspended_count >= MAX_SUSPENDED:
        state.forget(delivery)
        return
    state.suspended_count += 1
    end_point.unsettled.drop(delivery.delivery_id)
    state.suspended.setdefault((link.name, link.sender), {})[delivery.tag] = delivery
    delivery.is_done = True


def _may_be_settled(state: ConnectionState, link: Any, delivery: Any) -> bool:
    """Whether the receiver may have settled it in octets that are missing: nothing is said then."""
    lost_ts = state.lost_ts_0 if link.sender else state.lost_ts_1
    return delivery.last_ts <= lost_ts


def _expires(link: Any, event: str) -> bool:
    """Whether the source is destroyed by this event, as the sender's attach says."""
    attach = link.attach_1 if link.sender else link.attach_0
    source = None if attach is None else attach.get("source")
    if not source or source.get("timeout"):
        return False
    return event in _EXPIRES_AT.get(source.get("expiry_policy", "session-end"), frozenset())
