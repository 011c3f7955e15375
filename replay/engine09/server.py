"""The server's side of a captured conversation for a live client: a mock broker.

The live client's methods are matched with the captured client's, channel by channel, by name and
order; tags, names it makes up and times may differ. Each captured server frame is released when
what came before it in the capture has come from the live client. What the client said otherwise
is found by the comparison, not here.
"""

from __future__ import annotations

from collections import Counter

from dissectors.amqp09.frames import HEADER, HEARTBEAT, METHOD
from dissectors.amqp09.methods import DecodedMethod, encode_method, splice
from replay.engine import Engine, Outgoing, Settings
from replay.engine09.channel import Deliveries, Key
from replay.engine09.inbox import Inbox, NotAmqpError
from replay.engine09.listening import HEARTBEAT_FRAME, NS_PER_S, SILENT_INTERVALS
from replay.engine09.matching import Matcher, Release
from replay.engine09.parts import (
    PROTOCOL_HEADER,
    Content,
    Part,
    encode_part,
    read_parts,
    split_body,
)
from replay.engine09.rewriting import ContentPlan
from replay.engine09.vocabulary import ANSWERS, HANDSHAKE, SETTLEMENTS, vocabulary
from replay.script import CLIENT, SERVER, ConversationScript

# 0-9-1 §1.1: not-implemented, the closest that the protocol has to "not in the capture".
NOT_CAPTURED = 540
# Properties that a client makes anew each time; replies must carry its own.
CLIENT_PROPERTIES = ("message-id", "correlation-id", "reply-to")
NO_KEY = Key("", "", "", "")


