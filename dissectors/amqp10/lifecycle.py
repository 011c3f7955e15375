"""The rare changes of state: begin and end of sessions, attach and detach of links
(1.0 §2.5.1 to §2.5.5, §2.6.3 to §2.6.6), and what they do to the deliveries in between.

Works on `ConnectionState` with plain values; how they were encoded is not known here.
"""

from __future__ import annotations

from typing import Any

from dissectors.core.rows import NULL_CELL
from dissectors.core.words import word

from .state import ConnectionState

SENDER, RECEIVER = "sender", "receiver"
#: 1.0 §3.5.6: what destroys a terminus, by expiry-policy, when its timeout is zero.
_EXPIRES_AT = {
    "link-detach": frozenset(("detach", "end", "close")),
    "session-end": frozenset(("end", "close")),
    "connection-close": frozenset(("close",)),
    "never": frozenset(),
}
#: Deliveries of detached links kept for a resumption.
MAX_SUSPENDED = 65_536
#: Link and container name of claims-based security; what is sent there is a token.
CBS_ADDRESS = "$cbs"

_W_BEGIN = word("begin")
_W_ATTACH = word("attach")
_W_IMPLICIT = word("implicit")


def begin(
    state: ConnectionState,
    side: int,
    channel: int,
    remote_channel: int | None,
    next_outgoing_id: int | None,
    incoming_window: int | None,
    outgoing_window: int | None,
    handle_max: int | None,
    details: dict[str, Any],
) -> Any:
    """1.0 §2.7.2: remote-channel names the channel of the begin that this one answers."""
    channels = state.channels_1 if side else state.channels_0
    others = state.channels_0 if side else state.channels_1
    session = None
    if remote_channel is not None:
        session = others.get(remote_channel)
        if session is None or state.end_of(session, side).has_begun:
            if not state.is_partial:
                detail = f"remote-channel {remote_channel} has no begin to answer"
                state.problem("state10.bad_remote_channel", detail, side)
            session = None
    old = channels.get(channel)
    if old is not None and old is not session and old.is_open and not old.is_inferred:
        state.problem("state10.channel_in_use", f"channel {channel} is in use", side)
    if session is None:
        session = state.new_session()
        session.begun_by = side if remote_channel is None else -1
        session.begin_ts = state.ts_ns
        session.is_inferred = remote_channel is not None
        if remote_channel is not None:
            state.end_of(session, 1 - side).channel = remote_channel
            others[remote_channel] = session
    else:
        session.established_ts = state.ts_ns
    end = state.end_of(session, side)
    end.has_begun = True
    end.channel = channel
    end.initial_outgoing_id = _cell(next_outgoing_id)
    end.next_outgoing_id = _cell(next_outgoing_id)
    end.initial_incoming_window = _cell(incoming_window)
    end.initial_outgoing_window = _cell(outgoing_window)
    end.handle_max = _cell(handle_max)
    channels[channel] = session
    if details:
        session.details[state.conn.side_name(side)] = details
    _begin_window(state, session, side, incoming_window, next_outgoing_id, outgoing_window)
    return session


def _begin_window(
    state: ConnectionState,
    session: Any,
    side: int,
    incoming_window: int | None,
    next_outgoing_id: int | None,
    outgoing_window: int | None,
) -> None:
    other = state.end_of(session, 1 - side)
    state.end_of(session, side).incoming_window = _cell(incoming_window)
    state.end_of(session, side).outgoing_window = _cell(outgoing_window)
    other.remote_window = _cell(incoming_window)
    base = state.credits.write(_W_BEGIN, session, None, side, state.ts_ns, state.packet_no)
    state.credits.write_flow(
        base, NULL_CELL, _cell(incoming_window), _cell(next_outgoing_id), _cell(outgoing_window)
    )


def end(state: ConnectionState, side: int, channel: int, error: dict[str, Any] | None) -> Any:
    """1.0 §2.7.8: a side ends its half; the session is over for it."""
    channels = state.channels_1 if side else state.channels_0
    session = channels.pop(channel, None)
    if session is None:
        if not state.is_partial:
            state.problem("state10.unknown_channel", f"channel {channel} has no session", side)
        return None
    state.end_of(session, side).has_ended = True
    if session.end_ts == NULL_CELL:
        session.end_ts = state.ts_ns
        session.ended_by = side
        _close_links(state, session, "end", "session-end", side)
    if error is not None and session.end_condition is None:
        session.end_condition = error.get("condition")
        session.end_reason = error.get("description")
    if state.end_of(session, 1 - side).has_ended:
        session.is_open = False
    return session


