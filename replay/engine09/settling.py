"""Acks, nacks and rejects with live delivery tags, and consumer tags that the server made.

A captured tag becomes the live tag of the same message: same consumer, same content, then order.
A `multiple` that would settle others too is written as single settlements.
"""

from __future__ import annotations

from collections.abc import Callable

from dissectors.amqp09.frames import METHOD
from dissectors.amqp09.methods import splice
from replay.engine09.channel import ChannelState, Key
from replay.engine09.parts import Part, encode_part
from replay.rewrite import Rewriter
from replay.script import SERVER


class MissingDeliveryError(Exception):
    """A delivery that the capture settles has not come yet."""

    def __init__(self, text: str, give_up: Callable[[], str]) -> None:
        super().__init__(text)
        self.give_up = give_up


class Settling:
    """The deliveries of one connection."""

    def __init__(self, parts: list[Part], rewriter: Rewriter) -> None:
        self._rewriter = rewriter
        # captured consumer-tag → live one, and back, per channel
        self._consumers: dict[tuple[int, str], str] = {}
        self._captured: dict[tuple[int, str], str] = {}
        self._no_ack: set[tuple[int, str]] = set()
        self._known: dict[int, set[Key]] = {}
        self._keys: dict[int, Key] = {}
        for part in parts:
            is_delivery = part.side == SERVER and part.name in ("basic.deliver", "basic.get-ok")
            if is_delivery and part.content is not None and part.content.is_complete:
                key = self._key(part, False)
                self._keys[id(part)] = key
                self._known.setdefault(part.channel, set()).add(key)

    # -- the two worlds' deliveries -------------------------------------------------------

    def captured(self, state: ChannelState, part: Part) -> None:
        tag = part.number("delivery-tag")
        key = self._keys[id(part)]
        state.deliver(tag, key, self._is_no_ack(part, key.consumer))

    def arrived(self, state: ChannelState, part: Part, request: Part | None) -> None:
        """A live delivery; `request` is the get that it answers."""
        key = self._key(part, True)
        part.request = request
        state.arrive(part.number("delivery-tag"), key, self._is_no_ack(part, key.consumer))

    def _key(self, part: Part, is_live: bool) -> Key:
        assert part.content is not None
        consumer = part.text("consumer-tag")
        exchange, key = part.text("exchange"), part.text("routing-key")
        body_hash = part.content.body_hash()
        if is_live:
            consumer = self._captured.get((part.channel, consumer), consumer)
            if not self._rewriter.is_plain:
                exchange, key = self._rewriter.back(exchange), self._rewriter.back(key)
                if self._rewriter.learnt:
                    body_hash = self._rewriter.captured_hash(part.content.body(), body_hash)
        return Key(consumer, exchange, key, body_hash)

    def _is_no_ack(self, part: Part, consumer: str) -> bool:
        if part.name == "basic.get-ok":
            return bool(part.request is not None and part.request.get("no-ack"))
        return (part.channel, consumer) in self._no_ack

    # -- consumers ------------------------------------------------------------------------

    def consume(self, part: Part) -> None:
        """Our consume went out; its tag is the client's or, if empty, the server's to choose."""
        tag = part.text("consumer-tag") or (part.reply.text("consumer-tag") if part.reply else "")
        if part.get("no-ack"):
            self._no_ack.add((part.channel, tag))

    def consume_ok(self, request: Part, part: Part) -> None:
        captured = request.reply.text("consumer-tag") if request.reply else ""
        live = part.text("consumer-tag")
        if captured and live:
            self._consumers[part.channel, captured] = live
            self._captured[part.channel, live] = captured
            if captured != live:
                # Only to read the live side as the capture would say it.
                self._rewriter.alias(captured, live)

    def rename_consumer(self, part: Part) -> bytes:
        captured = part.text("consumer-tag")
        live = self._consumers.get((part.channel, captured), captured)
        if live == captured or part.method is None:
            return part.payload
        return splice(part.method, {"consumer-tag": live})

    # -- settlements ----------------------------------------------------------------------

    def render(self, state: ChannelState, part: Part) -> bytes:
        """The settlement with live tags; raises MissingDeliveryError while one has not come."""
        assert part.step is not None
        method = part.method
        if method is None:
            return part.step.octets
        tag = part.number("delivery-tag")
        is_multiple = bool(part.get("multiple"))
        captured = state.captured.covered(tag, is_multiple)
        if not captured:
            # Settled before, or never delivered: the mistake is the capture's and is repeated.
            live_tag = state.tags.get(tag, tag)
            if live_tag == tag:
                return part.step.octets
            payload = splice(method, {"delivery-tag": live_tag})
            return encode_part(METHOD, part.channel, payload)
        live = [self._live_tag(state, one) for one in captured]
        wanted = [one for one in live if one]
        covered = state.live.covered(max(wanted, default=0), is_multiple) if wanted else []
        if is_multiple and sorted(covered) != sorted(wanted):
            payloads = [splice(method, {"delivery-tag": t, "multiple": False}) for t in wanted]
        elif not wanted:
            payloads = []
        elif is_multiple and not tag:
            payloads = [part.payload]
        else:
            payloads = [splice(method, {"delivery-tag": max(wanted)})]
        state.captured.settle(captured)
        state.live.settle(wanted)
        if payloads == [part.payload]:
            return part.step.octets
        return b"".join(encode_part(METHOD, part.channel, payload) for payload in payloads)

    def _live_tag(self, state: ChannelState, captured: int) -> int:
        """0 for a delivery that was given up."""
        known = self._known.get(state.number, set())
        found = state.match(captured, known)
        if found is not None:
            return found

        def give_up() -> str:
            """One that does not come in time rarely comes alone: no waiting for each of them."""
            missing = [t for t in state.captured.outstanding if state.match(t, known) is None]
            state.tags.update(dict.fromkeys(missing, 0))
            return f"deliveries {_span(missing)} of channel {state.number} did not come"

        raise MissingDeliveryError(
            f"delivery {captured} on channel {state.number} (as captured)", give_up
        )


def _span(tags: list[int]) -> str:
    return str(tags[0]) if len(tags) == 1 else f"{tags[0]} to {tags[-1]} ({len(tags)})"
