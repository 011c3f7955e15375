"""The client's side of a captured conversation against a live server.

Walks the captured frames in order. Those of the server say what must have come by then; those of
the client go out, each when its gate opens.
"""

from __future__ import annotations

from dissectors.amqp09.frames import HEARTBEAT, METHOD
from dissectors.amqp09.methods import encode_method
from replay.engine import Engine, Outgoing, Settings
from replay.engine09.channel import ChannelState, Window
from replay.engine09.gates import RECOVERING, Gates, Wait
from replay.engine09.handshake import Handshake
from replay.engine09.listening import Listening
from replay.engine09.parts import PROTOCOL_HEADER, Part, encode_part, is_request, read_parts
from replay.engine09.prologue import with_prologue
from replay.engine09.rewriting import (
    AS_CAPTURED,
    SKIPPED,
    ContentPlan,
    ContentRewriter,
    PendingNameError,
    reencode_method,
    rename_method,
)
from replay.engine09.settling import MissingDeliveryError, Settling
from replay.engine09.vocabulary import (
    ANSWERS,
    HANDSHAKE,
    NAME_ARGUMENTS,
    SECRETS,
    SETTLEMENTS,
    vocabulary,
)
from replay.script import CLIENT, ConversationScript

CLOSE_REPLY = {"reply-code": 200, "reply-text": "replay ends", "class-id": 0, "method-id": 0}
MAX_REMEMBERED = 4096
SETTLE_NS = 100_000_000