def attach(state: ConnectionState, session: Any, side: int, fields: dict[str, Any]) -> Any:
    """1.0 §2.7.3. `fields`: name, handle, role (sender | receiver) and, each optional,
    snd_settle_mode, rcv_settle_mode, source, target (dicts), unsettled, initial_delivery_count,
    max_message_size, default_outcome, kind, details."""
    sender = side if fields["role"] == SENDER else 1 - side
    handle = fields["handle"]
    end = state.end_of(session, side)
    held = end.links.get(handle)
    if held is not None and held.is_open and not held.is_inferred and not _has_detached(held, side):
        state.problem("state10.handle_in_use", f"handle {handle} is attached already", side)
    link = _half_attached(session, fields["name"], sender, side)
    if link is None:
        link = _new_link(state, session, sender, fields, side)
    else:
        link.established_ts = state.ts_ns
    if side:
        link.attach_1 = fields
    else:
        link.attach_0 = fields
    state.bind_handle(session, link, side, handle)
    _settle_identity(link)
    if side == sender and fields.get("initial_delivery_count") is not None:
        link.initial_delivery_count = link.delivery_count = fields["initial_delivery_count"]
        if link.limit == NULL_CELL:
            link.limit = link.delivery_count
    _recover(state, link, side, fields.get("unsettled"))
    base = state.credits.write(_W_ATTACH, session, link, side, state.ts_ns, state.packet_no)
    state.credits.write_link(
        base, NULL_CELL, _cell(fields.get("initial_delivery_count")), NULL_CELL, 0, NULL_CELL
    )
    return link


def detach(
    state: ConnectionState,
    session: Any,
    side: int,
    handle: int,
    is_closed: bool,
    error: dict[str, Any] | None,
) -> Any:
    """1.0 §2.7.7: a side gives up its handle; closing also destroys the terminus."""
    end_point = state.end_of(session, side)
    link = end_point.links.pop(handle, None)
    end_point.last_link = None
    if link is None:
        if not state.is_partial:
            state.problem("state10.unattached_handle", f"handle {handle} has no link", side)
        return None
    if link.end_ts == NULL_CELL:
        link.end_ts = state.ts_ns
        link.detached_by = side
        link.end_kind = "closed" if is_closed else "detached"
        _end_deliveries(state, link, "closed" if is_closed else "detach")
    elif link.end_kind == "detached" and is_closed:
        link.end_kind = "closed"
    if error is not None and link.end_condition is None:
        link.end_condition = error.get("condition")
        link.end_reason = error.get("description")
        if link.end_condition == "amqp:link:stolen":
            link.end_kind = "stolen"
    link.is_open = any(link in e.links.values() for e in (session.end_0, session.end_1))
    return link


def close(state: ConnectionState, side: int) -> None:
    """1.0 §2.7.9: the connection is closed, and with it everything on it."""
    for session in state.sessions:
        if session.end_ts == NULL_CELL:
            _close_links(state, session, "close", "connection-end", side)


def finish(state: ConnectionState) -> None:
    """Nothing more will be seen: write what is left as it stands."""
    for session in state.sessions:
        for end_point in (session.end_0, session.end_1):
            for delivery in list(end_point.unsettled.values()):
                state.forget(delivery)
    for link in state.links:
        if link.current is not None:
            state.abandon(link.current)
    for attempts in state.suspended.values():
        for delivery in attempts.values():
            state.transfers.write(delivery)
    state.suspended.clear()
    state.transactions.finish()


def _cell(number: int | None) -> int:
    return NULL_CELL if number is None else number


def _has_detached(link: Any, side: int) -> bool:
    return bool(link.detached_by == side or not link.is_open)


def _half_attached(session: Any, name: str, sender: int, side: int) -> Any:
    """The link that the other side attached under this name and that waits for its answer."""
    for link in reversed(session.links):
        mine, other = link.attach_0, link.attach_1
        if side:
            mine, other = other, mine
        if link.name == name and link.sender == sender and other is not None:
            return link if mine is None else None
    return None


