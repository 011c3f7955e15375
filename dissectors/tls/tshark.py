"""The other way to open TLS: tshark, through pyshark, for ciphers and versions that our own code
does not have (Camellia, 3DES, RC4, TLS 1.0 and 1.1 …). The only file that knows tshark.

It is slow and reads the capture file a second time, so it is asked only for a connection whose
keys are known, and only so often.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator
from typing import NamedTuple

from dissectors.core.connection import Connection
from dissectors.tls.keylog import KeyLog

# Connections of one dissection that tshark is asked about.
MAX_CONNECTIONS = 16


class Opened(NamedTuple):
    """The content of one record; ``packet_no`` is that of the packet which completes it."""

    packet_no: int
    is_from_server: bool
    content: bytes


class RecordQueue:
    """Hands out records' contents by side and packet, in order.

    Records are not told apart within a packet: those without content, which TLS 1.0 peers send
    before every other, are not among what tshark shows.
    """

    def __init__(self, records: Generator[Opened, None, None]) -> None:
        self._records = records
        self._waiting: tuple[deque[Opened], deque[Opened]] = (deque(), deque())
        self._read_no = 0
        self._served_no = [0, 0]

    def close(self) -> None:
        """No more is needed: tshark may stop."""
        self._records.close()

    def take(self, side: int, packet_no: int) -> bytes | None:
        """All contents of a side's records that this packet completes, once; None if there are
        none. ``side`` 0 is the client."""
        if self._served_no[side] == packet_no:
            return b""
        while self._read_no <= packet_no:
            record = next(self._records, None)
            if record is None:
                break
            self._read_no = record.packet_no
            self._waiting[record.is_from_server].append(record)
        waiting = self._waiting[side]
        while waiting and waiting[0].packet_no < packet_no:
            waiting.popleft()
        contents = []
        while waiting and waiting[0].packet_no == packet_no:
            contents.append(waiting.popleft().content)
        if not contents:
            return None
        self._served_no[side] = packet_no
        return b"".join(contents)


def open_by_tshark(conn: Connection, keys: KeyLog) -> RecordQueue | None:
    """The application data of a connection; None where there is no file for tshark to read, no
    tshark, or it was asked too often."""
    capture = conn.sink.capture
    is_limited = keys.tshark_count >= MAX_CONNECTIONS
    if is_limited or capture is None or not os.path.isfile(capture):
        return None
    keys.tshark_count += 1
    import pyshark
    from pyshark.tshark.tshark import TSharkNotFoundException

    ports = [endpoint.rpartition(":")[2] for endpoint in (conn.client, conn.server)]
    hosts = [endpoint.rpartition(":")[0].strip("[]") for endpoint in (conn.client, conn.server)]
    field = "ipv6.addr" if ":" in hosts[0] else "ip.addr"
    terms = [*(f"tcp.port == {port}" for port in ports), *(f"{field} == {host}" for host in hosts)]
    try:
        packets = pyshark.FileCapture(
            capture,
            display_filter=" && ".join(["data", *terms]),
            # What is inside is shown as data, not dissected.
            decode_as={f"tls.port=={ports[1]}": "data"},
            override_prefs={"tls.keylog_file": os.path.abspath(keys.path)} if keys.path else {},
            keep_packets=False,
        )
    except TSharkNotFoundException:
        return None
    return RecordQueue(_records(packets, ports[1]))


def _records(packets, server_port: str) -> Generator[Opened, None, None]:
    from pyshark.capture.capture import TSharkCrashException

    try:
        for packet in packets:
            is_from_server = packet.tcp.srcport == server_port
            for layer in packet.layers:
                # pyshark gives this name to the list of reassembled segments too.
                shown = layer.get_field("data") if layer.layer_name.upper() == "DATA" else None
                if shown is not None:
                    content = bytes.fromhex(str(shown).replace(":", ""))
                    yield Opened(int(packet.number), is_from_server, content)
    except TSharkCrashException:
        # What it could not read is told by the caller, record by record.
        return
    finally:
        packets.close()
