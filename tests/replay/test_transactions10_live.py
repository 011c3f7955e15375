"""1.0 transactions against a live coordinator: its txn-ids are used, its refusals are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.plan import Plan
from replay.report import DIFFERENT, SAME, Report, as_text
from replay.run import ClientOptions, replay_client
from replay.script import Script, read_script
from tests.live.recording import Recording
from tests.replay.transactions10 import JOBS, Coordinator, Entry, Worker
from tests.tables import dissect

pytestmark = pytest.mark.live

ACCEPTED = 0x24
MODES = (("wire", "protocol"), ("wire", "window"), ("wire", "strict"), ("semantic", "window"))
Captured = tuple[Script, Coordinator]


def expected_journal() -> list[Entry]:
    """What a coordinator sees of the jobs, whoever does them."""
    journal: list[Entry] = []
    for number, (kind, count, end) in enumerate(JOBS):
        journal.append(("declare", number, None))
        for at in range(count):
            body = f"{at} of {count}, to {end}".encode()
            work: Entry = ("message", number, body)
            journal.append(work if kind == "send" else ("outcome", number, ACCEPTED))
        journal.append(("discharge", number, end == "roll back"))
    return journal


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    peer = Coordinator()
    path = tmp_path_factory.mktemp("transactions") / "first.pcap"
    with Recording(path, peer.port) as recording, peer:
        worker = Worker(peer.port).run()
    assert worker.ended == ["committed", "rolled back", "committed", "rolled back", "committed"]
    assert peer.journal == expected_journal()
    return read_script(recording.path), peer


def replayed(
    captured: Captured, live: Path, *refused: tuple[str, int], **plan: object
) -> tuple[Report, Coordinator]:
    peer = Coordinator(refused)
    wanted = Plan([], target=f"amqp://127.0.0.1:{peer.port}", speed="max", max_time_s=60.0)
    for name, value in plan.items():
        setattr(wanted, name, value)
    with peer:
        report = replay_client(wanted, captured[0], ClientOptions(save_live=str(live)))
    return report, peer


@pytest.mark.parametrize(("mode", "causality"), MODES)
def test_the_live_transactions_are_used(
    mode: str, causality: str, captured: Captured, tmp_path: Path
) -> None:
    live = tmp_path / "live.pcap"
    report, peer = replayed(captured, live, mode=mode, causality=causality)
    assert report.exit_code == SAME, as_text(report)
    assert report.differences == []
    # The journal numbers transactions by the ids that this peer has made; others have no number.
    assert all(number is not None for _, number, _ in peer.journal)
    # Without waiting for the discharge, an outcome and its release may reach the peer as one.
    skipped = ("outcome",) if causality == "protocol" else ()
    journals = (peer.journal, expected_journal())
    one, other = ([e for e in journal if e[0] not in skipped] for journal in journals)
    assert one == other
    octets = live.read_bytes()
    for txn_id in captured[1].txn_ids:
        assert txn_id not in peer.txn_ids
        assert txn_id not in octets
    assert all(txn_id in octets for txn_id in peer.txn_ids)
    rows = dissect(str(live))["transfers"]
    ids = {row["transaction_id"] for row in rows if row["transaction_id"] is not None}
    assert ids == {txn_id.hex() for txn_id in peer.txn_ids}


def told(report: Report) -> list[tuple[str, str, str | None, str | None]]:
    """Rule, which message, captured and live."""
    return [
        (d.rule, d.text.split(" (")[1].split(",")[0], d.captured, d.live)
        for d in report.differences
        if d.severity == "hard"
    ]


def test_a_commit_that_is_refused(captured: Captured, tmp_path: Path) -> None:
    """The discharge is told, and the messages that it would have committed."""
    report, peer = replayed(captured, tmp_path / "live.pcap", ("discharge", 0))
    assert report.exit_code == DIFFERENT, as_text(report)
    assert told(report) == [
        *[("outcome", "in.accepted", "accepted", "nothing")] * 3,
        ("outcome", "coordinator txn-ctrl", "accepted", "rejected (amqp:transaction:rollback)"),
    ]
    # All the rest is done as captured.
    assert peer.journal == expected_journal()


def test_a_commit_of_outcomes_that_is_refused(captured: Captured, tmp_path: Path) -> None:
    """The peer does not settle what it does not commit; later transactions go on."""
    report, peer = replayed(captured, tmp_path / "live.pcap", ("discharge", 2), step_timeout_s=4.0)
    assert report.exit_code == DIFFERENT, as_text(report)
    assert told(report) == [
        ("outcome", "coordinator txn-ctrl", "accepted", "rejected (amqp:transaction:rollback)")
    ]
    assert [note.split(" of ")[0] for note in report.connections[0].notes] == [
        "did not come: settlement"
    ]
    assert peer.journal == expected_journal()


def test_a_transaction_that_is_not_declared(captured: Captured, tmp_path: Path) -> None:
    report, peer = replayed(captured, tmp_path / "live.pcap", ("declare", 4))
    assert report.exit_code == DIFFERENT, as_text(report)
    assert ("outcome", "coordinator txn-ctrl", "nothing", "rejected (amqp:not-allowed)") in told(
        report
    )
    # What belongs to it has no live transaction: nobody has given it an id.
    before = [entry for entry in expected_journal() if entry[1] != 4]
    assert peer.journal[: len(before)] == before
    assert {entry[1] for entry in peer.journal[len(before) + 1 :]} == {None}