def _new_link(
    state: ConnectionState, session: Any, sender: int, fields: dict[str, Any], side: int
) -> Any:
    name = fields["name"]
    for old in state.links:
        if old.name == name and old.sender == sender and old.is_open and old.end_ts == NULL_CELL:
            # 1.0 §2.6.1: a second attach of a link name takes the link from where it was.
            old.end_ts = state.ts_ns
            old.end_kind = "stolen"
            old.detached_by = side
            _end_deliveries(state, old, "detach")
    link = state.new_link(session, sender)
    link.is_inferred = False
    link.name = name
    link.begin_ts = state.ts_ns
    return link


def _settle_identity(link: Any) -> None:
    """Address, kind and default outcome, by the side whose word counts: the sender's source and
    the receiver's target, once they answered (1.0 §2.6.3)."""
    sender = link.attach_1 if link.sender else link.attach_0
    receiver = link.attach_0 if link.sender else link.attach_1
    source = _first_terminus(sender, receiver, "source")
    target = _first_terminus(receiver, sender, "target")
    for side in (sender, receiver):
        if side is not None and side.get("kind") == "coordinator":
            link.kind = "coordinator"
            link.is_coordinator = True
    link.default_outcome = source.get("default_outcome")
    # The node of a broker is what a reader looks for: the target of what the client sends, the
    # source of what it receives.
    addresses = (target.get("address"), source.get("address"))
    link.address = (
        (addresses[0] or addresses[1]) if link.sender == 0 else (addresses[1] or addresses[0])
    )
    link.address_batch = -1
    link.is_secret = CBS_ADDRESS in addresses


def _first_terminus(
    first: dict[str, Any] | None, second: dict[str, Any] | None, name: str
) -> dict[str, Any]:
    for side in (first, second):
        terminus = None if side is None else side.get(name)
        if terminus is not None:
            return dict(terminus)
    return {}


def _recover(state: ConnectionState, link: Any, side: int, unsettled: Any) -> None:
    """1.0 §2.6.13: the unsettled map of a resumed link tells states that were lost before."""
    attempts = state.suspended.get((link.name, link.sender))
    if not attempts:
        return
    link.resumes = next(iter(attempts.values())).link.link_id
    for tag, delivery_state in (unsettled or {}).items():
        delivery = attempts.get(tag)
        if delivery is not None and delivery_state is not None:
            state.apply_state(delivery, delivery_state)


def _close_links(
    state: ConnectionState, session: Any, event: str, end_kind: str, side: int
) -> None:
    for link in session.links:
        if link.end_ts == NULL_CELL:
            link.end_ts = state.ts_ns
            link.end_kind = end_kind
            link.detached_by = side
            _end_deliveries(state, link, event)
        link.is_open = False


def _end_deliveries(state: ConnectionState, link: Any, event: str) -> None:
    """What happens to a link's unsettled deliveries when it goes: settled with the default
    outcome if the source goes with it (1.0 §3.5.3), kept for resumption if it does not."""
    if link.current is not None:
        state.abandon(link.current)
    end_point = state.end_of(link.session, link.sender)
    mine = [d for d in end_point.unsettled.values() if d.link is link]
    is_destroyed = event == "closed" or _expires(link, event)
    for delivery in mine:
        if is_destroyed:
            delivery.outcome = delivery.outcome or link.default_outcome
            left = link.unsettled_count
            state.settle(delivery, _W_IMPLICIT, _W_IMPLICIT)
            link.unsettled_count = left
        elif link.name is not None and delivery.tag is not None:
            _suspend(state, link, end_point, delivery)


def _suspend(state: ConnectionState, link: Any, end_point: Any, delivery: Any) -> None:
    attempts = state.suspended.setdefault((link.name, link.sender), {})
    if len(attempts) < MAX_SUSPENDED:
        end_point.unsettled.pop(delivery.delivery_id, None)
        attempts[delivery.tag] = delivery
        delivery.is_done = True


def _expires(link: Any, event: str) -> bool:
    """Whether the source is destroyed by this event, as the sender's attach says."""
    attach_fields = link.attach_1 if link.sender else link.attach_0
    source = None if attach_fields is None else attach_fields.get("source")
    if not source or source.get("timeout"):
        return False
    return event in _EXPIRES_AT.get(source.get("expiry_policy", "session-end"), frozenset())
