"""Load mode: copies that do not meet, in several processes, added up in one report."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from proton import Link

from replay.load import Progress, copy_prefix, replay_load
from replay.plan import Plan, describe
from replay.report import SAME, Report, as_text
from replay.run import ClientOptions
from replay.safety import Consent
from replay.script import Script, read_script
from tests.live.proton_client import Receiver, Sender
from tests.live.rabbitmq import Broker
from tests.live.recording import Recording
from tests.replay.peers10 import DynamicPeer
from tests.samples import sample

pytestmark = pytest.mark.live

COPIES = 4
PROCESSES = 2
MAIN = "from amqpscope.cli.main import main; main()"


def loaded(
    path: str, script: Script, port: int, speed: str = "max"
) -> tuple[Report, list[Progress]]:
    plan = Plan([path], target=f"amqp://127.0.0.1:{port}", mode="load", speed=speed)
    plan.prefix, plan.copies, plan.max_time_s = "load.", COPIES, 120.0
    describe(script, plan)
    seen: list[Progress] = []
    options = ClientOptions(consent=Consent(captured_target=True))
    return replay_load(plan, script, options, PROCESSES, seen.append), seen


def assert_added_up(report: Report, seen: list[Progress], connection_count: int) -> None:
    """All copies are the same, and nothing of them is lost on the way into one report."""
    assert report.exit_code == SAME, as_text(report)
    ids = [c.connection_id for c in report.connections]
    assert len(ids) == len(set(ids)) == connection_count * COPIES
    sent = {c.connection_id: c.sent_steps for c in report.connections}
    by_connection: dict[str, set[int]] = {}
    for name, count in sent.items():
        by_connection.setdefault(name.split(" copy ")[0], set()).add(count)
    assert all(len(counts) == 1 for counts in by_connection.values())
    assert report.load["frames_sent"] == sum(sent.values()) == seen[-1].sent_steps > 0
    assert report.load["frames_per_second"] > 0
    captured_spread, live = report.latency["settlement"]
    assert captured_spread is not None and live is not None
    assert live.count == COPIES * captured_spread.count
    assert 0 < live.p50_ns <= live.p95_ns <= live.p99_ns <= live.max_ns


def test_copies_are_all_the_same(
    captured: Callable[[str], tuple[str, Script]], broker: Broker
) -> None:
    path, script = captured("two-connections")
    report, seen = loaded(path, script, broker.port)
    assert_added_up(report, seen, connection_count=2)
    assert report.load["frames_sent"] > 300 * COPIES
    assert not any(name.startswith("load.") for name in broker.queues())


def test_copies_of_1_0_to_rabbitmq(broker: Broker) -> None:
    """Each has queues of its own; at the captured pace, so that lateness is told."""
    path = sample("10a")
    script = read_script(path)
    report, seen = loaded(path, script, broker.port, speed="1")
    assert_added_up(report, seen, connection_count=len(script.connections))
    assert report.lateness is not None
    assert report.lateness.count == report.load["frames_sent"]
    queues = {name: row["messages"] for name, row in broker.queues().items() if "q10" in name}
    assert queues == {f"load.c{number}.dev.v1.q10": 0 for number in range(1, COPIES + 1)}


class CopiedPeer(DynamicPeer):
    """Does what the captured address tells, and keeps the prefix that a copy put before it."""

    def __init__(self, connections: int) -> None:
        super().__init__(connections)
        self.prefixes: dict[str, set[str]] = {}

    def address_of(self, link: Link) -> str:
        address = super().address_of(link)
        kind = "in." if link.is_receiver else "out."
        prefix, _, rest = address.rpartition(kind)
        container = link.connection.remote_container
        self.prefixes.setdefault(container, set()).add(prefix)
        return kind + rest


def test_copies_of_1_0_have_container_ids_of_their_own(tmp_path: Path) -> None:
    """A sender and a receiver, four times at once: the peer counts four times as much."""
    first = DynamicPeer(connections=2)
    with Recording(tmp_path / "first.pcap", first.port) as recording, first:
        Sender(first.port, "in.accepted", [b"load"] * 30).run()
        Receiver(first.port, "out.20", ["accepted"] * 20, grants=[5, 15]).run()
    script = read_script(recording.path)
    peer = CopiedPeer(connections=2 * COPIES)
    with peer:
        report, seen = loaded(recording.path, script, peer.port)
    assert_added_up(report, seen, connection_count=2)
    assert (peer.received, peer.sent) == (COPIES * first.received, COPIES * first.sent)
    assert peer.outcomes_heard == {"accepted": COPIES * 20}
    assert len(peer.containers) == 2 * COPIES
    assert peer.prefixes == {
        f"{name}-{no}": {f"load.c{no}."} for name in first.containers for no in range(1, COPIES + 1)
    }


def test_what_a_person_sees_of_it(broker: Broker, tmp_path: Path) -> None:
    """On a terminal: a line that counts while it runs, then percentiles, lateness and rate."""
    controller, terminal = pty.openpty()
    output = tmp_path / "report.txt"
    command = [
        sys.executable, "-c", MAIN, "replay", "client", sample("10a"), "--to",
        f"amqp://127.0.0.1:{broker.port}", "--prefix", "seen.", "--mode", "load", "--copies",
        str(COPIES), "--processes", str(PROCESSES), "--allow-captured-target",
    ]  # fmt: skip
    with output.open("wb") as stdout:
        process = subprocess.Popen(command, stdout=stdout, stderr=terminal)
    os.close(terminal)
    said = b""
    # Linux: reading a terminal that nobody holds open any more is an error.
    with suppress(OSError):
        while piece := os.read(controller, 65_536):
            said += piece
    os.close(controller)
    process.wait()
    report = output.read_text()
    assert process.returncode == SAME, report
    counted = re.findall(r"([\d,]+) frames, ([\d,]+)/s, ([\d.]+) MB sent", said.decode())
    (total,) = re.findall(r"frames sent: (\d+)", report)
    assert counted and counted[-1][0].replace(",", "") == total
    spread = r"p50 [\d.]+ p95 [\d.]+ p99 [\d.]+ max [\d.]+ ms \(\d+\)"
    for what in ("settlement captured", "settlement live", "lateness   live"):
        assert re.search(rf"{what} +{spread}", report), report
    assert re.search(r"frames per second: [1-9]\d*", report)


def test_prefixes_differ() -> None:
    assert len({copy_prefix("p.", number) for number in range(100)}) == 100
