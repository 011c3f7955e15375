"""Segments in any order → chunks, gaps and oddities out."""

from __future__ import annotations

import random

import pytest

from dissectors.tcp.conversation import Conversation, Listener

FIN, SYN, RST, ACK = 1, 2, 4, 16
SECOND_NS = 1_000_000_000


class Heard(Listener):
    """Writes down what it is told: (side, bytes) or (side, -gap size)."""

    def __init__(self) -> None:
        self.events: list = []
        self.oddities: list = []

    def feed(self, side, buf, start, end, ts_ns, packet_no, offset):
        self.events.append((side, buf[start:end]))
        return 0

    def gap(self, side, size, ts_ns, packet_no, offset, code) -> None:
        self.events.append((side, -size))
        self.oddities.append(code)

    def oddity(self, code, side, size, ts_ns, packet_no) -> None:
        self.oddities.append(code)

    def stream(self, side: int) -> bytes:
        return b"".join(b"?" * -e if isinstance(e, int) else e for s, e in self.events if s == side)


def talk(*segments, close: bool = True, step_ns: int = 1000) -> tuple[Heard, Conversation]:
    """Segments are (side, seq, payload[, ack[, flags[, missing]]])."""
    heard = Heard()
    conversation = Conversation(heard, 0, 1)
    for number, (side, seq, payload, *rest) in enumerate(segments, 1):
        ack, flags, missing = (*rest, *(0, None, 0)[len(rest) :])
        flags = flags if flags is not None else (ACK if rest and rest[0] else 0)
        conversation.segment(side, payload, 0, len(payload), missing, seq, ack, flags, 1000,
                             number * step_ns, number)  # fmt: skip
    if close:
        conversation.close(len(segments) * step_ns, len(segments))
    return heard, conversation


CASES = [
    ("in order", [(0, 1, b"abc"), (0, 4, b"def")], b"abcdef", []),
    ("swapped", [(0, 1, b"abc"), (0, 7, b"ghi"), (0, 4, b"def")], b"abcdefghi", []),
    ("repeated", [(0, 1, b"abc"), (0, 1, b"abc"), (0, 4, b"d")], b"abcd", []),
    ("overlap, new tail", [(0, 1, b"abc"), (0, 2, b"bcde")], b"abcde", []),
    ("overlap ahead", [(0, 1, b"a"), (0, 3, b"cd"), (0, 2, b"bcde")], b"abcde", []),
    ("conflict: first copy wins", [(0, 1, b"a"), (0, 3, b"cd"), (0, 3, b"XX"), (0, 2, b"b")],
     b"abcd", ["tcp.overlap_conflict"]),
    ("conflict with what was handed on", [(0, 1, b"abc"), (0, 2, b"XX"), (0, 4, b"d")],
     b"abcd", ["tcp.overlap_conflict"]),
    ("conflict in a part", [(0, 1, b"abc"), (0, 2, b"bXde")], b"abcde", ["tcp.overlap_conflict"]),
    ("data after the end", [(0, 1, b"abc", 0, FIN), (0, 4, b"late")], b"abc", ["tcp.after_end"]),
    ("a FIN too far away is not believed", [(0, 1, b"abc"), (0, 0x70000000, b"", 0, FIN),
                                            (0, 4, b"d")], b"abcd", []),
    ("before the first byte", [(0, 100, b"abc"), (0, 50, b"old")], b"abc", ["tcp.before_start"]),
    ("lost", [(0, 1, b"abc"), (0, 8, b"hij")], b"abc????hij", ["tcp.gap"]),
    ("wrap", [(0, 0xFFFFFFFE, b"ab"), (0, 0, b"cd"), (0, 2, b"ef")], b"abcdef", []),
    ("wrap, swapped", [(0, 0xFFFFFFFD, b"a"), (0, 1, b"ef"), (0, 0xFFFFFFFE, b"bcd")],
     b"abcdef", []),
    ("keep-alive", [(0, 1, b"abc"), (0, 3, b"\0"), (0, 4, b"d")], b"abcd", []),
    ("cut by snap length", [(0, 1, b"ab", 0, 0, 2), (0, 5, b"ef")], b"ab??ef", ["tcp.snaplen"]),
    ("far ahead is not believed", [(0, 1, b"abc"), (0, 0x70000000, b"x"), (0, 4, b"d")],
     b"abcd", ["tcp.out_of_window"]),
]  # fmt: skip


