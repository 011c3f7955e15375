"""Queues: which one a later empty name means, and which names the server made up (0-9-1 §1.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..channel import Channel
from ..methods import DecodedMethod
from .shape import Handler, Head, answered, wait

if TYPE_CHECKING:
    from ..state import ConnectionState

DECLARE = "declare"


def _declare(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    name = decoded["queue"]
    if name:
        channel.last_queue = name
    if not decoded["nowait"]:
        wait(channel, DECLARE, name)


def _declare_ok(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    asked = answered(channel, DECLARE)
    name = decoded["queue"]
    if asked == "":
        channel.last_queue = name
        state.remember_server_named(name)
    elif asked is None:
        # Its request was not seen; of requests that are still to be answered, the last one holds.
        channel.last_queue = name


HANDLERS: dict[str, Handler] = {
    "queue.declare": _declare,
    "queue.declare-ok": _declare_ok,
}
