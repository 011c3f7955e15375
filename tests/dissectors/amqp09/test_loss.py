"""Captures that lost, doubled or swapped packets, or that begin in the middle (mid-connection)."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.builders.amqp09 import SERVER, Wire09
from tests.builders.talk import pcap_bytes
from tests.dissectors.test_variants import read_packets
from tests.live.counting import outcomes, where
from tests.samples import sample
from tests.tables import Tables, dissect

ALL = ("connections", "sessions", "links", "frames", "transfers", "credits")


def message(row: dict[str, Any]) -> tuple[Any, ...]:
    """A message without what depends on the rest of the capture."""
    return (row["kind"], row["message_id"], row["delivery_tag"], row["body_bytes"],
            row["body_hash"], row["outcome"], row["is_complete"])  # fmt: skip


def messages(tables: Tables) -> Counter[tuple[Any, ...]]:
    return Counter(message(row) for row in tables["transfers"])


def talk() -> Wire09:
    """Twenty confirmed publishes, delivered and acknowledged, each in a packet of its own."""
    wire = Wire09().start().open().consume(1).client(1, "confirm.select", nowait=True)
    for n in range(1, 21):
        wire.publish(1, b"body %d " % n * n, message_id=f"p{n}").ack(1, n, side=SERVER)
    for n in range(1, 21):
        wire.deliver(1, n, b"body %d " % n * n, message_id=f"d{n}").ack(1, n)
    return wire.close()


def tables_without(wire: Wire09, *lost: int) -> Tables:
    kept = Wire09()
    kept.talk.packets = [p for i, p in enumerate(wire.talk.packets) if i not in lost]
    return kept.tables()


WIRE = talk()
WHOLE = WIRE.tables()
FIRST_MESSAGE = next(i for i, (_, p) in enumerate(WIRE.talk.packets) if b"body 1 " in p)
# Every packet from the first publish to before the close.
DATA = [
    i for i, (_, p) in enumerate(WIRE.talk.packets) if i >= FIRST_MESSAGE and len(p) > 54
][:-2]  # fmt: skip


def concerned(packet: bytes) -> set[str]:
    """Message-ids that a packet of the talk says anything about."""
    found = {row["message_id"] for row in WHOLE["transfers"] if _id_in(row["message_id"], packet)}
    return found


def _id_in(message_id: str, packet: bytes) -> bool:
    return bytes((len(message_id),)) + message_id.encode() in packet


@pytest.mark.parametrize("lost", DATA[::7])
def test_one_lost_packet_costs_only_what_was_in_it(lost: int) -> None:
    tables = tables_without(WIRE, lost)
    packet = WIRE.talk.packets[lost][1]
    named = concerned(packet)
    differing = messages(WHOLE) - messages(tables)
    # A packet with a message: that one is gone or incomplete. One with an ack: one is unsettled.
    assert sum(differing.values()) == 1, differing
    ((_, message_id, *_),) = differing
    assert not named or named == {message_id}
    assert tables.problem_codes()["tcp.gap"] == 1
    unsettled = [row for row in tables["transfers"] if row["outcome"] is None]
    assert len(unsettled) <= 1
    (connection,) = tables["connections"]
    assert connection["missing_bytes"] == len(packet) - 54


@pytest.mark.parametrize("seed", range(6))
def test_swapped_and_doubled_packets_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    packets = list(WIRE.talk.packets)
    for n in range(5, len(packets) - 5):
        if rng.random() < 0.15:
            packets[n], packets[n + 1] = packets[n + 1], packets[n]
    copy = Wire09()
    copy.talk.packets = [p for packet in packets for p in [packet] * (1 + (rng.random() < 0.15))]
    assert messages(copy.tables()) == messages(WHOLE)


@pytest.mark.parametrize("name", ["01", "03", "05", "06", "09", "31"])
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_samples_with_lost_packets(name: str, share: float, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Whatever is lost: no bug, every byte accounted for, no message that was not there."""
    rng = random.Random(f"{name} {share}")
    packets = [p for p in read_packets(sample(name)) if rng.random() > share]
    path = tmp_path / "lossy.pcap"
    path.write_bytes(pcap_bytes(packets))
    tables = dissect(str(path))
    assert "frame.bug" not in tables.problem_codes()
    ledger = ("decoded_bytes", "skipped_bytes", "missing_bytes", "leftover_bytes")
    for row in tables["connections"]:
        assert sum(row[c] for c in ledger) == row["bytes_c2s"] + row["bytes_s2c"]
    original = dissect(sample(name))
    for kind in ("publish", "deliver", "get", "return"):
        true = Counter(r["body_hash"] for r in where(original["transfers"], kind=kind))
        seen = where(tables["transfers"], kind=kind, is_complete=True)
        assert not Counter(r["body_hash"] for r in seen) - true, kind


