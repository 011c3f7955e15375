"""Writes TCP conversations as an Ethernet pcap. Knows no AMQP."""

from __future__ import annotations

import random
import struct
from typing import BinaryIO

MSS = 1448
_FILE_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)
_RECORD = struct.Struct("<IIII")
_ETHERNET = bytes.fromhex("020000000002020000000001") + b"\x08\x00"
_IP_TCP = struct.Struct(">BBHHHBBH4s4sHHIIBBHHH")
_SYN, _ACK, _PUSH_ACK, _FIN_ACK = 0x02, 0x10, 0x18, 0x11
_START_SECONDS = 1_700_000_000


class Capture:
    """A capture file in the making; may lose or swap packets on purpose, by the given rates."""

    def __init__(
        self, file: BinaryIO, rng: random.Random, loss: float = 0.0, reorder: float = 0.0
    ) -> None:
        self._file = file
        self._rng = rng
        self._loss = loss
        self._reorder = reorder
        self._held: bytes | None = None
        self.now_us = 0
        self.size = file.write(_FILE_HEADER)

    def write(self, packet: bytes) -> None:
        if self._loss and self._rng.random() < self._loss:
            return
        if self._held is None and self._reorder and self._rng.random() < self._reorder:
            self._held = packet
            return
        self._record(packet)
        self.finish()

    def finish(self) -> None:
        """Whatever was held back to swap it with its follower goes out."""
        if self._held is not None:
            self._record(self._held)
            self._held = None

    def _record(self, packet: bytes) -> None:
        """Time goes on by some microseconds with every packet."""
        self.now_us += 7 + (len(packet) >> 6)
        seconds, micros = divmod(self.now_us, 1_000_000)
        header = _RECORD.pack(_START_SECONDS + seconds, micros, len(packet), len(packet))
        self.size += self._file.write(header + packet)


class Conversation:
    """One TCP connection; side 0 is the client."""

    def __init__(self, capture: Capture, number: int, server_port: int) -> None:
        self._capture = capture
        client = bytes((10, 1, number >> 8 & 255, number & 255))
        server = bytes((10, 2, 0, 1))
        self._ends = ((client, server), (server, client))
        ports = (40_000 + number, server_port)
        self._ports = (ports, ports[::-1])
        self._next = [1000 + number, 0xFFFF_F000]  # the server's numbers wrap soon: on purpose
        self._ip_id = 0
        self._unacked = [0, 0]
        self._packet(0, _SYN, b"", ack=0)
        self._next[0] += 1
        self._packet(1, _SYN | _ACK, b"")
        self._next[1] += 1
        self._packet(0, _ACK, b"")

    def send(self, side: int, data: bytes) -> None:
        """In segments of MSS; the other side acknowledges every second one."""
        for start in range(0, len(data), MSS):
            piece = data[start : start + MSS]
            self._packet(side, _PUSH_ACK, piece)
            self._next[side] = (self._next[side] + len(piece)) & 0xFFFF_FFFF
            self._unacked[side] += 1
            if self._unacked[side] == 2:
                self._packet(1 - side, _ACK, b"")
                self._unacked[side] = 0

    def close(self) -> None:
        for side in (0, 1):
            self._packet(side, _FIN_ACK, b"")
            self._next[side] += 1
        self._packet(0, _ACK, b"")

    def _packet(self, side: int, flags: int, data: bytes, ack: int | None = None) -> None:
        self._ip_id = (self._ip_id + 1) & 0xFFFF
        source, target = self._ends[side]
        header = _IP_TCP.pack(
            *(0x45, 0, 40 + len(data), self._ip_id, 0x4000, 64, 6, 0, source, target),
            *self._ports[side],
            self._next[side] & 0xFFFF_FFFF,
            (self._next[1 - side] if ack is None else ack) & 0xFFFF_FFFF,
            *(0x50, flags, 0xFFFF, 0, 0),
        )
        self._capture.write(_ETHERNET + header + data)
