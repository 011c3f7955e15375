"""Two 1.0 engines in one process, talking to each other: a conversation with itself.

Time is counted, not measured, so that a test takes no longer than its frames do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from replay.engine import Settings
from replay.engine10.engine import Engine10
from replay.engine10.frame import PROTOCOL_HEADER, Frame
from replay.engine10.stream import Cutter
from replay.script import ConversationScript

STEP_NS = 1_000_000
MAX_TURNS = 100_000
#: Turns without any octet before both give up what they wait for.
PATIENCE = 3


@dataclass
class Dialogue:
    """What both sides said, by side, as frames; and what they had to give up."""

    client: Engine10
    server: Engine10
    said: tuple[list[Frame], list[Frame]] = field(default_factory=lambda: ([], []))
    given_up: list[str] = field(default_factory=list)

    def names(self, side: int) -> list[str]:
        return [frame.name for frame in self.said[side]]

    def frames(self, side: int, name: str) -> list[Frame]:
        return [frame for frame in self.said[side] if frame.name == name]


def talk(
    conversation: ConversationScript,
    client: Settings | None = None,
    server: Settings | None = None,
    server_script: ConversationScript | None = None,
) -> Dialogue:
    """Play both sides of a conversation until neither has anything to say."""
    dialogue = Dialogue(
        Engine10(conversation, "client", client or Settings()),
        Engine10(server_script or conversation, "server", server or Settings()),
    )
    engines = (dialogue.client, dialogue.server)
    cutters = (Cutter(), Cutter())
    now_ns = STEP_NS
    for engine in engines:
        engine.start(now_ns)
    idle = 0
    for _ in range(MAX_TURNS):
        now_ns += STEP_NS
        octets = [_turn(engine, now_ns) for engine in engines]
        for side, sent in enumerate(octets):
            for frame in map(Frame, cutters[side].feed(sent)):
                if frame.name != PROTOCOL_HEADER and not frame.name.startswith("sasl-"):
                    dialogue.said[side].append(frame)
            if sent:
                engines[1 - side].receive(sent, now_ns)
        idle = 0 if any(octets) else idle + 1
        if not any(octets) and all(engine.is_done for engine in engines):
            return dialogue
        if idle > PATIENCE:
            idle = 0
            for engine in engines:
                if engine.waiting_for:
                    dialogue.given_up.append(engine.waiting_for)
                engine.skip_wait(now_ns)
    raise AssertionError(f"no end: {[engine.waiting_for for engine in engines]}")


def _turn(engine: Engine10, now_ns: int) -> bytes:
    octets = engine.urgent(now_ns)
    if engine.next_ts_ns is not None and not engine.is_done:
        out = engine.poll(now_ns)
        while out is not None and not out.octets and engine.next_ts_ns is not None:
            out = engine.poll(now_ns)
        octets += b"" if out is None else out.octets
    return octets