class ServerEngine09(Engine):
    """See `replay.engine.Engine`."""

    dialects = ("0-9-1", "0-9", "0-8")

    def __init__(self, conversation: ConversationScript, role: str, settings: Settings) -> None:
        super().__init__(conversation, role, settings)
        product = conversation.row.get("server_product") or ""
        self.vocabulary = vocabulary(conversation.dialect or "0-9-1", product)
        self._parts = read_parts(conversation, self.vocabulary)
        self._templates = {p.name: p for p in reversed(self._parts) if p.side == SERVER}
        headers = [p.payload for p in self._parts if p.side == CLIENT and p.name == PROTOCOL_HEADER]
        self._header = headers[0] if headers else b""
        self._matcher = Matcher(self._parts)
        self._inbox = Inbox(self.vocabulary, CLIENT)
        self._deliveries: dict[int, Deliveries] = {}
        self._consumers: dict[tuple[int, str], str] = {}
        self._out = bytearray()
        self._is_open = False
        self._frame_max = 0
        self._heartbeat_s = 0
        self._last_sent_ns = self._last_heard_ns = 0
        self.unmatched: Counter[str] = Counter()

    # -- contract -------------------------------------------------------------------------

    def start(self, now_ns: int) -> None:
        self._last_sent_ns = self._last_heard_ns = now_ns

    def receive(self, octets: bytes, now_ns: int) -> None:
        self._last_heard_ns = now_ns
        try:
            found = self._inbox.feed(octets)
        except NotAmqpError as error:
            self.failure = str(error)
            return
        for part, content in found:
            if self.is_closed:
                return
            if content is not None:
                self._request(content.method)
            elif part.name == PROTOCOL_HEADER:
                self._greet(part)
            elif part.type == METHOD and part.content is None:
                self._method(part)

    def end_of_stream(self, now_ns: int) -> None:
        self.is_closed = True

    def urgent(self, now_ns: int) -> bytes:
        interval = self._heartbeat_s * NS_PER_S
        if interval and not self.is_closed:
            if now_ns - self._last_sent_ns >= interval // 2:
                self._out += HEARTBEAT_FRAME
            if now_ns - self._last_heard_ns > SILENT_INTERVALS * interval:
                self.failure = "the client missed its heartbeats"
        out = bytes(self._out)
        self._out.clear()
        if out:
            self._last_sent_ns = now_ns
        return out

    @property
    def wake_ns(self) -> int | None:
        return self._last_sent_ns + self._heartbeat_s * NS_PER_S // 2 if self._heartbeat_s else None

    @property
    def next_ts_ns(self) -> int | None:
        release = None if self.is_closed or not self._is_open else self._matcher.next()
        return None if release is None else release.part.ts_ns

    @property
    def is_done(self) -> bool:
        return self.is_closed or self.failure is not None

    def poll(self, now_ns: int) -> Outgoing | None:
        release = None if self.is_closed or not self._is_open else self._matcher.take()
        if release is None:
            # A server that waits for its client is as it should be.
            self.waiting_for = None
            return None
        part = release.part
        assert part.step is not None
        octets = self._render(release)
        if octets:
            self.sent_step_count += 1
            self._last_sent_ns = now_ns
        else:
            self.skipped_step_count += 1
        return Outgoing(octets, part.step)

    def skip_wait(self, now_ns: int) -> None:
        """A server waits for its client as long as it takes; the run's own limit ends it."""

    def goodbye(self, now_ns: int) -> bytes:
        if self.is_closed or not self._is_open:
            return b""
        self.is_closed = True
        return self._close_frame("connection.close", 0, 320, "the replay ends")

    # -- the client speaks ----------------------------------------------------------------

    def _greet(self, part: Part) -> None:
        start = self._templates.get("connection.start")
        if part.payload != self._header or start is None or start.step is None:
            self._out += self._header
            self.failure = "the client asks for another version of AMQP than captured"
            return
        self._out += start.step.octets

    def _method(self, part: Part) -> None:
        if part.name in HANDSHAKE:
            self._shake_hands(part)
        elif part.name == "connection.close":
            self._say("connection.close-ok", 0, {})
            self.is_closed = True
        elif part.name == "connection.close-ok":
            self.is_closed = True
        elif part.type != HEARTBEAT and part.name not in ANSWERS:
            self._request(part)

    def _shake_hands(self, part: Part) -> None:
        if part.name == "connection.start-ok":
            self._send_template("connection.tune")
        elif part.name == "connection.tune-ok":
            self._frame_max = part.number("frame-max")
            self._heartbeat_s = part.number("heartbeat")
        elif part.name == "connection.open":
            self._is_open = self._send_template("connection.open-ok")

    def _send_template(self, name: str) -> bool:
        """What the captured server said here, or how it refused."""
        for candidate in (name, "connection.close"):
            template = self._templates.get(candidate)
            if template is not None and template.step is not None:
                self._out += template.step.octets
                return candidate == name
        self.failure = f"the capture has no {name}"
        return False

    def _request(self, part: Part) -> None:
        if part.name in SETTLEMENTS:
            self._settle(part)
            return
        captured = self._matcher.match(part)
        if captured is None:
            self._refuse(part)
            return
        if part.name == "basic.consume":
            tag = captured.text("consumer-tag") or _reply_text(captured, "consumer-tag")
            live = part.text("consumer-tag") or tag
            self._consumers[part.channel, tag] = live
        elif part.name == "basic.publish":
            self._learn(captured.content, part.content)

    def _settle(self, part: Part) -> None:
        deliveries = self._deliveries.setdefault(part.channel, Deliveries())
        tags = deliveries.covered(part.number("delivery-tag"), bool(part.get("multiple")))
        deliveries.settle(tags)
        self._matcher.settled(part.channel, len(tags))

    def _learn(self, captured: Content | None, live: Content | None) -> None:
        """What the live client calls its message, for the replies to it."""
        heads = [c.header.header() if c and c.header else None for c in (captured, live)]
        if heads[0] is None or heads[1] is None:
            return
        one, other = heads[0].as_dict(), heads[1].as_dict()
        for name in CLIENT_PROPERTIES:
            if one.get(name) and other.get(name) and one[name] != other[name]:
                self.rewriter.learn(one[name], other[name])

    def _refuse(self, part: Part) -> None:
        """The capture has nothing like it."""
        self.unmatched[part.name] += 1
        self.note(
            "unmatched", f"{part.name} on channel {part.channel} is not in the capture", "soft"
        )
        text = f"{part.name} is not in the capture"
        if self.settings.unmatched == "close":
            self._out += self._close_frame("connection.close", 0, NOT_CAPTURED, text)
        elif self.settings.unmatched == "error":
            self._out += self._close_frame("channel.close", part.channel, NOT_CAPTURED, text)
            self._matcher.drop_channel(part.channel)

    # -- the server answers ---------------------------------------------------------------

    def _render(self, release: Release) -> bytes:
        part = release.part
        assert part.step is not None
        if part.type != METHOD:
            return self._render_content(part)
        if part.name in ("basic.deliver", "basic.get-ok"):
            is_no_ack = bool(part.request is not None and part.request.get("no-ack"))
            deliveries = self._deliveries.setdefault(part.channel, Deliveries())
            deliveries.add(part.number("delivery-tag"), NO_KEY, is_no_ack)
        if part.content is not None:
            part.content.plan = self._plan(part.content)
        changes = {}
        tag = part.text("consumer-tag")
        live = self._consumers.get((part.channel, tag), tag)
        if live != tag:
            changes["consumer-tag"] = live
        key = part.text("routing-key")
        if key in self.rewriter.learnt:
            changes["routing-key"] = self.rewriter.learnt[key]
        if not changes or part.method is None:
            return part.step.octets
        return encode_part(METHOD, part.channel, splice(part.method, changes))

    def _render_content(self, part: Part) -> bytes:
        assert part.step is not None
        content = part.content
        plan = content.plan if content is not None else None
        if content is None or not isinstance(plan, ContentPlan):
            return part.step.octets
        if part is content.header:
            return part.step.octets if plan.header is None else plan.header
        if plan.bodies is None:
            return part.step.octets
        return b"".join(plan.bodies) if part is content.bodies[0] else b""

    def _plan(self, content: Content) -> ContentPlan:
        """The client's own identifiers, and bodies that fit its frame-max."""
        plan = ContentPlan()
        header = content.header
        decoded = header.header() if header is not None else None
        if header is not None and decoded is not None:
            values = decoded.as_dict()
            learnt = self.rewriter.learnt
            changes = {n: learnt[values[n]] for n in CLIENT_PROPERTIES if values.get(n) in learnt}
            if changes:
                method = DecodedMethod(None, header.payload, decoded.properties)  # type: ignore[arg-type]
                plan.header = encode_part(HEADER, header.channel, splice(method, changes))
        limit = self._frame_max
        if limit and any(len(b.payload) + 8 > limit for b in content.bodies):
            plan.bodies = list(split_body(content.method.channel, content.body(), limit))
        return plan

    def _close_frame(self, name: str, channel: int, code: int, text: str) -> bytes:
        values = {"reply-code": code, "reply-text": text, "class-id": 0, "method-id": 0}
        return encode_part(
            METHOD, channel, encode_method(self.vocabulary.dialect.by_name[name], values)
        )

    def _say(self, name: str, channel: int, values: dict[str, object]) -> None:
        method = self.vocabulary.dialect.by_name[name]
        self._out += encode_part(METHOD, channel, encode_method(method, values))


def _reply_text(part: Part, argument: str) -> str:
    return part.reply.text(argument) if part.reply is not None else ""