@pytest.mark.parametrize(("segments", "stream", "oddities"), [c[1:] for c in CASES],
                         ids=[c[0] for c in CASES])  # fmt: skip
def test_one_direction(segments, stream, oddities):
    heard, conversation = talk(*segments)
    assert heard.stream(0) == stream
    assert heard.oddities == oddities
    assert conversation.half_0.delivered == len(stream)


HANDSHAKE = [(0, 0, b"", 0, SYN), (1, 9, b"", 1, SYN | ACK)]


@pytest.mark.parametrize("seed", range(40))
def test_packets_before_the_syn_belong_to_its_connection(seed):
    """Sequence number 0 is the client's SYN: what it says begins at 1."""
    segments = [*HANDSHAKE, (0, 1, b"AMQP", 10, ACK), (1, 10, b"start", 5, ACK),
                (0, 5, b"ok", 15, ACK), (1, 15, b"tune", 7, ACK)]  # fmt: skip
    random.Random(seed).shuffle(segments)
    heard, _ = talk(*segments)
    assert (heard.stream(0), heard.stream(1)) == (b"AMQPok", b"starttune")
    assert heard.oddities == []


def test_without_a_syn_a_stream_begins_with_the_earliest_of_its_first_segments():
    heard, _ = talk((0, 0, b"cd"), (0, 0xFFFFFFFC, b"xxab"), (0, 2, b"ef"))
    assert heard.stream(0) == b"xxabcdef"
    assert heard.oddities == []


@pytest.mark.parametrize(
    ("segments", "first_chunk"),
    [
        ([(0, 1, b"a")] * 3, b""),
        ([(0, 1 + n, b"a") for n in range(16)], b"a"),
        ([(0, 1, b"a"), (0, 2, b"", 0, RST)], b"a"),
        ([(0, 1, bytes(40_000)), (0, 40_001, bytes(40_000))], bytes(40_000)),
    ],
    ids=["a few", "many", "reset", "large"],
)
def test_the_syns_are_not_waited_for_long(segments, first_chunk):
    heard, _ = talk(*segments, close=False)
    assert heard.events[:1] == ([(0, first_chunk)] if first_chunk else [])


def test_the_syns_are_not_waited_for_after_a_while():
    heard, _ = talk((0, 1, b"a"), (0, 2, b"b"), close=False, step_ns=40_000_000)
    assert heard.stream(0) == b"ab"


def test_an_answer_waits_for_its_question():
    # The server's "42" acknowledges "ask" (up to 4), which the capture shows later.
    heard, _ = talk((0, 1, b"", 0, SYN), (1, 9, b"", 2, SYN | ACK), (1, 10, b"42", 5, ACK),
                    (0, 2, b"ask", 10, ACK))  # fmt: skip
    assert heard.events == [(0, b"ask"), (1, b"42")]


def test_a_hole_that_was_acknowledged_is_given_up_after_a_while():
    late = [(1, 10 + n, b"x", 5, ACK) for n in range(400)]
    heard, _ = talk((0, 2, b"", 10, ACK), (1, 10, b"", 2, ACK), *late, close=False)
    assert heard.events[0] == (0, -3)
    assert heard.stream(1) == b"x" * 400


def test_a_hole_that_was_not_acknowledged_is_waited_for():
    heard, _ = talk((0, 1, b"ab"), *[(0, 5 + n, b"x") for n in range(500)], (0, 3, b"cd"))
    assert heard.stream(0) == b"abcd" + b"x" * 500
    assert heard.oddities == []


def test_waiting_bytes_are_bounded():
    block = bytes(60_000)
    segments = [(0, 1, b"a")] + [(0, 100 + n * len(block), block) for n in range(200)]
    heard, conversation = talk(*segments, close=False)
    assert "tcp.buffer_limit" in heard.oddities
    assert conversation.half_0.waiting_bytes <= 4 * 1024 * 1024 + len(block)


