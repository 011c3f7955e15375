"""What goes out for each step of a replayed client, and what that means for its channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissectors.amqp09.frames import METHOD
from replay.engine09.channel import ChannelState, Window
from replay.engine09.gates import RECOVERING
from replay.engine09.listening import Listening
from replay.engine09.parts import Part, encode_part, is_request
from replay.engine09.rewriting import (
    AS_CAPTURED,
    SKIPPED,
    ContentPlan,
    ContentRewriter,
    reencode_method,
    rename_method,
)
from replay.engine09.settling import Settling
from replay.engine09.vocabulary import ANSWERS, SECRETS, SETTLEMENTS

if TYPE_CHECKING:
    from replay.engine09.client import ClientEngine09

# Publishes whose rewritten form is remembered.
MAX_REMEMBERED = 4096


class Rendering:
    """The sending half of a `ClientEngine09`. May raise what a step still waits for."""

    def __init__(
        self,
        engine: ClientEngine09,
        channels: dict[int, ChannelState],
        listening: Listening,
        settling: Settling,
    ) -> None:
        self._engine = engine
        self._channels = channels
        self._listening = listening
        self._settling = settling
        self._rewriter = engine.rewriter
        self._is_semantic = engine.settings.mode == "semantic"
        self._contents = ContentRewriter(self._rewriter, self._is_semantic, engine.body_hashes)
        self._remembered: dict[bytes, bytes] = {}
        self._remembered_names = 0

    def limit(self, frame_max: int, captured_frame_max: int) -> None:
        """What both sides have agreed to, live and in the capture."""
        self._contents.frame_max = frame_max
        self._contents.captured_frame_max = captured_frame_max

    def render(self, part: Part) -> bytes:
        """The octets of a step; empty where it is skipped or was said already."""
        assert part.step is not None
        if part.type != METHOD:
            return self._render_content(part)
        name = part.name
        state = self._engine.channel(part.channel)
        if name in ANSWERS:
            return self._render_answer(part, state)
        if name in SECRETS:
            self._engine.note(
                "secret", f"{name} was not sent: its secret is not ours", step=part.step
            )
            return b""
        if state.is_dead and name == "channel.open":
            state = self._channels[part.channel] = ChannelState(part.channel)
        is_dead = state.is_dead and not state.owes_close_ok
        if is_dead or (part.content and self._engine.is_cut(part)):
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
        if part.name == "basic.cancel":
            return self._finish(part, self._settling.rename_consumer(part))
        if not self._is_semantic and self._rewriter.is_plain:
            return part.step.octets
        if self._remembered_names != len(self._rewriter.learnt):
            self._remembered.clear()
            self._remembered_names = len(self._rewriter.learnt)
        known = self._remembered.get(part.step.octets)
        if known is not None:
            return known
        octets = self._finish(part, rename_method(part, self._rewriter))
        if len(self._remembered) < MAX_REMEMBERED and part.name == "basic.publish":
            self._remembered[part.step.octets] = octets
        return octets

    def _finish(self, part: Part, payload: bytes) -> bytes:
        """The frame around a payload; in semantic mode the payload is written anew."""
        assert part.step is not None
        if self._is_semantic:
            written = reencode_method(part, payload)
            if written is None:
                self._engine.note("semantic", f"{part.name} cannot be written anew", step=part.step)
                return b""
            payload = written
        if payload == part.payload:
            return part.step.octets
        return encode_part(METHOD, part.channel, payload)

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
            state = self._engine.channel(part.channel)
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
        text = f"the server did not close channel {part.channel}: closed by us"
        self._engine.note("channel", text, "info", part.step)
        state.is_dead = True
        return self._listening.close_channel(part.channel)

    def _skip(self, part: Part) -> bytes:
        if part.content is not None:
            part.content.plan = SKIPPED
        if is_request(part) and part.reply is not None:
            self._engine.channel(part.channel).surplus += 1
        what = (
            "the capture cuts it off"
            if part.content and self._engine.is_cut(part)
            else (f"channel {part.channel} was closed by the server")
        )
        self._engine.note("skipped", f"{part.name}: {what}", "info", part.step)
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
