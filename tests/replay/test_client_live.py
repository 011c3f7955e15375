"""Replays against RabbitMQ: the same again and again, and the same octets on the wire."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from dissectors.amqp09.frames import HEARTBEAT
from dissectors.options import Options
from replay.report import SAME, as_text
from replay.script import CLIENT, ConversationScript, Script, read_script
from tests.live.rabbitmq import Broker
from tests.live.recording import Recording
from tests.replay.conftest import Replayer
from tests.replay.scenarios import SCENARIOS
from tests.samples import sample

pytestmark = pytest.mark.live

Captured = Callable[[str], tuple[str, Script]]
RUNS = 20
# header, start-ok, tune-ok, open
HANDSHAKE_STEPS = 4
SERVER_NAMED = re.compile(rb"amq\.gen-[\w-]{22}")
# An idle connection must be idle for as long as it was: its heartbeats take their time.
SPEED_OF = {"idle": "1"}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_replay_is_the_same_every_time(
    scenario: str, captured: Captured, replay: Replayer
) -> None:
    path, script = captured(scenario)
    assert len(script.connections) == (2 if "connections" in scenario else 1)
    for run in range(RUNS):
        report = replay(path, script, speed=SPEED_OF.get(scenario, "max"))
        assert report.exit_code == SAME, f"run {run}\n{as_text(report)}"
        sent = sum(c.sent_steps for c in report.connections)
        assert sent == sum(_step_count(c) for c in script.connections)


def _step_count(conversation: ConversationScript) -> int:
    """Frames of the client after its handshake."""
    mine = [s for s in conversation.steps if s.side == CLIENT and s.octets[0] != HEARTBEAT]
    return len(mine) - HANDSHAKE_STEPS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_octets_on_the_wire_are_the_captured_ones(
    scenario: str, captured: Captured, replay: Replayer, broker: Broker, tmp_path: Path
) -> None:
    """Recorded anew with tcpdump: without a prefix, only names that the server made differ."""
    path, script = captured(scenario)
    with Recording(tmp_path / "again.pcap", broker.port) as recording:
        report = replay(path, script, prefix="", vhost="/")
    assert report.exit_code == SAME, as_text(report)
    again = read_script(recording.path)
    for one, other in zip(script.connections, again.connections, strict=True):
        assert _octets(other) == _octets(one)


def _octets(conversation: ConversationScript) -> list[bytes]:
    """The client's frames, with one name for all queues that the server named."""
    mine = [s.octets for s in conversation.steps if s.side == CLIENT and s.octets[0] != HEARTBEAT]
    return [SERVER_NAMED.sub(b"amq.gen", octets) for octets in mine]


def test_bodies_are_cut_to_the_live_frame_max(captured: Captured, replay: Replayer) -> None:
    path, script = captured("publish")
    report = replay(path, script, frame_max=4096)
    assert report.exit_code == SAME, as_text(report)
    limits = [d for d in report.differences if d.rule == "limits"]
    assert [(d.captured, d.live) for d in limits] == [("131072", "4096")]


def test_a_decrypted_capture_is_replayed(replay: Replayer) -> None:
    path = sample("21a")
    script = read_script(path, Options(keylog=path.replace(".pcap", ".keylog")))
    report = replay(path, script, keylog=path.replace(".pcap", ".keylog"))
    assert report.exit_code == SAME, as_text(report)
    assert sum(c.sent_steps for c in report.connections) > 10


def test_semantic_mode_does_the_same(captured: Captured, replay: Replayer) -> None:
    for scenario in ("consume", "rpc", "transactions"):
        path, script = captured(scenario)
        report = replay(path, script, mode="semantic")
        assert report.exit_code == SAME, as_text(report)


def test_the_captured_pace_is_kept(
    captured: Captured, replay: Replayer, broker: Broker, tmp_path: Path
) -> None:
    """Times on the wire by tcpdump: at a tenth of the pace it takes ten times as long, or longer
    on a busy machine. The handshake has no pace."""
    path, script = captured("exchange")
    with Recording(tmp_path / "again.pcap", broker.port) as recording:
        report = replay(path, script, speed="0.1", max_time_s=600.0)
    assert report.exit_code == SAME, as_text(report)
    (one,), (other,) = script.connections, read_script(recording.path).connections
    captured_ns, live_ns = (_paced_ns(conversation) for conversation in (one, other))
    assert live_ns >= 9 * captured_ns
    assert report.lateness is not None
    assert report.lateness.count == report.connections[0].sent_steps


def _paced_ns(conversation: ConversationScript) -> int:
    """From the first frame of the client after its handshake to its last."""
    mine = [s.ts_ns for s in conversation.steps if s.side == CLIENT and s.octets[0] != HEARTBEAT]
    return mine[-1] - mine[HANDSHAKE_STEPS]
