"""The connections of a run, its limits and its result: what the driver works on. Knows no AMQP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from replay.engine import Engine
from replay.live import RecordedConnection
from replay.script import CLIENT, ConversationScript
from replay.transport import Transport


@dataclass(frozen=True, slots=True)
class Limits:
    """Every run is bounded."""

    step_timeout_s: float = 10.0
    max_time_s: float = 300.0


@dataclass(slots=True)
class Session:
    """One connection of the run."""

    engine: Engine
    open: Callable[[], Transport]
    # Connections of the same group wait for each other; copies of a load do not.
    group: int = 0
    transport: Transport | None = None
    recorded: RecordedConnection | None = None
    failure: str | None = None
    is_over: bool = False
    waiting_for: str | None = None
    waiting_since_ns: int = 0
    # When we closed our half of a connection that the capture leaves without a close.
    left_ns: int | None = None
    sent_bytes: int = 0
    received_bytes: int = 0

    @property
    def conversation(self) -> ConversationScript:
        return self.engine.conversation

    @property
    def next_ts_ns(self) -> int | None:
        """When it wants to do something, in capture time; opening the connection is a step too."""
        if self.is_over or self.left_ns is not None:
            return None
        if self.transport is None:
            return self.conversation.first_ts_ns
        return self.leaving_ts_ns if self.engine.is_done else self.engine.next_ts_ns

    @property
    def client_name(self) -> str:
        """The live client's endpoint as the dissectors print it; empty before it stands."""
        if self.transport is None:
            return ""
        ours = self.engine.side == CLIENT
        host, port = self.transport.local if ours else self.transport.remote
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def leaving_ts_ns(self) -> int | None:
        """When the captured connection ended, where it did so without a close."""
        row = self.conversation.row
        if self.engine.side != CLIENT:
            return None
        has_ended = row.get("tcp_end") in ("fin", "rst") and not self.engine.is_closed
        return int(row["last_ts_ns"]) if has_ended else None

    @property
    def outstanding_ts_ns(self) -> int | None:
        if self.is_over:
            return None
        if self.transport is None or self.engine.is_done:
            return self.next_ts_ns
        return self.engine.outstanding_ts_ns


@dataclass(slots=True)
class RunResult:
    """What happened; the comparison is made of the recording."""

    sessions: list[Session]
    elapsed_s: float = 0.0
    lateness_ns: list[int] = field(default_factory=list)
    # Why it ended before the captured end: max-time, interrupted.
    stopped: str | None = None

    @property
    def failures(self) -> list[str]:
        return [s.failure for s in self.sessions if s.failure]