def test_sample_with_lost_packets() -> None:
    """23a: five packets of 01 are missing: three acks, a publish's method, a publish's body."""
    lost = messages(dissect(sample("01"))) - messages(dissect(sample("23a")))
    kept = messages(dissect(sample("23a"))) - messages(dissect(sample("01")))
    key = lambda m: (m[0], m[2])  # noqa: E731
    assert sorted(map(key, lost)) == [
        ("deliver", "14"), ("publish", "10"), ("publish", "15"), ("publish", "17"),
        ("publish", "6"),
    ]  # fmt: skip
    state = {key(m): (m[3], m[5], m[6]) for m in kept}
    assert state == {
        ("deliver", "14"): (491, None, True),
        ("publish", "6"): (195, None, True),
        ("publish", "17"): (602, None, True),
        ("publish", "10"): (343, "accepted", False),
        ("publish", "15"): (0, "accepted", False),
    }


def test_snap_length_keeps_headers_and_sizes() -> None:
    """23e: packets of 03 cut after 128 octets; what they begin is there, though not complete."""
    tables = dissect(sample("23e"))
    assert tables.problem_codes()["tcp.snaplen"] == 22
    assert "frame.bug" not in tables.problem_codes()
    original = Counter(r["body_hash"] for r in dissect(sample("03"))["transfers"])
    whole = Counter(r["body_hash"] for r in where(tables["transfers"], is_complete=True))
    assert not whole - original


# -- mid-connection -----------------------------------------------------------------------


@pytest.mark.parametrize("skip", range(FIRST_MESSAGE, FIRST_MESSAGE + 60, 9))
def test_capture_begins_in_the_middle(skip: int) -> None:
    """From any packet on: the rest of the messages with their confirms, marked as inferred."""
    tables = tables_without(WIRE, *range(skip))
    (connection,) = tables["connections"]
    assert (connection["dialect"], connection["dialect_known_by"]) == ("0-9-1", "frame-shape")
    (session,) = tables["sessions"]
    assert session["is_inferred"]
    later = {
        row["message_id"]: message(row)
        for row in WHOLE["transfers"]
        if row["first_packet_no"] > skip
    }
    seen = {row["message_id"]: message(row) for row in tables["transfers"]}
    assert set(seen) == set(later)
    assert {m: v for m, v in seen.items() if later[m] != v} == {}
    delivered = where(tables["links"], kind="consumer")
    assert all(row["is_inferred"] for row in delivered)


def test_acks_of_what_came_before_the_capture_are_noted() -> None:
    tables = dissect(sample("22a"))
    assert tables.problem_codes() == {"state09.unknown_tag": 8}
    assert outcomes(where(tables["transfers"], kind="publish")) == {"accepted": 5}


def test_client_is_found_by_methods_when_ports_do_not_tell() -> None:
    """Both ports are high and the handshake is missing: a publish can only be the client's."""
    wire = Wire09(ports=(50001, 50002)).start().open()
    begun = len(wire.talk.packets)
    wire.ack(1, 1, side=SERVER)
    wire.publish(1, b"x").ack(1, 2, side=SERVER)
    wire.talk.packets = wire.talk.packets[begun:]
    tables = wire.tables()
    (connection,) = tables["connections"]
    assert connection["client"].endswith(":50001")
    assert connection["client_known_by"] == "method"
    assert {row["direction"] for row in where(tables["frames"], name="basic.publish")} == {"c2s"}


def test_transactions_of_a_capture_that_begins_in_the_middle() -> None:
    wire = Wire09().start().open().client(1, "tx.select").server(1, "tx.select-ok")
    begun = len(wire.talk.packets)
    wire.publish(1, b"first").client(1, "tx.commit").server(1, "tx.commit-ok")
    wire.publish(1, b"second").client(1, "tx.rollback").server(1, "tx.rollback-ok")
    wire.talk.packets = wire.talk.packets[begun:]
    rows = sorted(wire.tables()["transfers"], key=lambda row: row["transfer_id"])
    assert [row["transaction_outcome"] for row in rows] == ["committed", "rolled-back"]


def test_transaction_selected_within_a_capture_that_begins_in_the_middle() -> None:
    wire = Wire09().start().open()
    begun = len(wire.talk.packets)
    wire.publish(1, b"before").client(1, "tx.select").server(1, "tx.select-ok")
    wire.publish(1, b"inside").client(1, "tx.commit").server(1, "tx.commit-ok")
    wire.talk.packets = wire.talk.packets[begun:]
    rows = sorted(wire.tables()["transfers"], key=lambda row: row["transfer_id"])
    assert [row["transaction_outcome"] for row in rows] == [None, "committed"]
