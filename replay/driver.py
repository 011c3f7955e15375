"""Runs engines over transports: who may send next, when, and when to stop. Knows no AMQP.

All connections of a run share one loop and one clock. With causality "window" or "strict" a step
goes out only when every step captured before it, on any connection, has gone out and what answers
those has come; with "protocol" each connection keeps its own order only.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from replay.live import Recording
from replay.pacing import SPIN_NS, Pacer
from replay.script import CLIENT
from replay.session import Limits, RunResult, Session
from replay.transport import Listener, Poller, Transport, TransportError

NS_PER_S = 1_000_000_000
# Steps taken before sockets are looked at again.
STEPS_PER_TURN = 512
# Octets gathered before they are handed to the socket.
FLUSH_BYTES = 64 * 1024
# Nothing to do and nothing due: look again after this long.
IDLE_S = 0.05
GOODBYE_S = 2.0


class Driver:
    """One run."""

    def __init__(
        self,
        sessions: list[Session],
        pacer: Pacer,
        limits: Limits,
        recording: Recording | None = None,
        *,
        is_ordered: bool = True,
        on_turn: Callable[[int], None] | None = None,
        door: tuple[Listener, Callable[[Transport], Session], int] | None = None,
    ) -> None:
        self._sessions = sessions
        self._pacer = pacer
        self._limits = limits
        self._recording = recording
        self._is_ordered = is_ordered
        self._on_turn = on_turn
        self._poller = Poller()
        # Where live clients come in, what is made of each, and how many are wanted.
        self._door = door
        if door is not None:
            self._poller.add(door[0])
        self._by_transport: dict[int, Session] = {}
        # Live times are wall-clock times, of a clock that cannot jump during the run.
        self._wall_ns = time.time_ns() - time.monotonic_ns()
        self._result = RunResult(sessions)
        # The last step that went out, on any connection: its capture time and its live time.
        self._last_step = (0, 0)

    def run(self) -> RunResult:
        # The captured rows are many and stay: the collector must not walk them while we keep time.
        gc.freeze()
        began_ns = time.monotonic_ns()
        self._deadline_ns = began_ns + int(self._limits.max_time_s * NS_PER_S)
        try:
            while not self._is_over():
                now_ns = time.monotonic_ns()
                if now_ns >= self._deadline_ns:
                    self._result.stopped = (
                        f"stopped after {self._limits.max_time_s:g} s (--max-time)"
                    )
                    break
                self._turn(now_ns)
        except KeyboardInterrupt:
            self._result.stopped = "interrupted"
        finally:
            gc.unfreeze()
        self._result.elapsed_s = (time.monotonic_ns() - began_ns) / NS_PER_S
        self._finish()
        self._result.lateness_ns = list(self._pacer.lateness_ns)
        return self._result

    def _is_over(self) -> bool:
        if self._door is not None and len(self._sessions) < self._door[2]:
            return False
        return all(session.is_over for session in self._sessions)

    # -- one turn -------------------------------------------------------------------------

    def _turn(self, now_ns: int) -> None:
        wait_ns = self._step(now_ns)
        now_ns = time.monotonic_ns()
        for session in self._sessions:
            self._keep_up(session, now_ns)
        timeout_s = 0.0 if wait_ns < SPIN_NS else min(IDLE_S, (wait_ns - SPIN_NS) / NS_PER_S)
        for item in self._poller.wait(timeout_s):
            if isinstance(item, Transport):
                self._receive(self._by_transport[id(item)])
            else:
                self._let_in(item)
        if self._on_turn is not None:
            self._on_turn(now_ns)

    def _step(self, now_ns: int) -> int:
        """Send what may go; how long nothing more can, in ns."""
        wait_ns = int(IDLE_S * NS_PER_S)
        order = sorted(
            (s for s in self._sessions if s.next_ts_ns is not None),
            key=lambda s: s.next_ts_ns or 0,
        )
        if self._is_ordered:
            first: dict[int, Session] = {}
            for session in order:
                first.setdefault(session.group, session)
            order = list(first.values())
        for session in order:
            found = self._advance(session, now_ns)
            wait_ns = min(wait_ns, found)
        return wait_ns

    def _advance(self, session: Session, now_ns: int) -> int:
        """Steps of one session until it must wait; for how long, in ns."""
        gathered = bytearray()
        try:
            for _ in range(STEPS_PER_TURN):
                ts_ns = session.next_ts_ns
                if ts_ns is None or not self._is_first(session, ts_ns):
                    return 0
                due_ns = self._pacer.due_ns(ts_ns, now_ns)
                if due_ns > now_ns:
                    return due_ns - now_ns
                if session.transport is None:
                    self._open(session, now_ns)
                    return 0
                if session.engine.is_done:
                    self._send(session, bytes(gathered), now_ns)
                    gathered.clear()
                    self._leave(session, now_ns)
                    return 0
                if session.transport.is_congested:
                    return int(IDLE_S * NS_PER_S)
                now_ns = time.monotonic_ns()
                unsettled_ns = self._unsettled_ns(session, ts_ns, now_ns)
                if unsettled_ns > 0:
                    return unsettled_ns
                out = session.engine.poll(now_ns)
                if out is None:
                    return int(IDLE_S * NS_PER_S)
                session.waiting_for = None
                if out.octets:
                    gathered += out.octets
                    self._last_step = (out.step.ts_ns, now_ns)
                    self._pacer.sent(out.step.ts_ns, now_ns)
                    if self._pacer.speed is not None or len(gathered) > FLUSH_BYTES:
                        self._send(session, bytes(gathered), now_ns)
                        gathered.clear()
        finally:
            if gathered:
                self._send(session, bytes(gathered), now_ns)
        return 0

    def _unsettled_ns(self, session: Session, ts_ns: int, now_ns: int) -> int:
        """What is left of the time that the step before needs to take effect."""
        settle_ns = session.engine.settle_ns
        if not settle_ns:
            return 0
        last_ts_ns, last_ns = self._last_step
        return min(settle_ns, ts_ns - last_ts_ns) - (now_ns - last_ns)

    def _is_first(self, session: Session, ts_ns: int) -> bool:
        """Nothing captured before this step is still to be done on another connection."""
        if not self._is_ordered:
            return True
        for other in self._sessions:
            if other is not session and other.group == session.group:
                outstanding = other.outstanding_ts_ns
                if outstanding is not None and outstanding < ts_ns:
                    self._watch(other, time.monotonic_ns())
                    return False
        return True

    def _keep_up(self, session: Session, now_ns: int) -> None:
        """Answers and heartbeats, time-outs, and whether it is over."""
        if session.is_over or session.transport is None:
            return
        if session.left_ns is not None:
            session.is_over = now_ns - session.left_ns > GOODBYE_S * NS_PER_S
            return
        engine = session.engine
        octets = engine.urgent(now_ns)
        if octets:
            self._send(session, octets, now_ns)
        if engine.failure:
            self._fail(session, engine.failure)
        elif engine.is_done:
            session.is_over = session.leaving_ts_ns is None
        elif engine.waiting_for:
            self._watch(session, now_ns)

    def _watch(self, session: Session, now_ns: int) -> None:
        """Give up what a session has waited for too long."""
        reason = session.engine.waiting_for
        if reason is None and session.outstanding_ts_ns != session.next_ts_ns:
            reason = "an answer that the capture shows"
        if reason is None:
            session.waiting_for = None
        elif reason != session.waiting_for:
            session.waiting_for = reason
            session.waiting_since_ns = now_ns
        elif now_ns - session.waiting_since_ns > self._limits.step_timeout_s * NS_PER_S:
            out = session.engine.poll(now_ns)
            if out is None:
                session.engine.skip_wait(now_ns)
            elif out.octets:
                # It came just now.
                self._send(session, out.octets, now_ns)
            session.waiting_for = None

    # -- connections ----------------------------------------------------------------------

    def _open(self, session: Session, now_ns: int) -> None:
        try:
            transport = session.open()
        except TransportError as error:
            self._fail(session, str(error))
            return
        now_ns = time.monotonic_ns()
        session.transport = transport
        self._by_transport[id(transport)] = session
        self._poller.add(transport)
        if self._recording is not None:
            ends = (transport.local, transport.remote)
            if session.engine.side != CLIENT:
                ends = (transport.remote, transport.local)
            session.recorded = self._recording.connection(*ends, now_ns + self._wall_ns)
        session.engine.start(now_ns)

    def _let_in(self, listener: Listener) -> None:
        transport = listener.accept()
        if transport is not None and self._door is not None:
            session = self._door[1](transport)
            self._sessions.append(session)
            self._open(session, time.monotonic_ns())

    def _send(self, session: Session, octets: bytes, now_ns: int) -> None:
        if session.transport is None or session.is_over or not octets:
            return
        session.sent_bytes += len(octets)
        if session.recorded is not None:
            engine = session.engine
            session.recorded.data(engine.side, octets, now_ns + self._wall_ns, engine.secrets)
        try:
            session.transport.send(octets)
        except TransportError as error:
            self._drain(session)
            if not session.engine.is_closed:
                self._fail(session, str(error))

    def _receive(self, session: Session) -> None:
        transport = session.transport
        if transport is None or transport.is_closed:
            return
        try:
            octets = transport.receive()
        except TransportError as error:
            if not session.engine.is_done and session.left_ns is None:
                self._fail(session, str(error))
            session.is_over = True
            self._drop(session)
            return
        now_ns = time.monotonic_ns()
        if octets is None:
            session.engine.end_of_stream(now_ns)
            if session.engine.failure and session.left_ns is None:
                self._fail(session, session.engine.failure)
            session.is_over = True
            self._drop(session)
        elif octets and not session.is_over:
            session.received_bytes += len(octets)
            if session.recorded is not None:
                session.recorded.data(1 - session.engine.side, octets, now_ns + self._wall_ns)
            session.engine.receive(octets, now_ns)
            # Answers go before the next step: a close-ok before the channel is opened again.
            answers = session.engine.urgent(now_ns)
            if answers:
                self._send(session, answers, now_ns)

    def _drain(self, session: Session) -> None:
        """What the peer said before it closed often says why."""
        for _ in range(STEPS_PER_TURN):
            if session.is_over or session.transport is None or session.transport.is_closed:
                return
            before = session.received_bytes
            self._receive(session)
            if session.received_bytes == before:
                return

    def _drop(self, session: Session) -> None:
        if session.transport is not None and not session.transport.is_closed:
            self._poller.remove(session.transport)
            session.transport.close()

    def _leave(self, session: Session, now_ns: int) -> None:
        """The captured client went without a word, and so do we: its end is the peer's to see."""
        if session.recorded is not None:
            session.recorded.end(now_ns + self._wall_ns)
        session.left_ns = now_ns
        if session.transport is not None:
            session.transport.half_close()

    def _fail(self, session: Session, why: str) -> None:
        session.failure = session.failure or why
        session.is_over = True

    # -- the end --------------------------------------------------------------------------

    def _finish(self) -> None:
        """Close what is open in good order; none of this belongs to the replay."""
        now_ns = time.monotonic_ns()
        leaving = []
        for session in self._sessions:
            if session.recorded is not None:
                session.recorded.end(now_ns + self._wall_ns)
                session.recorded = None
            transport = session.transport
            if transport is None or transport.is_closed:
                continue
            octets = b"" if session.failure else session.engine.goodbye(now_ns)
            if octets and not transport.is_congested:
                session.is_over = False
                self._send(session, octets, now_ns)
                leaving.append(session)
        deadline = time.monotonic() + GOODBYE_S
        while time.monotonic() < deadline and any(
            not s.engine.is_closed and not s.is_over for s in leaving
        ):
            for item in self._poller.wait(IDLE_S):
                if isinstance(item, Transport):
                    self._receive(self._by_transport[id(item)])
        for session in self._sessions:
            self._drop(session)
            session.is_over = True
        self._poller.close()
        if self._recording is not None:
            self._recording.flush()
