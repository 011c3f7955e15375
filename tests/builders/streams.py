"""What two peers said in a sample, read with dpkt and nothing of ours."""

from __future__ import annotations

import dpkt

from tests.samples import sample

Said = list[tuple[int, bytes]]


def said_in(name: str, limit: int | None = None) -> Said:
    """The first connection of a sample as (side, octets), client 0; its packets are in order."""
    said: Said = []
    first = None
    with open(sample(name), "rb") as file:
        for _, packet in dpkt.pcap.Reader(file):
            tcp = dpkt.ethernet.Ethernet(packet).data.data
            first = first or {tcp.sport, tcp.dport}
            if tcp.data and {tcp.sport, tcp.dport} == first:
                said.append((int(tcp.sport < tcp.dport), bytes(tcp.data)))
    return said[:limit]


def joined(said: Said) -> tuple[bytes, bytes]:
    """The stream of each side."""
    client, server = (b"".join(octets for s, octets in said if s == side) for side in (0, 1))
    return client, server


def without_packet(capture: bytes, number: int) -> bytes:
    """A pcap file less one packet, by its number as tshark counts."""
    out, at, count = capture[:24], 24, 0
    while at < len(capture):
        end = at + 16 + int.from_bytes(capture[at + 8 : at + 12], "little")
        count += 1
        if count != number:
            out += capture[at:end]
        at = end
    return out
