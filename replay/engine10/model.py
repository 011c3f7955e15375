"""The dissectors' state of one conversation, fed frame by frame: captured or live.

Credit, windows, handles and channels are kept there and nowhere else; the engine only asks.
Rows that the dissectors write on the way are dropped: the comparison makes its own.
"""

from __future__ import annotations

from typing import Any

from dissectors.amqp10.decoder import Decoder10
from dissectors.amqp10.serial import serial_diff
from dissectors.core.connection import Connection
from dissectors.core.rows import NULL_CELL
from dissectors.options import Options
from dissectors.sink import Sink

_ROWS_PER_BATCH = 1024


class Model:
    """Sessions and links by channel and handle, as far as the frames told."""

    def __init__(self, connection_id: str) -> None:
        self._sink = Sink(rows_per_batch=_ROWS_PER_BATCH)
        conn = Connection(connection_id, "client", "server", True, self._sink, Options())
        self._decoder = Decoder10(conn, "1.0")
        self._state = self._decoder.state

    def take(self, side: int, octets: bytes, ts_ns: int) -> None:
        """One whole frame or protocol header of a side."""
        self._decoder.feed(side, octets, 0, len(octets), ts_ns, 0, 0)
        if self._sink.ready:
            self._sink.take_ready()

    def session(self, side: int, channel: int) -> Any | None:
        """The session behind a side's channel at this moment."""
        return (self._state.channels_1 if side else self._state.channels_0).get(channel)


def endpoint(session: Any, side: int) -> Any:
    """A side's half of a session."""
    return session.end_1 if side else session.end_0


def link_at(session: Any | None, side: int, handle: int | None) -> Any | None:
    """The link behind a side's handle at this moment."""
    return None if session is None else endpoint(session, side).links.get(handle)


def attach_of(link: Any, side: int) -> dict[str, Any] | None:
    """What a side said in its attach; None until it did."""
    return link.attach_1 if side else link.attach_0


def known(number: int) -> int | None:
    """The models' numbers have a mark for what is not known."""
    return None if number == NULL_CELL else number


def credit_of(link: Any) -> int | None:
    """What the sender may still send (1.0 §2.6.7); None if nothing was said about it."""
    limit, count = known(link.limit), known(link.delivery_count)
    return None if limit is None or count is None else serial_diff(limit, count)


def window_of(session: Any, side: int) -> int | None:
    """How many transfer frames a side may still send (1.0 §2.5.6)."""
    return known(endpoint(session, side).remote_window)
