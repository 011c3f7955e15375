"""The rare changes of state: begin and end of sessions, attach and detach of links
(1.0 §2.5.1 to §2.5.5, §2.6.3 to §2.6.6), and what they do to the deliveries in between.

Works on `ConnectionState` with plain values; how they were encoded is not known here.
"""

from __future__ import annotations

from typing import Any

from dissectors.core.rows import NULL_CELL
from dissectors.core.words import word

from . import recovery
from .state import ConnectionState

SENDER, RECEIVER = "sender", "receiver"
#: The node of claims-based security, behind a host name or alone; what is sent there is a token.
CBS_NODE = "$cbs"
#: Why sessions ended, when no end of theirs says so.
CONNECTION_ENDED, CAPTURE_ENDED = "connection ended", "capture ended"

_W_BEGIN = word("begin")
_W_ATTACH = word("attach")


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
    if old is not None and old is not session and not (old.is_inferred or state.is_partial):
        state.problem("state10.channel_in_use", f"channel {channel} is in use", side)
    if session is None:
        session = state.new_session()
        session.begun_by = side if remote_channel is None else -1
        session.begin_ts = state.ts_ns
        session.is_inferred = remote_channel is not None
        if remote_channel is not None:
            state.bind_channel(session, 1 - side, remote_channel)
    else:
        session.established_ts = state.ts_ns
    end = state.end_of(session, side)
    end.has_begun = True
    end.initial_outgoing_id = _cell(next_outgoing_id)
    end.next_outgoing_id = _cell(next_outgoing_id)
    end.initial_incoming_window = _cell(incoming_window)
    end.initial_outgoing_window = _cell(outgoing_window)
    end.handle_max = _cell(handle_max)
    state.bind_channel(session, side, channel)
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
    session = state.free_channel(side, channel)
    if session is None:
        if not state.is_partial:
            state.problem("state10.unknown_channel", f"channel {channel} has no session", side)
        return None
    state.end_of(session, side).has_ended = True
    if session.end_ts == NULL_CELL:
        session.end_ts = state.ts_ns
        session.ended_by = side
        _close_links(state, session, recovery.END, "session-end", side)
    if error is not None and session.end_condition is None:
        session.end_condition = error.get("condition")
        session.end_reason = error.get("description")
    if state.end_of(session, 1 - side).has_ended:
        _retire_session(state, session)
    return session


def attach(state: ConnectionState, session: Any, side: int, fields: dict[str, Any]) -> Any:
    """1.0 §2.7.3. `fields`: name, handle, role (sender | receiver) and, each optional,
    snd_settle_mode, rcv_settle_mode, source, target (dicts), unsettled, initial_delivery_count,
    max_message_size, default_outcome, kind, details."""
    sender = side if fields["role"] == SENDER else 1 - side
    handle = fields["handle"]
    end = state.end_of(session, side)
    held = end.links.get(handle)
    if held is not None and not (held.is_inferred or state.is_partial):
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
    recovery.recover(state, link, fields.get("unsettled"))
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
        recovery.end_deliveries(state, link, recovery.CLOSED if is_closed else recovery.DETACH)
    elif link.end_kind == "detached" and is_closed:
        link.end_kind = "closed"
    elif link.end_kind == "stolen" and not (link.is_detached_0 or link.is_detached_1):
        link.detached_by = side
    if error is not None and link.end_condition is None:
        link.end_condition = error.get("condition")
        link.end_reason = error.get("description")
        if link.end_condition == "amqp:link:stolen":
            link.end_kind = "stolen"
    if side:
        link.is_detached_1 = True
    else:
        link.is_detached_0 = True
    if link.is_detached_0 and link.is_detached_1:
        state.retire_link(link)
    return link


def close(state: ConnectionState, side: int) -> None:
    """1.0 §2.7.9: the connection is closed, and with it everything on it."""
    for session in state.sessions.values():
        if session.end_ts == NULL_CELL:
            session.end_ts = state.ts_ns
            session.ended_by = side
            session.end_reason = CONNECTION_ENDED
            _close_links(state, session, recovery.CLOSE, "connection-end", side)


def finish(state: ConnectionState, is_over: bool) -> None:
    """Nothing more will be seen: write what is left as it stands. `is_over` if the connection
    itself has ended, not only the capture."""
    for session in list(state.sessions.values()):
        if session.end_ts == NULL_CELL:
            session.end_reason = CONNECTION_ENDED if is_over else CAPTURE_ENDED
            if is_over:
                session.end_ts = state.ts_ns
        for link in session.links.values():
            if link.current is not None:
                state.abandon(link.current)
            if is_over and link.end_ts == NULL_CELL:
                link.end_ts = state.ts_ns
                link.end_kind = "connection-end"
        _retire_session(state, session)
    recovery.write_suspended(state)
    state.transactions.finish()


def _retire_session(state: ConnectionState, session: Any) -> None:
    """Both sides are done with it: nothing that is unsettled will ever be settled."""
    for end_point in (session.end_0, session.end_1):
        for delivery in end_point.unsettled.deliveries():
            state.forget(delivery)
    state.retire_session(session)


def _cell(number: int | None) -> int:
    return NULL_CELL if number is None else number


def _half_attached(session: Any, name: str, sender: int, side: int) -> Any:
    """The link that the other side attached under this name and that waits for its answer."""
    link = session.names.get((name, sender))
    if link is None or (link.attach_1 if side else link.attach_0) is not None:
        return None
    return link


def _new_link(
    state: ConnectionState, session: Any, sender: int, fields: dict[str, Any], side: int
) -> Any:
    key = (fields["name"], sender)
    old = state.names.get(key)
    if old is not None and old.end_ts == NULL_CELL:
        # 1.0 §2.6.1: a second attach of a link name takes the link from where it was.
        old.end_ts = state.ts_ns
        old.end_kind = "stolen"
        old.detached_by = side
        recovery.end_deliveries(state, old, recovery.DETACH)
    link = state.new_link(session, sender)
    link.is_inferred = False
    link.name = fields["name"]
    link.begin_ts = state.ts_ns
    state.names[key] = session.names[key] = link
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
    link.is_secret = any(str(address).lower().endswith(CBS_NODE) for address in addresses)


def _first_terminus(
    first: dict[str, Any] | None, second: dict[str, Any] | None, name: str
) -> dict[str, Any]:
    for side in (first, second):
        terminus = None if side is None else side.get(name)
        if terminus is not None:
            return dict(terminus)
    return {}


def _close_links(
    state: ConnectionState, session: Any, event: str, end_kind: str, side: int
) -> None:
    for link in session.links.values():
        if link.end_ts == NULL_CELL:
            link.end_ts = state.ts_ns
            link.end_kind = end_kind
            link.detached_by = side
            recovery.end_deliveries(state, link, event)
