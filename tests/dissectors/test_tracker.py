"""Connections begin, end and are let go of: port reuse, lingering, the limits over all."""

from __future__ import annotations

import gc
from pathlib import Path

import dissectors
from dissectors.flow import Flow
from dissectors.tracker import MAX_FLOWS
from tests.builders.talk import ACK, RST, SYN, Talk, write_pcap
from tests.dissectors.test_samples_ledger import assert_ledger
from tests.tables import Tables, dissect

HEADER_10 = b"AMQP\x00\x01\x00\x00"
OPEN_10 = bytes.fromhex("0000001102000000005310c00401a10163")
SECOND_NS = 1_000_000_000


def read(tmp_path: Path, *talks: Talk) -> Tables:
    packets = sorted((p for talk in talks for p in talk.packets), key=lambda p: p[0])
    return dissect(write_pcap(tmp_path / "talk.pcap", packets))


def amqp(**how) -> Talk:
    return Talk(**how).open().say(0, HEADER_10).say(1, HEADER_10).say(0, OPEN_10)


def ends(tables: Tables) -> list[str]:
    return [row["tcp_end"] for row in sorted(tables["connections"], key=lambda r: r["first_ts_ns"])]


def test_ends(tmp_path):
    closed = amqp(ports=(1001, 5672)).close()
    reset = amqp(ports=(1002, 5672))
    reset.packet(1, flags=RST | ACK)
    still_open = amqp(ports=(1003, 5672))
    tables = read(tmp_path, closed, reset, still_open)
    assert sorted(ends(tables)) == ["fin", "open", "rst"]
    (row,) = [r for r in tables["connections"] if r["tcp_end"] == "rst"]
    assert (row["reset_by"], row["reset_count"]) == ("server", 1)
    assert_ledger(tables)


def test_a_new_syn_on_the_same_addresses_is_a_new_connection(tmp_path):
    first = amqp()
    second = amqp(isn=(900_000, 800_000), now_ns=first.now_ns)
    tables = read(tmp_path, first, second)
    assert ends(tables) == ["reused", "open"]
    assert [r["frame_count"] for r in tables["connections"]] == [3, 3]


def test_the_end_of_an_earlier_connection_before_a_syn_is_a_connection_of_its_own(tmp_path):
    """The capture begins inside the first one, some packets before its addresses come again."""
    first = Talk(isn=(3_000_000, 2_000_000)).say(0, OPEN_10 * 2).say(1, OPEN_10)
    second = amqp(isn=(900_000, 800_000), now_ns=first.now_ns)
    tables = read(tmp_path, first, second)
    assert ends(tables) == ["reused", "open"]
    assert [r["frame_count"] for r in tables["connections"]] == [3, 3]
    assert_ledger(tables)


def test_packets_that_overtook_the_syn_are_in_its_connection(tmp_path):
    talk = amqp()
    times = [ts_ns for ts_ns, _ in talk.packets]
    shuffled = [talk.packets[place][1] for place in (5, 3, 1, 4, 0, 2)]
    path = write_pcap(tmp_path / "talk.pcap", list(zip(times, shuffled, strict=True)))
    (row,) = dissect(path)["connections"]
    assert (row["frame_count"], row["missing_bytes"], row["skipped_bytes"]) == (3, 0, 0)
    assert (row["client_known_by"], row["client"]) == ("syn", "10.0.0.1:40001")


def test_a_repeated_syn_is_the_same_connection(tmp_path):
    talk = Talk()
    talk.packet(0, flags=SYN)
    talk.packet(0, flags=SYN, seq=talk.isn[0])
    talk.packet(1, flags=SYN | ACK)
    talk.packet(0)
    talk.say(0, HEADER_10).say(1, HEADER_10).say(0, OPEN_10).close()
    assert ends(read(tmp_path, talk)) == ["fin"]


def test_late_packets_of_a_closed_connection_are_its_own(tmp_path):
    talk = amqp()
    late = talk.say(0, OPEN_10).packets.pop()
    talk.close()
    talk.packets.append((talk.now_ns + SECOND_NS, late[1]))
    (row,) = read(tmp_path, talk)["connections"]
    assert (row["tcp_end"], row["missing_bytes"]) == ("fin", 0)


def test_too_many_connections_let_the_idle_strangers_go_first(tmp_path):
    limit = MAX_FLOWS
    amqp_talk = amqp()
    strangers = [
        Talk(ports=(10_000 + n % 50_000, 9000 + n // 50_000), now_ns=amqp_talk.now_ns + n)
        for n in range(limit + 10)
    ]
    for talk in strangers:
        talk.packet(0, flags=SYN)
    amqp_talk.now_ns += limit + 1000
    amqp_talk.close()
    tables = read(tmp_path, amqp_talk, *strangers)
    assert tables.problem_codes()["tcp.connection_limit"] == 1
    assert ends(tables) == ["fin"]


def holed(number: int, size: int) -> Talk:
    """A connection that waits for a lost segment with ``size`` bytes behind it."""
    talk = amqp(ports=(1000 + number, 5672))
    talk.say(0, b"lost")
    talk.packets.pop()
    talk.say(0, bytes(size))
    return talk


def test_bytes_that_wait_are_bounded_over_all_connections(tmp_path):
    talks = [holed(n, 1_000_000) for n in range(80)]
    tables = read(tmp_path, *talks)
    codes = tables.problem_codes()
    assert codes["tcp.buffer_limit"] >= 20
    assert codes["tcp.gap"] == 80
    assert_ledger(tables)
    assert all(row["missing_bytes"] == 4 for row in tables["connections"])


def test_frames_that_wait_for_their_end_are_bounded_too(tmp_path):
    """Frames of 15 MB begun on many connections at once: 0-9-1 bodies, none of which ends."""
    talks = []
    for number in range(6):
        talk = Talk(ports=(1000 + number, 5672)).open().say(0, b"AMQP\x00\x00\x09\x01")
        talk.say(0, b"\x03\x00\x01\x00\xf0\x00\x00" + bytes(14_000_000))
        talks.append(talk)
    tables = read(tmp_path, *talks)
    assert tables.problem_codes()["frame.buffer_limit"] >= 1
    assert_ledger(tables)


def test_a_connection_that_is_over_is_freed_without_a_search_for_cycles(tmp_path):
    talks = [Talk(ports=(n, 5672)) for n in range(1000, 1100)]
    for number, talk in enumerate(talks):
        talk.now_ns += number * 10 * SECOND_NS
        talk.packet(0, flags=SYN)
        talk.packet(1, flags=RST | ACK)
    path = write_pcap(tmp_path / "talk.pcap", [p for talk in talks for p in talk.packets])
    gc.collect()
    before = sum(isinstance(thing, Flow) for thing in gc.get_objects())
    gc.disable()
    try:
        dissection = dissectors.open(path)
        assert sum(batch.num_rows for name, batch in dissection if name == "connections") == 100
        left = sum(isinstance(thing, Flow) for thing in gc.get_objects())
    finally:
        gc.enable()
    assert left <= before + 1  # the last one still stands in the tracker's queue
