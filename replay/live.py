"""The live run as a capture: what was sent and received, written as TCP packets.

Reading it back with the dissectors gives the tables of the live side: the same model as for any
capture, and ``--save-live`` for free. Secrets are masked before they are written; TLS is off.
"""

from __future__ import annotations

import ipaddress
import struct
from typing import BinaryIO

from replay.script import CLIENT, SERVER

_MAGIC_NS = 0xA1B23C4D
_LINKTYPE_RAW = 101
_FILE_HEADER = struct.pack("<IHHiIII", _MAGIC_NS, 2, 4, 0, 0, 262_144, _LINKTYPE_RAW)
_RECORD = struct.Struct("<IIII")
_IP4 = struct.Struct(">BBHHHBBH4s4s")
_IP6 = struct.Struct(">IHBB16s16s")
_TCP = struct.Struct(">HHIIBBHHH")
_TCP_PROTOCOL = 6
_SYN, _ACK, _PUSH_ACK, _FIN_ACK = 0x02, 0x10, 0x18, 0x11
_MAX_PAYLOAD = 60_000
_NS_PER_S = 1_000_000_000
_SEQUENCES = 1 << 32

Endpoint = tuple[str, int]


class Recording:
    """A capture file in the making."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.write(_FILE_HEADER)

    def connection(self, client: Endpoint, server: Endpoint, ts_ns: int) -> RecordedConnection:
        return RecordedConnection(self, client, server, ts_ns)

    def packet(self, ts_ns: int, octets: bytes) -> None:
        seconds, ns = divmod(ts_ns, _NS_PER_S)
        self._file.write(_RECORD.pack(seconds, ns, len(octets), len(octets)) + octets)

    def flush(self) -> None:
        self._file.flush()


class RecordedConnection:
    """One connection of a recording; `name` is as the dissectors will print its client."""

    def __init__(
        self, recording: Recording, client: Endpoint, server: Endpoint, ts_ns: int
    ) -> None:
        self._recording = recording
        ends = (_address(client[0]), _address(server[0]))
        self._ends = (ends, ends[::-1])
        ports = (client[1], server[1])
        self._ports = (ports, ports[::-1])
        self._next = [1, 1]
        self._is_over = False
        self.client = client
        for side, flags in ((CLIENT, _SYN), (SERVER, _SYN | _ACK)):
            self._packet(side, flags, b"", ts_ns)
            self._next[side] += 1
        self._packet(CLIENT, _ACK, b"", ts_ns)

    def data(
        self, side: int, octets: bytes, ts_ns: int, secrets: list[bytes] | None = None
    ) -> None:
        if self._is_over:
            return
        for secret in secrets or ():
            octets = octets.replace(secret, b"*" * len(secret))
        for start in range(0, len(octets), _MAX_PAYLOAD):
            piece = octets[start : start + _MAX_PAYLOAD]
            self._packet(side, _PUSH_ACK, piece, ts_ns)
            self._next[side] = (self._next[side] + len(piece)) % _SEQUENCES

    def end(self, ts_ns: int) -> None:
        """Nothing after this is recorded."""
        if not self._is_over:
            self._is_over = True
            for side in (CLIENT, SERVER):
                self._packet(side, _FIN_ACK, b"", ts_ns)
                self._next[side] = (self._next[side] + 1) % _SEQUENCES

    def _packet(self, side: int, flags: int, data: bytes, ts_ns: int) -> None:
        source, target = self._ends[side]
        segment = _TCP.pack(
            *self._ports[side], self._next[side], self._next[1 - side] if flags & _ACK else 0,
            0x50, flags, 0xFFFF, 0, 0,
        )  # fmt: skip
        size = len(segment) + len(data)
        if len(source) == 4:
            header = _IP4.pack(
                0x45, 0, _IP4.size + size, 0, 0x4000, 64, _TCP_PROTOCOL, 0, source, target
            )
        else:
            header = _IP6.pack(0x60000000, size, _TCP_PROTOCOL, 64, source, target)
        self._recording.packet(ts_ns, header + segment + data)


def _address(text: str) -> bytes:
    return ipaddress.ip_address(text.partition("%")[0]).packed
