"""The first packets of a connection, kept until its SYNs are there or will not come any more.

Capture tools shuffle packets by some places, so data may come before the SYN that says where its
stream begins. It decides nothing else: the packets are followed as any others afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

SEQ_MASK = 0xFFFFFFFF
ACK = 0x10
RST = 0x04
# So many packets, octets, and so long, the SYNs are waited for.
MAX_PACKETS = 16
MAX_BYTES = 64 * 1024
MAX_WAIT_NS = 50_000_000


class Early(NamedTuple):
    """A segment as ``Conversation.segment`` takes it."""

    side: int
    octets: bytes
    missing: int
    seq: int
    ack: int
    flags: int
    window: int
    ts_ns: int
    packet_no: int

    @property
    def size(self) -> int:
        return len(self.octets) + self.missing


class Opening:
    def __init__(self, ts_ns: int) -> None:
        self.segments: list[Early] = []
        self.held_bytes = 0
        self._until_ns = ts_ns + MAX_WAIT_NS

    def keep(self, early: Early) -> bool:
        """False when this was the last one to wait with."""
        self.segments.append(early)
        self.held_bytes += len(early.octets)
        return (
            len(self.segments) < MAX_PACKETS
            and self.held_bytes < MAX_BYTES
            and early.ts_ns <= self._until_ns
            and not early.flags & RST
        )

    def can_begin_at(self, side: int, seq: int) -> bool:
        """Whether all that a side has said lies behind this number: a SYN before it fits."""
        return all(
            (early.seq - seq) & SEQ_MASK <= MAX_BYTES
            for early in self.segments
            if early.side == side and early.size
        )

    def first_seq(self, side: int) -> int | None:
        """Where a stream begins that has no SYN: where the first packet says, its own or the other
        side's; or earlier, where segments that came later lie right before that."""
        first = None
        for early in self.segments:
            if early.side == side or early.flags & ACK:
                first = early.seq if early.side == side else early.ack
                break
        ends = {
            (early.seq + early.size) & SEQ_MASK: early.seq
            for early in self.segments
            if early.side == side and early.size
        }
        while first in ends:
            first = ends.pop(first)
        return first
