"""What goes wrong around a replay: one clear line, the partial report, exit 2, nothing left."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.engine import Credentials
from replay.report import FAILED, SAME, as_text
from replay.script import Script, read_script
from tests.live.certificates import Authority
from tests.live.rabbitmq import Broker
from tests.live.waiting import free_ports, until
from tests.replay.conftest import PREFIX, Replayer
from tests.replay.tls_front import TlsFront
from tests.samples import sample

pytestmark = pytest.mark.live

Captured = Callable[[str], tuple[str, Script]]
MAIN = "from amqpscope.cli.main import main; main()"
# Nine idle seconds become as many as it takes to look and to strike.
SLOW = "0.1"


def amqpscope(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
    )


PCAP_HEADER, RECORD_HEADER = 24, 16


def half_of(path: str, folder: Path) -> str:
    """The first half of a capture, cut off inside a packet: between two it would be whole."""
    octets = Path(path).read_bytes()
    begin = end = PCAP_HEADER
    while end <= len(octets) // 2:
        # seconds, fraction, octets kept, octets on the wire: as tcpdump writes, in our byte order
        (kept,) = struct.unpack_from("=I", octets, end + 8)
        begin, end = end, end + RECORD_HEADER + kept
    cut = folder / "cut.pcap"
    cut.write_bytes(octets[: (begin + RECORD_HEADER + end) // 2])
    return str(cut)


def connection_count(broker: Broker) -> int:
    return len(broker.ctl("list_connections", "pid").split())


def has_channel(broker: Broker) -> bool:
    """The first step of a replay, behind its handshake, has reached the broker."""
    return broker.ctl("list_channels", "pid").strip() != ""


def test_nobody_listens(captured: Captured) -> None:
    path, script = captured("publish")
    (port,) = free_ports(1)
    report = Replayer(port)(path, script)
    assert report.exit_code == FAILED
    assert report.failures == [f"cannot connect to 127.0.0.1:{port}: connection refused"]


def test_a_wrong_password(captured: Captured, broker: Broker) -> None:
    path, _ = captured("publish")
    run = amqpscope(
        "replay", "client", path, "--to", f"amqp://127.0.0.1:{broker.port}", "--prefix", PREFIX,
        "--allow-captured-target", "--speed", "max", AMQPSCOPE_PASSWORD="not this one",
    )  # fmt: skip
    assert run.returncode == FAILED
    assert "failed: not let in: 403 ACCESS_REFUSED" in run.stdout
    assert "not this one" not in run.stdout + run.stderr


def test_tls_where_there_is_none(captured: Captured, replay: Replayer) -> None:
    path, script = captured("publish")
    report = replay(path, script, target=f"amqps://127.0.0.1:{replay.port}")
    assert report.exit_code == FAILED
    (failure,) = report.failures
    assert failure.startswith(f"TLS with 127.0.0.1:{replay.port} failed: ")


def test_lost_packets_replay_the_complete_part(replay: Replayer) -> None:
    report = replay(sample("23a"))
    assert report.exit_code == FAILED
    (failure,) = report.failures
    assert failure.startswith("the capture lacks bytes after packet 47: only the part before")
    assert report.connections[0].sent_steps > 10
    assert [d for d in report.differences if d.severity == "hard"] == []


def test_a_truncated_capture_replays_what_is_there(
    captured: Captured, replay: Replayer, tmp_path: Path
) -> None:
    report = replay(half_of(captured("consume")[0], tmp_path))
    assert report.exit_code == FAILED
    (failure,) = report.failures
    assert failure.startswith("the capture is cut off")
    assert report.connections[0].sent_steps > 5
    assert [d for d in report.differences if d.severity == "hard"] == []


def test_cleanup_leaves_no_queue(captured: Captured, broker: Broker, tmp_path: Path) -> None:
    """The capture is cut off before its client deletes the queue."""
    cut = half_of(captured("consume")[0], tmp_path)
    for prefix, option, left in (("kept.", [], 1), ("gone.", ["--cleanup"], 0)):
        run = amqpscope(
            "replay", "client", cut, "--to", f"amqp://127.0.0.1:{broker.port}", "--prefix",
            prefix, "--speed", "max", "--allow-captured-target", *option,
        )  # fmt: skip
        assert run.returncode == FAILED, run.stdout + run.stderr
        assert sum(name.startswith(prefix) for name in broker.queues()) == left


def test_interrupted_it_closes_and_reports(broker: Broker, tmp_path: Path) -> None:
    """Ctrl-C in the middle of a capture that takes its time."""
    arguments = [
        "replay", "client", sample("08"), "--to", f"amqp://127.0.0.1:{broker.port}",
        "--prefix", PREFIX, "--speed", SLOW, "--json",
    ]  # fmt: skip
    # Whoever runs the tests in the background may have told all of them to ignore it.
    hearing = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); " + MAIN
    process = subprocess.Popen(
        [sys.executable, "-c", hearing, *arguments], stdout=subprocess.PIPE, text=True
    )
    until(lambda: has_channel(broker), "the replay opens its channel")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == FAILED
    report = json.loads(output)
    assert report["stopped"] == "interrupted"
    assert report["connections"][0]["sent_steps"] >= 1
    until(lambda: connection_count(broker) == 0, "no connection is left")


def kill_in_the_middle(broker: Broker) -> None:
    until(lambda: has_channel(broker), "the replay opens its channel")
    broker.kill()


def test_the_broker_is_killed_in_the_middle(tmp_path_factory: pytest.TempPathFactory) -> None:
    broker = Broker(tmp_path_factory.mktemp("killed"))
    try:
        broker.start()
        path = sample("08")
        killer = threading.Thread(target=kill_in_the_middle, args=(broker,))
        killer.start()
        report = Replayer(broker.port)(path, read_script(path), speed=SLOW)
        killer.join()
    finally:
        broker.stop()
    assert report.exit_code == FAILED, as_text(report)
    (failure,) = report.failures
    assert "closed the connection without a word" in failure or "connection lost" in failure
    assert report.connections[0].sent_steps >= 1


def test_amqps_with_a_ca_of_our_own(captured: Captured, broker: Broker, tmp_path: Path) -> None:
    """A front of our own ends TLS: without its CA there is no trust, with it the replay passes."""
    path, _ = captured("publish")
    authority = Authority(tmp_path)
    own = authority.issue("front")
    with TlsFront(own.certificate, own.key, broker.port) as front:
        common = ["replay", "client", path, "--to", f"amqps://127.0.0.1:{front.port}",
                  "--prefix", PREFIX, "--speed", "max"]  # fmt: skip
        refused = amqpscope(*common)
        assert refused.returncode == FAILED
        assert "certificate not trusted (unable to get local issuer" in refused.stdout
        trusted = amqpscope(*common, "--cafile", str(authority.file))
        assert trusted.returncode == SAME, trusted.stdout + trusted.stderr


def test_credentials_come_from_a_file(captured: Captured, broker: Broker, tmp_path: Path) -> None:
    path, _ = captured("publish")
    broker.ctl("add_user", "replayer", "a secret of its own")
    broker.ctl("set_permissions", "replayer", ".*", ".*", ".*")
    secrets = tmp_path / "credentials"
    secrets.write_text("replayer\na secret of its own\n")
    live = tmp_path / "live.pcap"
    run = amqpscope(
        "replay", "client", path, "--to", f"amqp://127.0.0.1:{broker.port}", "--prefix", PREFIX,
        "--allow-captured-target", "--speed", "max", "--credentials", str(secrets),
        "--save-live", str(live), "--json",
    )  # fmt: skip
    assert run.returncode == SAME, run.stdout + run.stderr
    assert "a secret" not in run.stdout + run.stderr
    assert b"a secret" not in live.read_bytes()
    assert "a secret" not in repr(Credentials("replayer", "a secret of its own"))
