"""Builders of capture files and packets, a few lines each, and a reader of both into plain rows."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import dpkt

from dissectors.capture import open_packets
from dissectors.capture.decap import PacketView

T0 = 1_700_000_000
T0_NS = T0 * 10**9


def pcap(
    packets, *, order: str = "<", magic: int = 0xA1B2C3D4, link: int = 1, snap: int = 262144
) -> bytes:
    """``packets``: (time in units of the magic's fraction, data[, wire length])."""
    units = 10**9 if magic == 0xA1B23C4D else 10**6
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap, link)]
    for time, data, *wire in packets:
        length = wire[0] if wire else len(data)
        out.append(struct.pack(order + "4I", *divmod(time, units), len(data), length))
        if magic == 0xA1B2CD34:
            out.append(struct.pack(order + "IHBB", 1, 0x0800, 0, 0))
        out.append(data)
    return b"".join(out)


def micros(*datas: bytes, step: int = 1000, first: int = T0 * 10**6) -> list:
    return [(first + i * step, data) for i, data in enumerate(datas)]


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


@dataclass
class Blocks:
    """pcapng blocks in one byte order."""

    order: str = "<"

    def block(self, kind: int, body: bytes) -> bytes:
        size = 12 + len(padded(body))
        head = struct.pack(self.order + "II", kind, size)
        return head + padded(body) + struct.pack(self.order + "I", size)

    def section(self) -> bytes:
        return self.block(0x0A0D0D0A, struct.pack(self.order + "IHHq", 0x1A2B3C4D, 1, 0, -1))

    def interface(self, link: int = 1, snap: int = 0, options: dict | None = None) -> bytes:
        body = struct.pack(self.order + "HHI", link, 0, snap)
        for code, value in (options or {}).items():
            body += struct.pack(self.order + "HH", code, len(value)) + padded(value)
        return self.block(1, body + bytes(4) if options else body)

    def enhanced(self, ticks: int, data: bytes, number: int = 0, wire: int | None = None) -> bytes:
        wire = len(data) if wire is None else wire
        head = struct.pack(
            self.order + "5I", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), wire
        )
        return self.block(6, head + padded(data))

    def obsolete(self, ticks: int, data: bytes, number: int = 0) -> bytes:
        head = struct.pack(
            self.order + "HHIIII",
            number, 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data),
        )  # fmt: skip
        return self.block(2, head + padded(data))

    def simple(self, data: bytes, wire: int | None = None) -> bytes:
        head = struct.pack(self.order + "I", len(data) if wire is None else wire)
        return self.block(3, head + padded(data))

    def secrets(self, text: bytes, kind: int = 0x544C534B) -> bytes:
        return self.block(10, struct.pack(self.order + "II", kind, len(text)) + padded(text))


def pcapng(*datas: bytes, order: str = "<") -> bytes:
    b = Blocks(order)
    packets = [b.enhanced(time, data) for time, data in micros(*datas)]
    return b.section() + b.interface() + b"".join(packets)


def tcp_segment(payload: bytes = b"payload", seq: int = 1000, flags: int = 0x18, **more) -> bytes:
    return bytes(
        dpkt.tcp.TCP(
            sport=40000, dport=5672, seq=seq, ack=77, flags=flags, win=512, data=payload, **more
        )
    )


def ipv4(content: bytes | None = None, protocol: int = 6, **fields) -> bytes:
    content = tcp_segment() if content is None else content
    packet = dpkt.ip.IP(
        src=b"\x0a\x00\x00\x01", dst=b"\x0a\x00\x00\x02", p=protocol, data=content, **fields
    )
    packet.len = len(packet)
    return bytes(packet)


def ipv6(content: bytes | None = None, next_header: int = 6) -> bytes:
    content = tcp_segment() if content is None else content
    addresses = bytes(15) + b"\x01" + b"\xfe\x80" + bytes(13) + b"\x02"
    return struct.pack("!IHBB", 0x60000000, len(content), next_header, 64) + addresses + content


def ethernet(content: bytes, kind: int = 0x0800) -> bytes:
    return b"\x02" * 12 + kind.to_bytes(2, "big") + content


class Problems(list):
    """A report that keeps (code, detail, where)."""

    def __call__(self, code: str, detail: str, **where) -> None:
        self.append((code, detail, where))

    @property
    def codes(self) -> list[str]:
        return [code for code, _, _ in self]


def read_all(*paths: Path | str) -> tuple[list[tuple[int, int, bytes]], Problems]:
    """(time, number in its file, data) of every packet, and the problems."""
    problems = Problems()
    source = open_packets(paths, problems)
    rows = []
    while source.advance():
        data = source.buf[source.start : source.end]
        rows.append((source.ts_ns, source.packet_no, data))
    source.close()
    return rows, problems


def locate(packet: bytes, link: int = 1, wire: int | None = None) -> tuple[int, PacketView]:
    """Through a view, with bytes before and after the packet that must not be looked at."""
    view = PacketView(Problems())
    buf = b"\x45" * 3 + packet + b"\x45" * 3
    length = len(packet) if wire is None else wire
    return view.locate(buf, 3, 3 + len(packet), length, link, T0_NS), view


def payload(view: PacketView) -> bytes:
    return view.buf[view.payload_start : view.payload_end]
