"""The shape of a handler, and small things that several of them need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..channel import Channel
from ..effects import Effect
from ..methods import DecodedMethod

if TYPE_CHECKING:
    from ..state import ConnectionState

Head = Mapping[str, Any]
# The channel is None for the connection class and only there.
Handler = Callable[["ConnectionState", Any, int, DecodedMethod, Head], Effect | None]

# Requests of one kind that wait for their answers on one channel.
MAX_PENDING = 4096


def wait(channel: Channel, kind: str, request: Any) -> None:
    """Remember a request until its answer; the oldest is forgotten when too many wait."""
    waiting = channel.pending.setdefault(kind, [])
    waiting.append(request)
    if len(waiting) > MAX_PENDING:
        del waiting[0]


def answered(channel: Channel, kind: str) -> Any:
    """The oldest request of that kind, or None: answers come in order (0-9-1 §2.2.1)."""
    waiting = channel.pending.get(kind)
    return waiting.pop(0) if waiting else None


def as_text(value: Any) -> str | None:
    """A value of a peer's properties as text; None when it has none or is no text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else None


def queue_named(channel: Channel, name: str) -> str | None:
    """An empty name means the queue last declared on the channel (0-9-1 §1.7.2.3)."""
    return name or channel.last_queue
