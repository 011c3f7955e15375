"""The AMQP 1.0 engine: one side of a captured connection against a live peer, without I/O.

1.0 is symmetric (§2.1): the same engine plays a client against a broker and a broker or peer for
a client; only who speaks first in the prologue differs. The parts: `reading` (the capture as acts
and expectations), `gates` (may the next act go?), `outgoing` (its frames with live numbers),
`incoming` (the peer's frames, matched and answered), `sasl` (the prologue).
"""

from __future__ import annotations

from typing import ClassVar

from dissectors.amqp10.frames import encode_frame
from replay.engine import Engine, Outgoing, Settings
from replay.script import CLIENT, ConversationScript

from .acts import Act
from .frame import PROTOCOL_HEADER, Frame, make_frame
from .gates import Gates, Wait
from .incoming import Listener, address_in, is_dynamic
from .live import Live
from .losses import Losses
from .model import link_at
from .outgoing import Writer
from .pairs import LinkPair, SessionPair
from .reading import Reading
from .sasl import ClientPrologue, Prologue, ServerPrologue
from .semantic import reencoded
from .stream import Cutter, NotAmqpError
from .synthesis import synthetic_begin, synthetic_open

#: 1.0 §2.4.5: an empty frame keeps an idle connection open; half the time-out leaves a margin.
_HEARTBEAT = encode_frame(b"")
_HEARTBEAT_SHARE = 2


