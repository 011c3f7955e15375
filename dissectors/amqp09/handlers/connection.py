"""The connection class: who the peers are, what they agree on, how it ends (0-9-1 §1.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..field_tables import FieldTable
from ..methods import DecodedMethod
from ..redact import shown_name, shown_table
from .shape import Handler, Head, as_text

if TYPE_CHECKING:
    from ..state import ConnectionState

REFUSED = "refused"
ACCESS_REFUSED = 403
MS_PER_S = 1000


def _announce(state: ConnectionState, peer: str, properties: FieldTable) -> None:
    """What a peer says about itself: product and version are columns, the rest is details."""
    state.conn.facts[f"{peer}_product"] = as_text(properties.get("product"))
    state.conn.facts[f"{peer}_version"] = as_text(properties.get("version"))
    state.details[f"{peer}_properties"] = shown_table(properties)


def _start(state: ConnectionState, _: None, side: int, decoded: DecodedMethod, head: Head) -> None:
    properties = decoded["server-properties"]
    _announce(state, "server", properties)
    state.details["mechanisms"] = decoded["mechanisms"]
    state.details["locales"] = decoded["locales"]
    product = as_text(properties.get("product"))
    if product:
        state.set_vendor(product, as_text(properties.get("version")) or "")


def _start_ok(
    state: ConnectionState, _: None, side: int, decoded: DecodedMethod, head: Head
) -> None:
    _announce(state, "client", decoded["client-properties"])
    state.conn.facts["mechanism"] = shown_name(decoded["mechanism"])
    state.conn.facts["locale"] = shown_name(decoded["locale"])
    state.is_authenticating = True


def _tune(state: ConnectionState, _: None, side: int, decoded: DecodedMethod, head: Head) -> None:
    # The server goes on only when it knows the client (0-9-1 §2.2.4).
    state.is_authenticating = False
    state.conn.facts["auth_outcome"] = "ok"
    state.offered = (decoded["channel-max"], decoded["frame-max"])


def _tune_ok(
    state: ConnectionState, _: None, side: int, decoded: DecodedMethod, head: Head
) -> None:
    """The client's choice is what holds; 0 means that it sets no limit of its own."""
    channel_max, frame_max = state.offered
    facts = state.conn.facts
    facts["channel_max"] = decoded["channel-max"] or channel_max or None
    facts["frame_max"] = decoded["frame-max"] or frame_max or None
    facts["heartbeat_ms"] = decoded["heartbeat"] * MS_PER_S
    state.dec.frame_max = facts["frame_max"] or 0


def _open(state: ConnectionState, _: None, side: int, decoded: DecodedMethod, head: Head) -> None:
    state.conn.facts["vhost"] = decoded["virtual-host"]


def _open_ok(
    state: ConnectionState, _: None, side: int, decoded: DecodedMethod, head: Head
) -> None:
    state.conn.facts["opened_ts_ns"] = state.dec.ts_ns
    state.is_open = True


def _redirect(
    state: ConnectionState, _: None, side: int, decoded: DecodedMethod, head: Head
) -> None:
    state.details["redirect"] = decoded["host"]
    state.conn.facts["close_reason"] = f"redirected to {decoded['host']}"


def close_blame(state: ConnectionState, decoded: DecodedMethod) -> str | None:
    """`class.method` that a close blames, where it blames one."""
    class_id, method_id = decoded["class-id"], decoded["method-id"]
    if not class_id and not method_id:
        return None
    return state.dialect.method_name(class_id, method_id) or f"{class_id}.{method_id}"


def _close(state: ConnectionState, _: None, side: int, decoded: DecodedMethod, head: Head) -> None:
    facts = state.conn.facts
    if "closed_ts_ns" in facts:
        return  # both sides closed at once: the first one's reason stands
    facts["closed_ts_ns"] = state.dec.ts_ns
    facts["close_initiator"] = state.side_name(side)
    facts["close_code"] = decoded["reply-code"]
    facts["close_reason"] = decoded["reply-text"]
    facts["close_method"] = close_blame(state, decoded)
    if state.is_authenticating and decoded["reply-code"] == ACCESS_REFUSED:
        facts["auth_outcome"] = REFUSED


def _close_ok(
    state: ConnectionState, _: None, side: int, decoded: DecodedMethod, head: Head
) -> None:
    state.is_closed = True
    state.end_channels("connection closed", state.dec.ts_ns)


def _block(is_active: bool) -> Handler:
    event = "unblocked" if is_active else "blocked"

    def handle(
        state: ConnectionState, _: Any, side: int, decoded: DecodedMethod, head: Head
    ) -> None:
        state.credit(event, side, is_active=is_active, reason=decoded.get("reason"))

    return handle


HANDLERS: dict[str, Handler] = {
    "connection.start": _start,
    "connection.start-ok": _start_ok,
    "connection.tune": _tune,
    "connection.tune-ok": _tune_ok,
    "connection.open": _open,
    "connection.open-ok": _open_ok,
    "connection.redirect": _redirect,
    "connection.close": _close,
    "connection.close-ok": _close_ok,
    "connection.blocked": _block(False),
    "connection.unblocked": _block(True),
}
