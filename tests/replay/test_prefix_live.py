"""A prefix changes names and nothing else: octets on the wire, read by pamqp, field by field."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pamqp import base, frame

from dissectors.amqp09.frames import HEARTBEAT
from replay.report import SAME, as_text
from replay.script import CLIENT, ConversationScript, Script, read_script
from tests.live.rabbitmq import Broker
from tests.live.recording import Recording
from tests.replay.conftest import PREFIX, Replayer

pytestmark = pytest.mark.live

SERVER_NAMED = re.compile(rb"amq\.gen-[\w-]{22}")
# Names of the scenarios, as short strings (0-9-1 §4.2.5.3): one octet of length before each.
OWN_NAME = re.compile(rb"[\x04-\x20](sc\.[a-z]+)")

PUBLISH = {"Basic.Publish.routing_key"}
DECLARE = {"Queue.Declare.queue", "Queue.Delete.queue"}
CONSUME = {"Basic.Consume.queue"}
GET = {"Basic.Get.queue"}
# scenario → the fields that a prefix may change, and does
CHANGED: dict[str, set[str]] = {
    "publish": DECLARE | PUBLISH,
    "publish-small-frames": DECLARE | PUBLISH,
    "consume": DECLARE | PUBLISH | CONSUME | GET | {"Queue.Purge.queue"},
    "rpc": DECLARE | PUBLISH | CONSUME,
    "transactions": DECLARE | PUBLISH | CONSUME,
    "channel-errors": DECLARE | CONSUME,
    "exchange": DECLARE
    | CONSUME
    | {"Exchange.Declare.exchange", "Exchange.Delete.exchange", "Basic.Publish.exchange"}
    | {"Queue.Bind.queue", "Queue.Bind.exchange"},
    "idle": set(),
    "two-connections": DECLARE | PUBLISH | CONSUME,
    "get-across-connections": DECLARE | PUBLISH | GET,
}


@pytest.mark.parametrize("scenario", CHANGED)
def test_a_prefix_changes_names_and_nothing_else(
    scenario: str,
    captured: Callable[[str], tuple[str, Script]],
    replay: Replayer,
    broker: Broker,
    tmp_path: Path,
) -> None:
    path, script = captured(scenario)
    with Recording(tmp_path / "again.pcap", broker.port) as recording:
        report = replay(path, script)
    assert report.exit_code == SAME, as_text(report)
    again = read_script(recording.path)
    found: set[str] = set()
    for one, other in zip(script.connections, again.connections, strict=True):
        for before, after in zip(client_frames(one), client_frames(other), strict=True):
            assert after == renamed(before)
            found |= changed_fields(before, after)
    assert found == CHANGED[scenario]


def client_frames(conversation: ConversationScript) -> list[bytes]:
    """What the client said, with one name for all queues that the server named."""
    mine = [s.octets for s in conversation.steps if s.side == CLIENT and s.octets[0] != HEARTBEAT]
    return [SERVER_NAMED.sub(b"amq.gen-" + b"x" * 22, octets) for octets in mine]


def renamed(octets: bytes) -> bytes:
    """The frame as it must be: names longer by the prefix, their lengths and the frame's too."""
    if octets[0] != 1:
        return octets
    payload = OWN_NAME.sub(_with_prefix, octets[7:-1])
    return octets[:3] + len(payload).to_bytes(4, "big") + payload + octets[-1:]


def _with_prefix(match: re.Match[bytes]) -> bytes:
    assert match[0][0] == len(match[1])
    name = PREFIX.encode() + match[1]
    return bytes([len(name)]) + name


def changed_fields(before: bytes, after: bytes) -> set[str]:
    """By pamqp: Class.Method.field; each of them must be the captured one behind the prefix."""
    (_, channel, one), (_, same_channel, other) = frame.unmarshal(before), frame.unmarshal(after)
    assert channel == same_channel and type(one) is type(other)
    if not isinstance(one, base.Frame):
        return set()
    values, live = dict(one), dict(other)
    assert list(values) == list(live)
    found = {name for name in values if values[name] != live[name]}
    assert all(live[name] == PREFIX + values[name] for name in found)
    return {f"{one.name}.{name}" for name in found}
