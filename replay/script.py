"""Captures → scripts: what each side of each connection sent, frame by frame, in order.

Knows where frames come from, not what they mean: that is the engines' business. TLS and WebSocket
are already taken off (with keys); a frame's octets are those of the AMQP stream, malformed ones
included.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dissectors.core.connection import Connection
from dissectors.options import Options
from dissectors.pipeline import Dissection

CLIENT = 0
SERVER = 1
SIDE_NAMES = ("client", "server")
PROTOCOL_HEADER = b"AMQP"

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


@dataclass(frozen=True, slots=True)
class Step:
    """One frame or protocol header as it was captured."""

    no: int
    side: int
    ts_ns: int
    packet_no: int
    octets: bytes

    @property
    def is_protocol_header(self) -> bool:
        return self.octets[:4] == PROTOCOL_HEADER


@dataclass(slots=True)
class ConversationScript:
    """One captured connection. ``has_gaps``: the steps end where the first octets are missing."""

    connection_id: str
    dialect: str | None = None
    client: str = ""
    server: str = ""
    is_client_known: bool = True
    has_gaps: bool = False
    steps: list[Step] = field(default_factory=list)
    # Frames seen after the first gap: they are not replayed.
    lost_step_count: int = 0
    row: dict[str, Any] = field(default_factory=dict)

    @property
    def is_complete_from_start(self) -> bool:
        """Its first step is the client's protocol header."""
        return (
            bool(self.steps) and self.steps[0].is_protocol_header and self.steps[0].side == CLIENT
        )

    @property
    def first_ts_ns(self) -> int:
        return self.steps[0].ts_ns if self.steps else int(self.row.get("first_ts_ns", 0))

    @property
    def last_ts_ns(self) -> int:
        return self.steps[-1].ts_ns if self.steps else self.first_ts_ns


@dataclass(slots=True)
class Script:
    """The connections of some captures, and their tables as the dissectors fill them."""

    captures: tuple[str, ...]
    connections: list[ConversationScript]
    tables: Tables
    # Of the files as well as of the connections.
    problems: Rows = field(default_factory=list)

    def connection(self, connection_id: str) -> ConversationScript:
        """By its identifier, or by the number that `dissect` prints it with (from 1)."""
        for conversation in self.connections:
            if conversation.connection_id == connection_id:
                return conversation
        if connection_id.isdecimal() and 0 < int(connection_id) <= len(self.connections):
            return self.connections[int(connection_id) - 1]
        raise KeyError(connection_id)

    def only(self, connection_ids: Iterable[str]) -> Script:
        """The same with some of its connections."""
        chosen = [self.connection(name) for name in connection_ids]
        ids = {conversation.connection_id for conversation in chosen}
        tables = {
            name: [row for row in rows if row.get("connection_id") in ids]
            for name, rows in self.tables.items()
        }
        return Script(self.captures, chosen, tables, self.problems)


class _ScriptTap:
    """Collects steps by connection."""

    def __init__(self) -> None:
        self.conversations: dict[str, ConversationScript] = {}

    def frame(self, conn: Connection, side: int, ts_ns: int, packet_no: int, octets: bytes) -> None:
        conversation = self._of(conn)
        if conversation.has_gaps:
            conversation.lost_step_count += 1
            return
        steps = conversation.steps
        steps.append(Step(len(steps), side, ts_ns, packet_no, octets))

    def gap(self, conn: Connection, side: int, ts_ns: int, packet_no: int) -> None:
        self._of(conn).has_gaps = True

    def _of(self, conn: Connection) -> ConversationScript:
        found = self.conversations.get(conn.connection_id)
        if found is None:
            found = ConversationScript(
                conn.connection_id,
                client=conn.client,
                server=conn.server,
                is_client_known=bool(conn.is_client_known),
            )
            self.conversations[conn.connection_id] = found
        return found


@contextmanager
def _uncollected() -> Iterator[None]:
    """Rows hold no cycles; looking for some in millions of them takes longer than making them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read_script(captures: str | Sequence[str], options: Options | None = None) -> Script:
    """One pass over the captures: the steps of each connection, and the tables to compare with."""
    names = (captures,) if isinstance(captures, str) else tuple(captures)
    tap = _ScriptTap()
    tables: Tables = {}
    with _uncollected():
        for name, batch in Dissection(names, options, tap):
            tables.setdefault(name, []).extend(batch.to_pylist())
    for row in tables.get("connections", []):
        found = tap.conversations.setdefault(
            row["connection_id"],
            ConversationScript(row["connection_id"], client=row["client"], server=row["server"]),
        )
        found.row = row
        found.dialect = row["dialect"]
    ordered = sorted(tap.conversations.values(), key=lambda c: (c.first_ts_ns, c.connection_id))
    return Script(names, ordered, tables, tables.get("problems", []))
