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
