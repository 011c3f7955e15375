"""Builds captures by hand: a TCP talk between two sides, written as a pcap file.

``Talk`` keeps sequence numbers; packets are plain lists that a test may drop, swap or repeat
before ``write_pcap``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
START_NS = 1_700_000_000_000_000_000
STEP_NS = 1_000_000


@dataclass
class Talk:
    """Two endpoints that talk; side 0 is the client."""

    ports: tuple[int, int] = (40001, 5672)
    addresses: tuple[bytes, bytes] = (b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02")
    isn: tuple[int, int] = (1000, 5000)
    packets: list[tuple[int, bytes]] = field(default_factory=list)
    now_ns: int = START_NS

    def __post_init__(self) -> None:
        self.seq = list(self.isn)

    def packet(self, side: int, payload: bytes = b"", flags: int = ACK, seq: int | None = None,
               window: int = 65535) -> tuple[int, bytes]:  # fmt: skip
        """Append one packet and move the side's sequence number."""
        at = self.seq[side] if seq is None else seq
        ack = self.seq[1 - side] if flags & ACK else 0
        ports = self.ports if side == 0 else self.ports[::-1]
        source, target = self.addresses if side == 0 else self.addresses[::-1]
        tcp = struct.pack(">HHIIBBHHH", *ports, at & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags,
                          window, 0, 0)  # fmt: skip
        total = 20 + len(tcp) + len(payload)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0, 64, 6, 0) + source + target
        self.packets.append((self.now_ns, b"\x02" * 12 + b"\x08\x00" + ip + tcp + payload))
        self.now_ns += STEP_NS
        if seq is None:
            self.seq[side] += len(payload) + (1 if flags & (SYN | FIN) else 0)
        return self.packets[-1]

    def open(self) -> Talk:
        self.packet(0, flags=SYN)
        self.packet(1, flags=SYN | ACK)
        self.packet(0)
        return self

    def say(self, side: int, payload: bytes, mss: int = 60000) -> Talk:
        """Send bytes, cut into segments."""
        for at in range(0, len(payload), mss):
            self.packet(side, payload[at : at + mss], PSH | ACK)
        return self

    def close(self) -> Talk:
        self.packet(0, flags=FIN | ACK)
        self.packet(1, flags=FIN | ACK)
        self.packet(0)
        return self


def pcap_bytes(
    packets: list[tuple[int, bytes]], snaplen: int = 262144, link_type: int = 1
) -> bytes:
    """A nanosecond pcap file; packets longer than ``snaplen`` are cut."""
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen, link_type)]
    for ts_ns, data in packets:
        kept = data[:snaplen]
        out.append(struct.pack("<IIII", *divmod(ts_ns, 1_000_000_000), len(kept), len(data)))
        out.append(kept)
    return b"".join(out)


def write_pcap(path: Path, packets: list[tuple[int, bytes]], snaplen: int = 262144) -> str:
    path.write_bytes(pcap_bytes(packets, snaplen))
    return str(path)
