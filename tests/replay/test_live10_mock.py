"""A mock 1.0 peer from a capture: the unmodified client program passes, a changed one is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.report import DIFFERENT, SAME, Report, as_text
from replay.script import Script, read_script
from replay.server import ServerOptions, serve
from tests.live.node import run_client
from tests.live.proton_client import Receiver, Sender
from tests.live.recording import Recording
from tests.replay.peers10 import DynamicPeer, ManyLinks, Served, ask

pytestmark = pytest.mark.live

Program = Callable[[int], Any]
BODIES = [b"%d" % number * 30 for number in range(9)]


def rhea(**arguments: Any) -> Program:
    return lambda port: run_client("rhea_client.js", port=port, **arguments)


PROGRAMS: dict[str, Program] = {
    "proton-send": lambda port: Sender(port, "in.accepted", BODIES).run().outcomes,
    "proton-rejected": lambda port: Sender(port, "in.rejected", BODIES).run().outcomes,
    "proton-presettled": lambda port: Sender(port, "in.accepted", BODIES, True).run().sent,
    "proton-receive": lambda port: Receiver(
        port, "out.12", ["accepted", "released", "rejected"] * 4, grants=[4, 4, 4]
    ).run().bodies,
    "proton-drain": lambda port: Receiver(
        port, "out.5", ["accepted"] * 5, grants=[5], drain=7
    ).run().drained,
    "proton-large": lambda port: Receiver(
        port, "out.3.50000", ["accepted"] * 3, max_frame_size=2048
    ).run().bodies,
    "proton-error": lambda port: Receiver(port, "fail.session", []).run().error,
    "proton-links-and-sessions": lambda port: ManyLinks(port).run().outcomes,
    "proton-requests": ask,
    "rhea-send": rhea(role="sender", address="in.accepted", sizes=[10, 200, 40_000]),
    "rhea-receive": rhea(
        role="receiver", address="out.4", outcomes=["accepted", "rejected"] * 2, credit=4
    ),
}  # fmt: skip


def recorded(path: Path, program: Program) -> tuple[Script, Any]:
    peer = DynamicPeer()
    with Recording(path, peer.port) as recording, peer:
        result = program(peer.port)
    return read_script(recording.path), result


def mocked(script: Script, program: Program, **options: Any) -> tuple[Report, Any]:
    """What the mock says of a program, and the program of the mock."""
    settings = ServerOptions(max_time_s=50.0, **options)
    with Served(lambda on_listening: serve(script, settings, on_listening)) as served:
        result = program(served.port)
    return served.result, result


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_unmodified_client_passes(name: str, tmp_path: Path) -> None:
    script, expected = recorded(tmp_path / "first.pcap", PROGRAMS[name])
    report, result = mocked(script, PROGRAMS[name])
    assert result == expected
    assert report.exit_code == SAME, as_text(report)
    assert all(connection.notes == [] for connection in report.connections)


def hard(report: Report) -> list[tuple[str, str]]:
    return [
        (found.rule, found.text)
        for connection in report.connections
        for found in connection.differences
        if found.severity == "hard"
    ]


def test_a_client_that_sends_something_else_is_told(tmp_path: Path) -> None:
    script, _ = recorded(tmp_path / "first.pcap", PROGRAMS["proton-send"])
    changed = [*BODIES[:-1], b"changed"]
    report, outcomes = mocked(
        script, lambda port: Sender(port, "in.accepted", changed).run().outcomes
    )
    assert outcomes == {"accepted": len(changed)}
    assert report.exit_code == DIFFERENT
    found = hard(report)
    assert len(found) == 2
    assert any(f"missing: in.accepted, {len(BODIES[-1])} bytes" in text for _, text in found)
    assert any("not captured: in.accepted, 7 bytes" in text for _, text in found)


def test_a_client_that_settles_otherwise_is_told(tmp_path: Path) -> None:
    script, _ = recorded(
        tmp_path / "first.pcap", lambda port: Receiver(port, "out.2", ["accepted"] * 2).run()
    )
    report, _ = mocked(script, lambda port: Receiver(port, "out.2", ["accepted", "released"]).run())
    assert report.exit_code == DIFFERENT
    ((rule, text),) = hard(report)
    assert rule == "outcome" and text.endswith("captured accepted, live released")


def test_a_client_that_goes_elsewhere_is_refused(tmp_path: Path) -> None:
    script, _ = recorded(
        tmp_path / "first.pcap", lambda port: Receiver(port, "out.2", ["accepted"] * 2).run()
    )
    report, error = mocked(
        script, lambda port: Receiver(port, "elsewhere", []).run().error, unmatched="error"
    )
    assert error == ("link", "amqp:not-allowed", "not in the capture")
    assert report.exit_code == DIFFERENT
    (connection,) = report.connections
    assert any("elsewhere" in note for note in connection.notes)
