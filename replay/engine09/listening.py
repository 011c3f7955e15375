"""What the live server says to a replayed client: the handshake, replies, deliveries, closes.

Also what must be said to it at once: answers that the protocol demands, and heartbeats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissectors.amqp09.frames import HEARTBEAT, METHOD
from dissectors.amqp09.methods import encode_method
from replay.engine09.channel import ChannelState
from replay.engine09.gates import Gates
from replay.engine09.handshake import HandshakeError
from replay.engine09.inbox import Inbox, NotAmqpError
from replay.engine09.parts import Part, encode_part
from replay.engine09.settling import Settling
from replay.script import SERVER

if TYPE_CHECKING:
    from replay.engine09.client import ClientEngine09

HEARTBEAT_FRAME = encode_part(HEARTBEAT, 0, b"")
NS_PER_S = 1_000_000_000
# 0-9-1 §4.2.7: a peer that is silent for two intervals is gone; we speak every half.
SILENT_INTERVALS = 2
CLOSE_ARGUMENTS = {"reply-code": 200, "reply-text": "replay", "class-id": 0, "method-id": 0}


class Listening:
    """The receiving half of a `ClientEngine09`."""

    def __init__(
        self,
        engine: ClientEngine09,
        channels: dict[int, ChannelState],
        gates: Gates,
        settling: Settling,
    ) -> None:
        self._engine = engine
        self._channels = channels
        self._gates = gates
        self._settling = settling
        self._inbox = Inbox(engine.vocabulary, SERVER)
        self._out = bytearray()
        self._last_sent_ns = 0
        self._last_heard_ns = 0
        self._handlers = {
            "channel.close": self._channel_close,
            "connection.close": self._connection_close,
            "connection.close-ok": self._connection_close_ok,
            "connection.blocked": self._blocked,
            "connection.unblocked": self._unblocked,
            "channel.flow": self._flow,
            "basic.cancel": self._cancel,
            "basic.ack": self._confirm,
            "basic.nack": self._confirm,
        }

    def start(self, now_ns: int) -> None:
        self._last_sent_ns = self._last_heard_ns = now_ns
        self._out += self._engine.handshake.header

    def sent(self, now_ns: int) -> None:
        self._last_sent_ns = now_ns

    def urgent(self, now_ns: int) -> bytes:
        interval = self._interval_ns()
        if interval and not self._engine.is_closed:
            if now_ns - self._last_sent_ns >= interval // 2:
                self._out += HEARTBEAT_FRAME
            if now_ns - self._last_heard_ns > SILENT_INTERVALS * interval:
                self._engine.failure = "the peer missed its heartbeats"
        out = bytes(self._out)
        self._out.clear()
        if out:
            self._last_sent_ns = now_ns
        return out

    @property
    def wake_ns(self) -> int | None:
        interval = self._interval_ns()
        return self._last_sent_ns + interval // 2 if interval else None

    def _interval_ns(self) -> int:
        return int(self._engine.handshake.heartbeat_s * NS_PER_S)

    def receive(self, octets: bytes, now_ns: int) -> None:
        self._last_heard_ns = now_ns
        engine = self._engine
        try:
            found = self._inbox.feed(octets)
        except NotAmqpError as error:
            engine.failure = str(error)
            return
        for part, content in found:
            if engine.is_closed:
                return
            if not engine.handshake.is_done:
                self._shake_hands(part)
            elif content is not None:
                self._content(content.method)
            elif part.type == METHOD and part.content is None:
                self._method(part)

    def _shake_hands(self, part: Part) -> None:
        engine = self._engine
        try:
            self._out += engine.handshake.answer(part)
        except HandshakeError as error:
            if engine.handshake.was_let_in:
                engine.failure = f"not let in: {error}"
            engine.is_closed = True
        if engine.handshake.is_done:
            for code, text in engine.handshake.notes:
                engine.note(code, text)
            engine.opened()

    # -- methods --------------------------------------------------------------------------

    def _method(self, part: Part) -> None:
        handler = self._handlers.get(part.name)
        if handler is not None:
            handler(part)
        elif part.name in self._engine.vocabulary.server_replies:
            self._reply(part)

    def _reply(self, part: Part) -> Part | None:
        """A reply to the first request that waits for one; the request."""
        state = self._engine.channel(part.channel)
        if part.name == "channel.close-ok" and state.is_closing:
            state.is_closing = False
            return None
        state.reply()
        if part.name == "tx.rollback-ok":
            state.live.rollback()
        elif part.name == "tx.commit-ok":
            state.live.commit()
        if not state.requests:
            return None
        request = state.requests.popleft()
        if part.name == "queue.declare-ok" and request.reply is not None:
            captured = request.reply.text("queue")
            if captured in self._engine.rewriter.expected:
                self._engine.rewriter.learn(captured, part.text("queue"))
        elif part.name == "basic.consume-ok":
            self._settling.consume_ok(request, part)
        elif part.name == "channel.close-ok":
            self._forget(part.channel)
        return request

    def _forget(self, channel: int) -> None:
        """Closed by us, as captured: whatever comes next on this number is another channel."""
        state = self._channels.get(channel)
        if state is not None:
            fresh = ChannelState(channel)
            fresh.awaited, fresh.surplus = state.awaited, state.surplus
            self._channels[channel] = fresh

    def _content(self, part: Part) -> None:
        state = self._engine.channel(part.channel)
        if part.name == "basic.get-ok":
            self._settling.arrived(state, part, self._reply(part))
        elif part.name == "basic.deliver":
            self._settling.arrived(state, part, None)

    def _confirm(self, part: Part) -> None:
        window = self._engine.channel(part.channel).live_window
        if window is not None:
            payload = part.payload
            window.settle(int.from_bytes(payload[4:12], "big"), bool(payload[12] & 1))

    def _channel_close(self, part: Part) -> None:
        state = self._engine.channel(part.channel)
        state.is_dead = True
        state.awaited.clear()
        state.requests.clear()
        if self._engine.will_answer_close(part.channel):
            state.owes_close_ok = True
        else:
            self._say("channel.close-ok", part.channel, {})

    def _connection_close(self, part: Part) -> None:
        self._say("connection.close-ok", 0, {})
        self._engine.closed_by_peer(f"{part.number('reply-code')} {part.text('reply-text')}")

    def _connection_close_ok(self, part: Part) -> None:
        self._engine.is_closed = True

    def _blocked(self, part: Part) -> None:
        self._gates.blocked_reason = part.text("reason")
        self._engine.note("blocked", f"the server blocks publishers: {part.text('reason')}", "soft")

    def _unblocked(self, part: Part) -> None:
        self._gates.blocked_reason = None

    def _flow(self, part: Part) -> None:
        is_active = bool(part.get("active"))
        self._engine.channel(part.channel).is_flow_stopped = not is_active
        self._say("channel.flow-ok", part.channel, {"active": is_active})

    def _cancel(self, part: Part) -> None:
        if not part.get("nowait"):
            self._say("basic.cancel-ok", part.channel, {"consumer-tag": part.text("consumer-tag")})

    def close_channel(self, channel: int) -> bytes:
        """A close that the capture does not have; its answer counts as nobody's."""
        self._engine.channel(channel).is_closing = True
        method = self._engine.vocabulary.dialect.by_name["channel.close"]
        return encode_part(METHOD, channel, encode_method(method, CLOSE_ARGUMENTS))

    def _say(self, name: str, channel: int, values: dict[str, object]) -> None:
        method = self._engine.vocabulary.dialect.by_name[name]
        self._out += encode_part(METHOD, channel, encode_method(method, values))
