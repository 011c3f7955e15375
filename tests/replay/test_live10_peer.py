"""1.0 recorded with proton clients and replayed to a proton peer: the peer counts the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from proton import Message

from replay.engine10.frame import Frame
from replay.plan import Plan
from replay.report import DIFFERENT, SAME, Report, as_text
from replay.run import ClientOptions, replay_client
from replay.script import CLIENT, SERVER, Script, read_script
from tests.live.proton_client import STATES, Receiver, Sender
from tests.live.proton_peer import Peer
from tests.live.recording import Recording
from tests.replay.peers10 import DynamicPeer, ManyLinks, ask

pytestmark = pytest.mark.live

Program = Callable[[int], Any]
MODES = (("wire", "protocol"), ("wire", "window"), ("wire", "strict"), ("semantic", "window"))
BODIES = [b"%d" % number * 30 for number in range(12)]

PROGRAMS: dict[str, Program] = {
    **{
        f"send-{outcome}": lambda port, to=f"in.{outcome}": Sender(port, to, BODIES).run()
        for outcome in STATES
    },
    "presettled": lambda port: Sender(port, "in.accepted", BODIES, is_presettled=True).run(),
    "receive": lambda port: Receiver(
        port, "out.12", ["accepted", "released", "rejected"] * 4, grants=[4, 4, 4]
    ).run(),
    "drain": lambda port: Receiver(port, "out.5", ["accepted"] * 5, grants=[5], drain=7).run(),
    "large": lambda port: Sender(port, "in.accepted", [b"B" * 90_000] * 3).run(),
    "large-received": lambda port: Receiver(
        port, "out.3.50000", ["accepted"] * 3, max_frame_size=2048
    ).run(),
    "links-and-sessions": lambda port: ManyLinks(port).run(),
    "session-error": lambda port: Receiver(port, "fail.session", []).run(),
    "connection-error": lambda port: Receiver(port, "fail.connection", []).run(),
    "dynamic-address": ask,
}


def recorded(path: Path, program: Program) -> tuple[str, Script, DynamicPeer]:
    peer = DynamicPeer()
    with Recording(path, peer.port) as recording, peer:
        program(peer.port)
    return recording.path, read_script(recording.path), peer


def replayed(path: str, script: Script, copy_no: int | None = None, **plan: Any) -> tuple[
    Report, DynamicPeer
]:  # fmt: skip
    peer = DynamicPeer()
    wanted = Plan([path], target=f"amqp://127.0.0.1:{peer.port}", speed="max", max_time_s=60.0)
    for name, value in plan.items():
        setattr(wanted, name, value)
    with peer:
        report = replay_client(wanted, script, ClientOptions(copy_no=copy_no))
    return report, peer


def counted(peer: Peer) -> dict[str, object]:
    """What the peer itself saw and did."""
    return {
        "received": peer.received,
        "presettled": peer.received_presettled,
        "sizes": Counter(peer.received_sizes),
        "sent": peer.sent,
        "stated": peer.outcomes_stated,
        "heard": peer.outcomes_heard,
        "given up": peer.given_up,
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_replay_is_the_same_for_the_peer(name: str, tmp_path: Path) -> None:
    path, script, first = recorded(tmp_path / "first.pcap", PROGRAMS[name])
    for mode, causality in MODES:
        report, peer = replayed(path, script, mode=mode, causality=causality)
        assert report.exit_code == SAME, as_text(report)
        assert counted(peer) == counted(first), (mode, causality)


def test_octets_on_the_wire_are_the_captured_ones(tmp_path: Path) -> None:
    """Recorded anew with tcpdump: not one octet of ours differs, flows apart."""
    path, script, _ = recorded(tmp_path / "first.pcap", PROGRAMS["send-modified"])
    peer = Peer()
    plan = Plan([path], target=f"amqp://127.0.0.1:{peer.port}", speed="max")
    with Recording(tmp_path / "again.pcap", peer.port) as recording, peer:
        assert replay_client(plan, script, ClientOptions()).exit_code == SAME
    one, other = (
        [
            step.octets
            for step in found.connections[0].steps
            if step.side == CLIENT and not Frame(step.octets).name.startswith("sasl-")
        ]
        for found in (script, read_script(recording.path))
    )
    assert other == one


def test_generated_addresses_are_mapped_in_attach_reply_to_and_bodies(tmp_path: Path) -> None:
    path, script, first = recorded(tmp_path / "first.pcap", ask)
    report, peer = replayed(path, script)
    assert report.exit_code == SAME, as_text(report)
    assert peer.made != first.made
    (made,) = peer.made
    assert peer.replies == [
        (made, f"id-{number}", f"question {number}, answer to {made}") for number in range(3)
    ]


@pytest.mark.parametrize("mode", ["wire", "semantic"])
def test_messages_are_cut_to_a_smaller_frame_size(mode: str, tmp_path: Path) -> None:
    path, script, first = recorded(tmp_path / "first.pcap", PROGRAMS["large"])
    live = tmp_path / "live.pcap"
    peer = Peer()
    plan = Plan([path], target=f"amqp://127.0.0.1:{peer.port}", speed="max", mode=mode)
    plan.frame_max = 700
    with peer:
        report = replay_client(plan, script, ClientOptions(save_live=str(live)))
    assert report.exit_code == SAME, as_text(report)
    assert counted(peer) == counted(first)
    (conversation,) = read_script(str(live)).connections
    sizes = [len(step.octets) for step in conversation.steps if step.side == CLIENT]
    assert (
        max(sizes)
        <= 700
        < max(len(step.octets) for step in script.connections[0].steps if step.side == CLIENT)
    )


def hard(report: Report) -> list[tuple[str, str]]:
    return [
        (found.rule, found.text)
        for connection in report.connections
        for found in connection.differences
        if found.severity == "hard"
    ]


def test_another_outcome_is_found_for_each_message(tmp_path: Path) -> None:
    path, script, _ = recorded(
        tmp_path / "first.pcap", lambda port: Sender(port, "in.accepted", BODIES[:3]).run()
    )
    report, peer = replayed(path, script, names={"in.accepted": "in.rejected"})
    assert report.exit_code == DIFFERENT
    assert peer.outcomes_stated == {"rejected": 3}
    assert [(rule, text.partition("captured ")[2]) for rule, text in hard(report)] == [
        ("outcome", "accepted, live rejected (amqp:not-allowed)")
    ] * 3


def test_missing_deliveries_are_found(tmp_path: Path) -> None:
    path, script, _ = recorded(
        tmp_path / "first.pcap", lambda port: Receiver(port, "out.5", ["accepted"] * 5).run()
    )
    report, peer = replayed(path, script, names={"out.5": "out.3"}, step_timeout_s=4.0)
    assert report.exit_code == DIFFERENT
    assert (peer.sent, peer.outcomes_heard) == (3, {"accepted": 3})
    found = hard(report)
    assert [rule for rule, _ in found] == ["deliveries"] * 2
    assert all("transfer missing: out.5, 20 bytes" in text for _, text in found)


def test_another_error_condition_is_found(tmp_path: Path) -> None:
    path, script, _ = recorded(tmp_path / "first.pcap", PROGRAMS["session-error"])
    report, _ = replayed(path, script, names={"fail.session": "fail.connection"})
    assert report.exit_code == DIFFERENT
    assert {rule for rule, _ in hard(report)} <= {"sequence", "connection-end", "fields"}
    assert any("amqp:connection-fault" in text for _, text in hard(report))


def test_copies_have_container_ids_of_their_own(tmp_path: Path) -> None:
    path, script, first = recorded(tmp_path / "first.pcap", PROGRAMS["send-accepted"])
    containers = []
    for copy_no in (1, 2):
        report, peer = replayed(path, script, copy_no=copy_no)
        assert report.exit_code == SAME, as_text(report)
        containers += peer.containers
    assert containers == [f"{first.containers[0]}-{number}" for number in (1, 2)]


def test_an_idle_connection_is_kept_open(tmp_path: Path) -> None:
    """The peer ends a silent connection before the capture goes on."""
    peer = IdlePeer()
    with Recording(tmp_path / "first.pcap", peer.port) as recording, peer:
        Idler(peer.port, "in.accepted", [b"late"]).run()
    script = read_script(recording.path)
    again = IdlePeer()
    plan = Plan([recording.path], target=f"amqp://127.0.0.1:{again.port}", speed="1")
    live = tmp_path / "live.pcap"
    with again:
        report = replay_client(plan, script, ClientOptions(save_live=str(live)))
    assert report.exit_code == SAME, as_text(report)
    assert again.received == 1
    (conversation,) = read_script(str(live)).connections
    names = [Frame(step.octets).name for step in conversation.steps if step.side == CLIENT]
    assert names.count("empty") >= 2
    assert any(step.side == SERVER for step in conversation.steps)


class IdlePeer(Peer):
    """Ends a connection that is silent for three seconds."""

    def on_connection_bound(self, event: Any) -> None:
        event.connection.transport.idle_timeout = 3.0


class Idler(Sender):
    """Waits before it sends."""

    def on_sendable(self, event: Any) -> None:
        if self.sent == 0 and not hasattr(self, "rest"):
            self.rest = event.container.schedule(5.0, Waker(self, event.sender))

    def go_on(self, sender: Any) -> None:
        sender.send(Message(body=self.bodies[0], inferred=True))
        self.sent += 1


class Waker:
    def __init__(self, client: Idler, sender: Any) -> None:
        self._client = client
        self._sender = sender

    def on_timer_task(self, event: Any) -> None:
        self._client.go_on(self._sender)
