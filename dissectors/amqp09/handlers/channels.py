"""The channel class: open, flow and close (0-9-1 §1.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..channel import Channel
from ..effects import Effect
from ..methods import DecodedMethod
from .connection import close_blame
from .shape import Handler, Head

if TYPE_CHECKING:
    from ..state import ConnectionState


def _open_ok(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    channel.row["established_ts_ns"] = state.dec.ts_ns


def _flow(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    state.credit("channel-flow", side, channel, is_active=decoded["active"])


def _close(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    if channel.is_closing:
        return  # both sides closed at once: the first one's reason stands
    channel.is_closing = True
    channel.row.update(
        end_ts_ns=state.dec.ts_ns,
        end_initiator=state.side_name(side),
        end_code=decoded["reply-code"],
        end_reason=decoded["reply-text"],
        end_method=close_blame(state, decoded),
    )


def _close_ok(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    state.end_channel(channel, {"end_ts_ns": state.dec.ts_ns})
    return Effect(session_id=channel.session_id)


HANDLERS: dict[str, Handler] = {
    "channel.open-ok": _open_ok,
    "channel.flow": _flow,
    "channel.close": _close,
    "channel.close-ok": _close_ok,
}
