"""1.0 against RabbitMQ: its own captures come out the same, another broker's only differ where the
brokers do."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.report import DIFFERENT, SAME, Report, as_text
from replay.script import CLIENT, read_script
from tests.live.rabbitmq import Broker
from tests.live.recording import Recording
from tests.replay.conftest import PREFIX, Replayer
from tests.replay.peers10 import send_large
from tests.samples import sample

pytestmark = pytest.mark.live

#: Captured from RabbitMQ → messages that are left in their queue afterwards.
OF_RABBITMQ = {
    "10a": {"dev.v1.q10": 0},
    "12c": {"dev.v1.q12": 0},
    "14a": {"dev.v1.q14": 0},
    "20b": {"dev.v1.q20": 0},
}
RUNS = 3


@pytest.mark.parametrize("name", OF_RABBITMQ)
def test_captures_from_rabbitmq_come_out_the_same(
    name: str, broker: Broker, replay: Replayer
) -> None:
    for run in range(RUNS):
        prefix = f"{name}{run}."
        mode = "semantic" if run == RUNS - 1 else "wire"
        report = replay(sample(name), prefix=prefix, mode=mode)
        assert report.exit_code == SAME, f"run {run}\n{as_text(report)}"
        assert sum(c.skipped_steps for c in report.connections) == 0
        for queue, depth in OF_RABBITMQ[name].items():
            broker.settled_depth(prefix + queue, depth)


def test_a_broker_that_fails_at_the_end(broker: Broker, replay: Replayer) -> None:
    """RabbitMQ's reader falls over the last close of this one: by chance it says so, as captured,
    or its connection is just gone. What comes before is the same every time."""
    for run in range(RUNS):
        prefix = f"11b{run}."
        report = replay(sample("11b"), prefix=prefix)
        hard = {rule for rule, _ in told(report, "hard")}
        assert hard <= {"connection-end", "sequence", "wait"}, as_text(report)
        assert all("connection" in failure for failure in report.failures), as_text(report)
        assert sum(c.skipped_steps for c in report.connections) <= 3
        broker.settled_depth(f"{prefix}dev.v1.q11", 5)


@pytest.mark.parametrize("frame_max", [None, 4096, 512])
def test_messages_of_many_frames(
    frame_max: int | None, broker: Broker, replay: Replayer, tmp_path: Path
) -> None:
    with Recording(tmp_path / "large.pcap", broker.port) as recording:
        send_large(broker.port)
    live = tmp_path / "live.pcap"
    report = replay(recording.path, save_live=live, frame_max=frame_max)
    assert report.exit_code == SAME, as_text(report)
    (conversation,) = read_script(str(live)).connections
    sizes = [len(step.octets) for step in conversation.steps if step.side == CLIENT]
    assert max(sizes) <= (frame_max or 32768)
    broker.settled_depth(f"{PREFIX}large", 0)


def told(report: Report, severity: str) -> set[tuple[str, str]]:
    """Rule and what it is about, without the values."""
    return {
        (found.rule, found.text.partition(":")[0])
        for connection in report.connections
        for found in connection.differences
        if found.severity == severity
    }


#: What RabbitMQ's 1.0 plugin says otherwise than ActiveMQ Artemis: its limits, how it describes
#: the source of a link, that it states no target, and that it detaches without closing.
LIMITS = {
    ("limits", "server-idle-timeout-ms"),
    ("limits", "begin handle-max"),
    ("limits", "begin incoming-window"),
    ("limits", "begin outgoing-window"),
}
LINKS = {
    ("fields", "attach snd-settle-mode"),
    ("fields", "attach source.default-outcome"),
    ("fields", "attach source.outcomes"),
    ("fields", "attach target"),
}


@pytest.mark.parametrize(
    ("name", "queue", "also"),
    [
        ("10b", "dev.v1.q10", {("fields", "detach closed")}),
        ("13a", "dev.v1.q13", {("fields", "attach target.address")}),
    ],
)
def test_another_brokers_capture_differs_only_where_the_brokers_do(
    name: str, queue: str, also: set[tuple[str, str]], broker: Broker, replay: Replayer
) -> None:
    """All messages arrive, with the same outcomes; only what the brokers say of themselves and
    of links differs."""
    report = replay(sample(name), prefix="", names={queue: f"/queue/{name}"})
    assert report.exit_code == DIFFERENT
    assert told(report, "soft") == LIMITS
    assert told(report, "hard") == LINKS | also
    assert all(connection.skipped_steps == 0 for connection in report.connections)
    broker.settled_depth(name, 0)


def test_a_broker_without_transactions_is_told_so(replay: Replayer) -> None:
    """RabbitMQ ends the session when a coordinator is asked for: what depends on it is skipped."""
    report = replay(sample("17"), prefix="", names={"dev.v1.q17": "/queue/17"})
    assert report.exit_code == DIFFERENT
    assert ("sequence", "captured attach; live end") in told(report, "hard")
    assert all(connection.skipped_steps > 10 for connection in report.connections)


def test_without_the_node_the_broker_refuses_as_captured(replay: Replayer) -> None:
    """Errors of the broker are answers like others: the same conditions again."""
    path = sample("15b")
    script = read_script(path)
    own = [c.connection_id for c in script.connections if c.server.endswith(":5672")]
    report = replay(path, script.only(own))
    assert report.exit_code == SAME, as_text(report)
    assert len(report.connections) == 3