def test_lost_tail_is_counted_when_the_peer_acknowledged_it():
    heard, _ = talk((0, 1, b"abc", 10, ACK), (1, 10, b"ok", 9, ACK))
    assert heard.stream(0) == b"abc?????"


def test_fin_is_no_byte_of_the_stream():
    heard, conversation = talk((0, 1, b"abc", 10, FIN | ACK), (1, 10, b"", 5, FIN | ACK))
    assert heard.stream(0) == b"abc"
    assert conversation.closed_ts_ns >= 0


def test_round_trips_and_zero_windows():
    heard = Heard()
    conversation = Conversation(heard, 0, 1)
    conversation.segment(0, b"", 0, 0, 0, 1, 0, SYN, 10, 0, 1)
    conversation.segment(1, b"", 0, 0, 0, 50, 2, SYN | ACK, 10, 700, 2)
    conversation.segment(0, b"abc", 0, 3, 0, 2, 51, ACK, 10, 1000, 3)
    conversation.segment(1, b"", 0, 0, 0, 51, 5, ACK, 0, 1400, 4)
    conversation.segment(1, b"", 0, 0, 0, 51, 5, ACK, 9, 2400, 5)
    assert conversation.handshake_rtt_ns == 1000
    assert (conversation.rtt_min_ns, conversation.rtt_max_ns) == (400, 400)
    assert (conversation.half_1.zero_window_count, conversation.half_1.zero_window_ns) == (1, 1000)


@pytest.mark.parametrize("seed", range(50))
def test_any_shuffle_without_loss_gives_the_same_stream(seed):
    rng = random.Random(seed)
    stream = rng.randbytes(2000)
    base = rng.choice([1, 0xFFFFFC00])
    segments, at = [], 0
    while at < len(stream):
        size = rng.randint(1, 60)
        segments.append((0, (base + at) & 0xFFFFFFFF, stream[at : at + size]))
        at += rng.randint(1, size) if rng.random() < 0.2 else size
    first, rest = segments[0], segments[1:]
    repeats = rng.sample(rest, len(rest) // 4)
    rest += repeats
    for n in range(len(rest) - 4):
        if rng.random() < 0.3:
            k = n + rng.randint(1, 4)
            rest[n], rest[k] = rest[k], rest[n]
    heard, _ = talk(first, *rest)
    assert heard.stream(0) == stream
    assert "tcp.gap" not in heard.oddities


LATE = [(0, 1, b"a"), (0, 4, b"d"), (0, 5, b"e"), (0, 2, b"bc")]
HEALTH = [
    ("overtaken", LATE, 1000, (1, 0, 0)),
    ("sent again", LATE, 5_000_000, (0, 1, 2)),
    ("repeated", [(0, 1, b"ab"), (0, 1, b"ab"), (0, 3, b"c"), (0, 1, b"abc")], 1000, (0, 2, 5)),
    ("repeated while it waits", [*LATE[:2], LATE[1], LATE[3]], 1000, (1, 1, 1)),
]


@pytest.mark.parametrize(("segments", "step_ns", "health"), [c[1:] for c in HEALTH],
                         ids=[c[0] for c in HEALTH])  # fmt: skip
def test_what_came_late_and_what_came_twice(segments, step_ns, health):
    half = talk(*segments, step_ns=step_ns)[1].half_0
    counted = (half.out_of_order_count, half.retransmit_count, half.retransmit_bytes)
    assert counted == health


def test_a_clock_set_back_makes_no_round_trip():
    conversation = Conversation(Heard(), 0, 1)
    conversation.segment(0, b"abc", 0, 3, 0, 2, 51, ACK, 10, 9_000, 1)
    conversation.segment(1, b"", 0, 0, 0, 51, 5, ACK, 10, 1_000, 2)
    assert conversation.rtt_count == 0


def test_relief_hands_on_what_waits():
    heard, conversation = talk(*HANDSHAKE, (0, 1, b"a"), (0, 4, b"d"), close=False)
    assert heard.stream(0) == b"a"
    conversation.relieve(10, 10)
    assert heard.stream(0) == b"a??d"
    assert heard.oddities == ["tcp.buffer_limit", "tcp.gap"]
    assert conversation.half_0.waiting_bytes == 0