class Engine10(Engine):
    """See `replay.engine` for the contract."""

    dialects: ClassVar[tuple[str, ...]] = ("1.0",)

    def __init__(self, conversation: ConversationScript, role: str, settings: Settings) -> None:
        super().__init__(conversation, role, settings)
        self._reading = Reading(conversation, self.side)
        self._live = Live(conversation.connection_id, self.side)
        self._gates = Gates(self._reading, self._live, settings.causality)
        self._writer = Writer(self, self._live)
        self._listener = Listener(self, self._reading, self._live, self._send_now)
        self._losses = Losses(self, self._live)
        self._prologue = self._make_prologue()
        self._cutter = Cutter()
        self._acts = self._reading.acts
        self._at = 0
        self._urgent = bytearray()
        # Frames of the present act that the session's window does not admit yet.
        self._pending: list[bytes] = []
        self._wait: Wait | None = None
        self._now_ns = 0
        self._last_sent_ns = 0
        self._expect_names()

    def _make_prologue(self) -> Prologue:
        if self.side == CLIENT:
            return ClientPrologue(self._reading.login, self.settings.credentials)
        return ServerPrologue(self._reading.login)

    def _expect_names(self) -> None:
        """Addresses that the captured peer made for us: the live one will make others."""
        for session in self._reading.sessions:
            for link in session.links:
                for name in ("source", "target"):
                    address = address_in(link.peer_attach, name)
                    if address is not None and is_dynamic(link.own_attach, name):
                        self.rewriter.expect(address)

    # -- the contract ---------------------------------------------------------------------

    def start(self, now_ns: int) -> None:
        self._now_ns = now_ns
        self._prologue.start()
        self._after_prologue()

    def receive(self, octets: bytes, now_ns: int) -> None:
        self._now_ns = now_ns
        try:
            frames = self._cutter.feed(octets)
        except NotAmqpError as error:
            self._fail(str(error))
            return
        for frame in frames:
            if self.failure is not None:
                return
            if not self._prologue.is_done:
                self._prologue.take(frame)
                self._after_prologue()
            elif Frame(frame).name == PROTOCOL_HEADER:
                self._fail("the peer sent a protocol header in the middle of the connection")
            else:
                self._listener.take(frame, now_ns)
                self._answer_close()

    def end_of_stream(self, now_ns: int) -> None:
        self._now_ns = now_ns
        is_orderly = self._live.has_peer_close or (self.role == "server" and self._is_idle())
        if not is_orderly and not self.is_closed and self.failure is None:
            self.failure = f"the peer closed the stream{self._while()}"
        self._live.has_peer_close = True
        self.is_closed = True

    def urgent(self, now_ns: int) -> bytes:
        self._now_ns = now_ns
        if self._is_heartbeat_due(now_ns):
            self._urgent += _HEARTBEAT
        octets = bytes(self._urgent)
        if octets:
            self._last_sent_ns = now_ns
            self._urgent.clear()
        return octets

    @property
    def next_ts_ns(self) -> int | None:
        return self._acts[self._at].step.ts_ns if self._at < len(self._acts) else None

    def poll(self, now_ns: int) -> Outgoing | None:
        self._now_ns = now_ns
        if not self._prologue.is_done:
            return self._hold(Wait(self._prologue.waiting_for, self._refuse))
        if self._at >= len(self._acts):
            return None
        act = self._acts[self._at]
        if self._pending:
            return self._go_on(act)
        if self._losses.is_lost(act):
            return self._skip(act)
        wait = self._gates.hold(act) or self._unknown_name(act)
        if wait is not None:
            return self._hold(wait)
        # What was waited for may have died or run dry meanwhile.
        if self._losses.is_lost(act) or self._losses.is_short(act):
            return self._skip(act)
        self._pending = self._frames(act)
        is_held = act.delivery is not None and bool(act.delivery.held)
        return self._go_on(act) if self._pending or is_held else self._skip(act)

    def skip_wait(self, now_ns: int) -> None:
        wait = self._wait
        if wait is None:
            return
        step = self._acts[self._at].step if self._at < len(self._acts) else None
        self.note("missing", f"did not come: {wait.text}", "hard", step)
        self._wait = self.waiting_for = None
        wait.give_up()

    @property
    def is_done(self) -> bool:
        if self.is_closed or self.failure is not None:
            return True
        if self._at < len(self._acts) or self._pending or not self._prologue.is_done:
            return False
        wait = self._gates.remaining()
        self._wait = wait
        self.waiting_for = None if wait is None else wait.text
        if wait is None and self._live.has_peer_close:
            self.is_closed = True
        return wait is None

    def goodbye(self, now_ns: int) -> bytes:
        self._now_ns = now_ns
        live = self._live
        if not live.has_own_open or live.has_own_close or self.is_closed:
            return b""
        live.has_own_close = True
        return make_frame("close", {})

    @property
    def wake_ns(self) -> int | None:
        idle_ns = self._live.idle_ns
        if idle_ns is None or self.is_closed:
            return None
        return self._last_sent_ns + idle_ns // _HEARTBEAT_SHARE

    @property
    def outstanding_ts_ns(self) -> int | None:
        times = (self.next_ts_ns, None if self.is_closed else self._gates.outstanding_ts_ns())
        return min((ts for ts in times if ts is not None), default=None)

    # -- prologue and ends ----------------------------------------------------------------

    def _after_prologue(self) -> None:
        prologue = self._prologue
        self._urgent += prologue.out
        self.secrets = [secret for secret in prologue.secrets if secret]
        prologue.out.clear()
        if prologue.is_refused and self._reading.login.is_refused:
            self.note("refused", "the login was refused, as captured")
            self.is_closed = True
        elif prologue.failure is not None:
            self._fail(prologue.failure)
        elif prologue.is_done:
            self.waiting_for = None
            if self._reading.login.is_refused and self.role == "server":
                self.is_closed = True
            elif not self._reading.has_own_open:
                self._begin_in_own_words()

    def _begin_in_own_words(self) -> None:
        """The capture began in the middle of the connection: open it, and its sessions."""
        self._send_now(synthetic_open(self.settings.copy_no))
        self._live.has_own_open = True
        self.note("synthetic", "the capture has no open of ours: one was made up")
        for session in self._reading.sessions:
            if session.is_synthetic and session.own_channel is not None:
                self._send_now(synthetic_begin(session, self._acts))
                self._bind_session(session)
                self.note("synthetic", f"session on channel {session.own_channel} was made up")

    def _answer_close(self) -> None:
        """1.0 §2.4.3: a close is answered; what was left to do is not done."""
        live = self._live
        if not live.has_peer_close:
            return
        left = [act for act in self._acts[self._at :] if not act.is_afterword]
        own_close = next((act for act in left if act.name == "close"), None)
        closes = (r.step.no for r in self._reading.replies if r.name == "close")
        peer_close = next(closes, len(self.conversation.steps))
        if not live.has_own_close:
            for act in left:
                if act.step.no > peer_close and self._losses.is_owed(act):
                    self._send_now(act.frame.octets)
                    self._did(act)
                    self.sent_step_count += 1
            octets = make_frame("close", {}) if own_close is None else own_close.frame.octets
            self._send_now(octets)
            self.sent_step_count += own_close is not None
        # What the capture shows behind the peer's close was never to be expected.
        lost = [act for act in left if act is not own_close and act.step.no < peer_close]
        self.skipped_step_count += len(lost)
        if lost:
            self.note("closed", f"the peer closed before {len(lost)} of our frames", "soft")
        self._at += len(left)
        self._pending = []
        # Some brokers go on after their close: then what the capture has of it is waited for.
        self.is_closed = self._is_idle() and self._gates.remaining() is None

    def _refuse(self) -> None:
        self._fail(f"no answer: {self._prologue.waiting_for} did not come")

    def _fail(self, why: str) -> None:
        self.failure = why
        self.is_closed = True

    def _is_idle(self) -> bool:
        return self._at >= len(self._acts)

    def _while(self) -> str:
        return f" before {self.waiting_for} came" if self.waiting_for else ""

    # -- acting ---------------------------------------------------------------------------

    def _hold(self, wait: Wait) -> Outgoing | None:
        self._wait = wait
        self.waiting_for = wait.text
        return None

    def _unknown_name(self, act: Act) -> Wait | None:
        address = self._writer.unknown_address(act)
        if address is None:
            return None
        return Wait(f"the live name of {address}", lambda: self.rewriter.learn(address, address))

    def _frames(self, act: Act) -> list[bytes]:
        if self.settings.mode == "semantic":
            return reencoded(self._writer, act, self._live)
        return self._writer.frames(act)

    def _go_on(self, act: Act) -> Outgoing | None:
        """As many frames of the act as may go now."""
        out = bytearray()
        session = act.session
        while self._pending:
            if act.name == "transfer" and session is not None:
                wait = self._gates.window(session)
                if wait is not None:
                    return Outgoing(bytes(out), act.step) if out else self._hold(wait)
            octets = self._pending.pop(0)
            self._live.model.take(self.side, octets, self._now_ns)
            out += octets
        self._did(act)
        self._at += 1
        self.sent_step_count += 1
        self._last_sent_ns = self._now_ns
        self._wait = self.waiting_for = None
        return Outgoing(bytes(out), act.step)

    def _did(self, act: Act) -> None:
        """What follows from an act that went out."""
        live, session, link = self._live, act.session, act.link
        if act.name == "open":
            live.has_own_open = True
        elif act.name == "close":
            live.has_own_close = True
        elif act.name == "begin" and session is not None:
            self._bind_session(session)
            while session.deferred:
                self._send_now(session.deferred.pop(0))
        elif act.name == "end" and session is not None:
            session.has_own_end, session.is_end_due = True, False
        elif act.name == "attach" and link is not None:
            self._bind_link(link)
        elif act.name == "detach" and link is not None:
            link.has_own_detach, link.is_detach_due = True, False
        elif act.name == "transfer" and act.is_first:
            self._expect_answer(act)

    def _bind_session(self, pair: SessionPair) -> None:
        session = self._live.model.session(self.side, pair.own_channel or 0)
        if session is not None and pair.live is None:
            self._live.bind_session(pair, session)

    def _bind_link(self, pair: LinkPair) -> None:
        link = link_at(pair.session.live, self.side, pair.own_handle)
        if link is not None and pair.live is None:
            self._live.bind_link(pair, link)

    def _expect_answer(self, act: Act) -> None:
        delivery, session = act.delivery, act.session
        if delivery is None or session is None or delivery.live_id is None:
            return
        if not act.frame.flag("settled"):
            session.own_unanswered[delivery.live_id] = delivery

    def _send_now(self, octets: bytes) -> None:
        """An answer that the pace does not hold back."""
        self._live.model.take(self.side, octets, self._now_ns)
        self._urgent += octets
        if Frame(octets).name == "close":
            self._live.has_own_close = True

    def _is_heartbeat_due(self, now_ns: int) -> bool:
        wake_ns = self.wake_ns
        return (
            wake_ns is not None and now_ns >= wake_ns
            and self._live.has_own_open and not self._live.has_own_close and not self._urgent
        )  # fmt: skip

    def _skip(self, act: Act) -> Outgoing:
        self._losses.leave_out(act)
        self._at += 1
        self.skipped_step_count += not act.is_afterword
        self._wait = self.waiting_for = None
        return Outgoing(b"", act.step)