class ClientEngine09(Engine):
    """See `replay.engine.Engine`."""

    dialects = ("0-9-1", "0-9", "0-8")

    def __init__(self, conversation: ConversationScript, role: str, settings: Settings) -> None:
        super().__init__(conversation, role, settings)
        product = conversation.row.get("server_product") or ""
        self.vocabulary = vocabulary(conversation.dialect or "0-9-1", product)
        self._parts = read_parts(conversation, self.vocabulary)
        if not conversation.is_complete_from_start:
            self._parts = with_prologue(self._parts, self.vocabulary)
        self._channels: dict[int, ChannelState] = {}
        self.handshake = Handshake(self._parts, self.vocabulary, settings)
        self.handshake.secrets = self.secrets
        self._gates = Gates(self._channels, settings.causality)
        self._contents = ContentRewriter(
            self.rewriter, settings.mode == "semantic", self.body_hashes
        )
        self._settling = Settling(self._parts, self.rewriter)
        self._listening = Listening(self, self._channels, self._gates, self._settling)
        self._remembered: dict[bytes, bytes] = {}
        self._remembered_names = 0
        self._cursor = -1
        self._next: Part | None = None
        self._pending: Wait | None = None
        self._prologue = bytearray()
        self._expect_names()
        self._advance()

    # -- contract -------------------------------------------------------------------------

    def start(self, now_ns: int) -> None:
        self._listening.start(now_ns)

    def receive(self, octets: bytes, now_ns: int) -> None:
        self._listening.receive(octets, now_ns)

    def end_of_stream(self, now_ns: int) -> None:
        if not self.is_closed and not self.failure and not self.is_done:
            where = self.waiting_for or f"step {self._next.name if self._next else 'last'}"
            self.failure = f"the peer closed the connection without a word (at {where})"
        self.is_closed = True

    def urgent(self, now_ns: int) -> bytes:
        return self._listening.urgent(now_ns)

    @property
    def wake_ns(self) -> int | None:
        return self._listening.wake_ns

    @property
    def next_ts_ns(self) -> int | None:
        return None if self._next is None or self.is_closed else self._next.ts_ns

    @property
    def outstanding_ts_ns(self) -> int | None:
        times = [] if self.next_ts_ns is None else [self.next_ts_ns]
        if not self.is_closed:
            times += [s.awaited[0].ts_ns for s in self._channels.values()
                      if s.awaited and not s.is_dead]  # fmt: skip
        return min(times, default=None)

    @property
    def settle_ns(self) -> int:
        """A get finds what is in the queue at that moment."""
        return SETTLE_NS if self._next is not None and self._next.name == "basic.get" else 0

    @property
    def is_done(self) -> bool:
        if self.is_closed or self.failure:
            return True
        if self._next is not None or not self.handshake.is_done:
            return False
        self._pending = self._gates.wait_rest()
        self.waiting_for = self._pending.reason if self._pending else None
        return self._pending is None

    def poll(self, now_ns: int) -> Outgoing | None:
        part = self._next
        if part is None or self.is_closed or self.failure:
            return None
        if not self.handshake.is_done:
            self.waiting_for = self.handshake.waiting_for
            return None
        self._pending = self._gates.wait(part)
        if self._pending is None:
            try:
                octets = self._render(part)
            except PendingNameError as error:
                self._pending = self._wait_for_name(str(error))
            except MissingDeliveryError as missing:
                self._pending = Wait(str(missing), missing.give_up)
        if self._pending is not None:
            self.waiting_for = self._pending.reason
            return None
        self.waiting_for = None
        assert part.step is not None
        if octets:
            self.sent_step_count += 1
            self._listening.sent(now_ns)
        else:
            self.skipped_step_count += 1
        self._advance()
        return Outgoing(octets, part.step)

    def skip_wait(self, now_ns: int) -> None:
        if not self.handshake.is_done:
            self.failure = f"no {self.handshake.waiting_for} came"
            return
        if self._pending is None or self._pending.is_firm:
            return
        step = self._next.step if self._next else None
        self.note("wait", self._pending.give_up(), "hard", step)
        self._pending = None

    def goodbye(self, now_ns: int) -> bytes:
        if self.is_closed or not self.handshake.is_done:
            return b""
        method = self.vocabulary.dialect.by_name["connection.close"]
        return encode_part(METHOD, 0, encode_method(method, CLOSE_REPLY))

    def opened(self) -> None:
        """The handshake is done: limits are known."""
        self._contents.frame_max = self.handshake.frame_max
        self._contents.captured_frame_max = self.handshake.captured_frame_max

    def will_answer_close(self, channel: int) -> bool:
        """The capture has a close of this channel by the server here, and our answer to it."""
        for part in self._parts[max(0, self._cursor) :]:
            if part.channel == channel and part.side == CLIENT:
                if part.name == "channel.close-ok":
                    return True
                if part.name == "channel.open":
                    return False
        return False

    def closed_by_peer(self, why: str) -> None:
        self.is_closed = True
        if self._next is not None:
            self.note("closed", f"the server closed the connection: {why}", "info", self._next.step)

    # -- the walk -------------------------------------------------------------------------

    def channel(self, number: int) -> ChannelState:
        state = self._channels.get(number)
        if state is None:
            state = self._channels[number] = ChannelState(number)
        return state

    def _advance(self) -> None:
        """To our next step; what the server says on the way is expected from then on."""
        parts = self._parts
        while True:
            self._cursor += 1
            if self._cursor >= len(parts):
                self._next = None
                return
            part = parts[self._cursor]
            if part.side == CLIENT:
                if part.name not in HANDSHAKE and part.name != PROTOCOL_HEADER \
                        and part.type != HEARTBEAT:  # fmt: skip
                    self._next = part
                    return
            elif part.type == METHOD:
                self._expect(part)

    def _expect(self, part: Part) -> None:
        name = part.name
        if name in self.vocabulary.server_replies:
            if part.request is not None and part.request.name not in HANDSHAKE:
                self.channel(part.channel).expect(part)
        elif name in ("channel.close", "connection.close"):
            self.channel(part.channel).expect(part)
        elif name in SETTLEMENTS:
            window = self.channel(part.channel).captured_window
            if window is not None:
                window.settle(part.number("delivery-tag"), bool(part.get("multiple")))
        if name in ("basic.deliver", "basic.get-ok") and part.content and part.content.is_complete:
            self._settling.captured(self.channel(part.channel), part)
        elif name == "tx.rollback-ok":
            self.channel(part.channel).captured.rollback()
        elif name == "tx.commit-ok":
            self.channel(part.channel).captured.commit()

    # -- what goes out --------------------------------------------------------------------

    def _render(self, part: Part) -> bytes:
        """The octets of a step; empty where it is skipped or was said already."""
        assert part.step is not None
        if part.type != METHOD:
            return self._render_content(part)
        name = part.name
        state = self.channel(part.channel)
        if name in ANSWERS:
            return self._render_answer(part, state)
        if name in SECRETS:
            self.note("secret", f"{name} was not sent: its secret is not ours", step=part.step)
            return b""
        if state.is_dead and name == "channel.open":
            state = self._channels[part.channel] = ChannelState(part.channel)
        is_dead = state.is_dead and not state.owes_close_ok
        if is_dead or (part.content and self._is_cut(part)):
            return self._skip(part)
        if name in SETTLEMENTS:
            octets = self._settling.render(state, part)
        else:
            octets = self._render_method(part)
        self._do(part, state)
        return octets

    def _render_method(self, part: Part) -> bytes:
        assert part.step is not None
        if part.content is not None:
            part.content.plan = self._contents.plan(part.content)
        is_semantic = self.settings.mode == "semantic"
        if not is_semantic and self.rewriter.is_plain:
            return part.step.octets
        if self._remembered_names != len(self.rewriter.learnt):
            self._remembered.clear()
            self._remembered_names = len(self.rewriter.learnt)
        known = self._remembered.get(part.step.octets)
        if known is not None:
            return known
        if part.name == "basic.cancel":
            payload = self._settling.rename_consumer(part)
        else:
            payload = rename_method(part, self.rewriter)
        if is_semantic:
            written = reencode_method(part, payload)
            if written is None:
                self.note("semantic", f"{part.name} cannot be written anew", step=part.step)
                return b""
            payload = written
        if payload == part.payload:
            octets = part.step.octets
        else:
            octets = encode_part(METHOD, part.channel, payload)
        if len(self._remembered) < MAX_REMEMBERED and part.name == "basic.publish":
            self._remembered[part.step.octets] = octets
        return octets

    def _render_content(self, part: Part) -> bytes:
        """Headers and bodies follow what was decided for their method."""
        assert part.step is not None
        plan = part.content.plan if part.content is not None else AS_CAPTURED
        if not isinstance(plan, ContentPlan):
            plan = AS_CAPTURED
        if plan.is_skipped:
            return b""
        content = part.content
        if content is None or plan is AS_CAPTURED:
            state = self.channel(part.channel)
            return b"" if state.is_dead and not state.owes_close_ok else part.step.octets
        if part is content.header:
            octets = part.step.octets if plan.header is None else plan.header
            # A body that was empty has no frame of its own to go out with.
            return octets if content.bodies or not plan.bodies else octets + b"".join(plan.bodies)
        if plan.bodies is None:
            return part.step.octets
        return b"".join(plan.bodies) if part is content.bodies[0] else b""

    def _render_answer(self, part: Part, state: ChannelState) -> bytes:
        """The server was answered when it asked; what it did not ask is made good."""
        assert part.step is not None
        if part.name != "channel.close-ok":
            return b""
        if state.is_dead:
            octets = part.step.octets if state.owes_close_ok else b""
            state.owes_close_ok = False
            return octets
        self.note("channel", f"the server did not close channel {part.channel}: closed by us",
                  "info", part.step)  # fmt: skip
        state.is_dead = True
        return self._listening.close_channel(part.channel)

    def _skip(self, part: Part) -> bytes:
        if part.content is not None:
            part.content.plan = SKIPPED
        if is_request(part) and part.reply is not None:
            self.channel(part.channel).surplus += 1
        what = (
            "the capture cuts it off"
            if part.content and self._is_cut(part)
            else (f"channel {part.channel} was closed by the server")
        )
        self.note("skipped", f"{part.name}: {what}", "info", part.step)
        return b""

    def _do(self, part: Part, state: ChannelState) -> None:
        """What a step that goes out means for its channel."""
        name = part.name
        if is_request(part):
            state.requests.append(part)
        if name == "basic.publish":
            if state.captured_window is not None and state.live_window is not None:
                state.captured_window.publish()
                state.live_window.publish()
        elif name == "confirm.select":
            state.captured_window, state.live_window = Window(), Window()
        elif name == "tx.select":
            state.captured.is_transactional = state.live.is_transactional = True
        elif name == "basic.consume":
            self._settling.consume(part)
        elif name in RECOVERING:
            state.recover()

    def _is_cut(self, part: Part) -> bool:
        """A content that the end of the capture cuts off, rather than its sender."""
        if part.content is None or part.content.is_complete:
            return False
        later = self._parts[self._cursor + 1 :]
        return not any(
            p.side == CLIENT and p.channel == part.channel and p.type == METHOD for p in later
        )

    # -- names ----------------------------------------------------------------------------

    def _expect_names(self) -> None:
        """Names that the captured server made up, and names that are the capture's own."""
        for part in self._parts:
            if part.side != CLIENT or part.type != METHOD:
                continue
            for argument in NAME_ARGUMENTS.get(part.name, ()):
                name = part.text(argument)
                if name:
                    self.rewriter.see(name)
            if part.name == "queue.declare" and not part.text("queue") and part.reply is not None:
                self.rewriter.expect(part.reply.text("queue"))

    def _wait_for_name(self, name: str) -> Wait:
        def give_up() -> str:
            self.rewriter.learn(name, name)
            return f"the live server made no name in place of {name}"

        return Wait(f"the live name of {name}", give_up)
