"""The client's side of a captured conversation against a live server.

Walks the captured frames in order. Those of the server say what must have come by then; those of
the client go out, each when its gate opens.
"""

from __future__ import annotations

from dissectors.amqp09.frames import HEARTBEAT, METHOD
from dissectors.amqp09.methods import encode_method
from replay.engine import Engine, Outgoing, Settings
from replay.engine09.channel import ChannelState
from replay.engine09.gates import Gates, Wait
from replay.engine09.handshake import Handshake
from replay.engine09.listening import Listening
from replay.engine09.parts import PROTOCOL_HEADER, Part, encode_part, read_parts
from replay.engine09.prologue import with_prologue
from replay.engine09.rendering import Rendering
from replay.engine09.rewriting import PendingNameError
from replay.engine09.settling import MissingDeliveryError, Settling
from replay.engine09.vocabulary import (
    HANDSHAKE,
    NAME_ARGUMENTS,
    SETTLEMENTS,
    vocabulary,
)
from replay.script import CLIENT, ConversationScript

CLOSE_REPLY = {"reply-code": 200, "reply-text": "replay ends", "class-id": 0, "method-id": 0}
# What a broker takes at most until a message can be found in its queue, on a busy machine.
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
        self._settling = Settling(self._parts, self.rewriter)
        self._listening = Listening(self, self._channels, self._gates, self._settling)
        self._rendering = Rendering(self, self._channels, self._listening, self._settling)
        self._cursor = -1
        self._next: Part | None = None
        self._pending: Wait | None = None
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
                octets = self._rendering.render(part)
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
        self._rendering.limit(self.handshake.frame_max, self.handshake.captured_frame_max)

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

    def is_cut(self, part: Part) -> bool:
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
