"""Every 0-9 sample played against itself: the captured client's side and the captured server's,
both ours, talk to each other without a socket, and all that was captured is said again."""

from __future__ import annotations

import pytest

from dissectors.amqp09.frames import HEARTBEAT
from replay.engine import Engine, Settings, make_engine
from replay.plan import refusal_of
from replay.script import CLIENT, SERVER, ConversationScript, read_script
from tests.samples import sample

SAMPLES = ["01", "02", "03", "04a", "05", "06", "07", "09", "20a", "27", "29", "31", "32"]
MAX_TURNS = 20_000
# Turns in which nobody says anything, after which whoever waits must give up.
PATIENCE = 5
HANDSHAKE_FRAMES = {CLIENT: 4, SERVER: 3}


def talk(client: Engine, server: Engine) -> list[bytes]:
    """Both until neither has anything to say; the octets of each side."""
    said = [b"", b""]
    engines = (client, server)
    for engine in engines:
        engine.start(0)
    idle = 0
    for now_ns in range(MAX_TURNS):
        spoke = False
        for side, engine in enumerate(engines):
            octets = engine.urgent(0)
            out = engine.poll(now_ns)
            octets += out.octets if out is not None else b""
            spoke = spoke or out is not None or bool(octets)
            if octets:
                said[side] += octets
                engines[1 - side].receive(octets, 0)
        idle = 0 if spoke else idle + 1
        if idle > PATIENCE:
            break
    return said


@pytest.mark.parametrize("number", SAMPLES)
def test_a_captured_conversation_holds_with_itself(number: str) -> None:
    script = read_script(sample(number))
    played = [c for c in script.connections if refusal_of(c, script) is None]
    assert played
    for conversation in played:
        settings = Settings(heartbeat_s=0)
        client = make_engine(conversation, "client", settings)
        server = make_engine(conversation, "server", Settings())
        talk(client, server)
        assert client.failure is None and server.failure is None
        assert [n.text for n in (*client.notes, *server.notes) if n.severity == "hard"] == []
        assert client.sent_step_count + client.skipped_step_count == _steps(conversation, CLIENT)
        assert client.next_ts_ns is None


def _steps(conversation: ConversationScript, side: int) -> int:
    mine = [s for s in conversation.steps if s.side == side and s.octets[0] != HEARTBEAT]
    return len(mine) - HANDSHAKE_FRAMES[side]
