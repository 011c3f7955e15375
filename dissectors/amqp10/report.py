"""Rows of `sessions` and `links`, written when they are over."""

from __future__ import annotations

from typing import Any

from dissectors.core.rows import NULL_CELL

from .render import dump

_SND_MODES = {0: "unsettled", 1: "settled", 2: "mixed"}
_RCV_MODES = {0: "first", 1: "second"}


def write_session(conn: Any, session: Any) -> None:
    """The one row of a session."""
    begun_by = session.begun_by
    first = session.end_1 if begun_by == 1 else session.end_0
    second = session.end_0 if begun_by == 1 else session.end_1
    if first.channel == NULL_CELL:
        first, second = second, first
    conn.sink.sessions.append(
        {
            "connection_id": conn.connection_id,
            "session_id": session.session_id,
            "channel": first.channel,
            "remote_channel": _known(second.channel),
            "begun_by": _side(conn, begun_by),
            "begin_ts_ns": _known(session.begin_ts),
            "established_ts_ns": _known(session.established_ts),
            "end_ts_ns": _known(session.end_ts),
            "end_initiator": _side(conn, session.ended_by),
            "end_condition": session.end_condition,
            "end_reason": session.end_reason,
            "is_inferred": session.is_inferred,
            "commit_count": session.commit_count,
            "rollback_count": session.rollback_count,
            "client_incoming_window": _known(session.end_0.initial_incoming_window),
            "client_outgoing_window": _known(session.end_0.initial_outgoing_window),
            "server_incoming_window": _known(session.end_1.initial_incoming_window),
            "server_outgoing_window": _known(session.end_1.initial_outgoing_window),
            "client_handle_max": _known(session.end_0.handle_max),
            "server_handle_max": _known(session.end_1.handle_max),
            "transfer_count": session.transfer_count,
            "details": dump(session.details) if session.details else None,
        }
    )


def write_link(conn: Any, link: Any) -> None:
    """The one row of a link."""
    sender = link.attach_1 if link.sender else link.attach_0
    receiver = link.attach_0 if link.sender else link.attach_1
    source = _terminus(sender, receiver, "source")
    target = _terminus(receiver, sender, "target")
    conn.sink.links.append(
        {
            "connection_id": conn.connection_id,
            "session_id": link.session.session_id,
            "link_id": link.link_id,
            "kind": link.kind,
            "name": link.name,
            "role": "receiver" if link.sender else "sender",
            "address": link.address,
            "source_address": source.get("address"),
            "target_address": target.get("address"),
            "client_handle": _known(link.handle_0),
            "server_handle": _known(link.handle_1),
            # 1.0 §2.6.3: each side states what it will do; the sender's word on how it
            # settles, the receiver's on how it does.
            "snd_settle_mode": _SND_MODES.get(_said(sender, receiver, "snd_settle_mode")),
            "rcv_settle_mode": _RCV_MODES.get(_said(receiver, sender, "rcv_settle_mode")),
            "is_dynamic": _is_dynamic(sender, receiver),
            "initial_credit": _known(link.initial_credit),
            "initial_delivery_count": _known(link.initial_delivery_count),
            "max_message_size": _max_message_size(sender, receiver),
            "begin_ts_ns": _known(link.begin_ts),
            "established_ts_ns": _known(link.established_ts),
            "end_ts_ns": _known(link.end_ts),
            "end_kind": link.end_kind,
            "end_initiator": _side(conn, link.detached_by),
            "end_condition": link.end_condition,
            "end_reason": link.end_reason,
            "is_inferred": link.is_inferred,
            "transfer_count": link.transfer_count,
            "body_bytes": link.body_bytes,
            "unsettled_count": max(link.unsettled_count, 0),
            "details": _details(conn, link),
        }
    )


def _known(number: int) -> int | None:
    return None if number == NULL_CELL else number


def _side(conn: Any, side: int) -> str | None:
    return None if side < 0 else conn.side_name(side)


def _terminus(
    first: dict[str, Any] | None, second: dict[str, Any] | None, name: str
) -> dict[str, Any]:
    """The terminus as the side that owns it states it, else as the other side asks for it."""
    for side in (first, second):
        if side is not None and side.get(name) is not None:
            return dict(side[name])
    return {}


def _said(first: dict[str, Any] | None, second: dict[str, Any] | None, name: str) -> Any:
    for side in (first, second):
        if side is not None and side.get(name) is not None:
            return side[name]
    return None


def _is_dynamic(*sides: dict[str, Any] | None) -> bool | None:
    termini = [side[name] for side in sides if side for name in ("source", "target") if side[name]]
    return any(terminus.get("dynamic") for terminus in termini) if termini else None


def _max_message_size(*sides: dict[str, Any] | None) -> int | None:
    """1.0 §2.7.3: zero or absent means no limit."""
    sizes = [side["max_message_size"] for side in sides if side and side.get("max_message_size")]
    return min(sizes) if sizes else None


def _details(conn: Any, link: Any) -> str | None:
    said = {}
    for side, fields in enumerate((link.attach_0, link.attach_1)):
        if fields and fields.get("details"):
            said[conn.side_name(side)] = fields["details"]
    if link.resumes is not None:
        said["resumes_link_id"] = link.resumes
    return dump(said) if said else None
