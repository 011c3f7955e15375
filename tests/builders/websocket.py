"""AMQP over WebSocket by hand: the upgrade and RFC 6455 frames."""

from __future__ import annotations

import base64
import hashlib
import struct

from tests.builders.streams import Said

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
KEY = base64.b64encode(bytes(range(16))).decode()
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def request(protocol: str = "amqp", path: str = "/ws") -> bytes:
    return (
        f"GET {path} HTTP/1.1\r\nHost: broker.example\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Protocol: {protocol}\r\n\r\n"
    ).encode()


def response(protocol: str = "amqp", extensions: str = "") -> bytes:
    accept = base64.b64encode(hashlib.sha1((KEY + _GUID).encode()).digest()).decode()
    more = f"Sec-WebSocket-Extensions: {extensions}\r\n" if extensions else ""
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {protocol}\r\n{more}\r\n"
    ).encode()


def frame(
    payload: bytes, opcode: int = BINARY, mask: bytes | None = None, is_last: bool = True,
    reserved: int = 0, width: int | None = None,
) -> bytes:  # fmt: skip
    """One frame; ``width`` forces a length field of 0, 2 or 8 octets."""
    size = len(payload)
    if width is None:
        width = 0 if size < 126 else 2 if size < 1 << 16 else 8
    short = {0: size, 2: 126, 8: 127}[width]
    extended = {0: b"", 2: struct.pack(">H", size & 0xFFFF), 8: struct.pack(">Q", size)}[width]
    head = bytes([(0x80 if is_last else 0) | reserved | opcode, (0x80 if mask else 0) | short])
    if mask is None:
        return head + extended + payload
    masked = bytes(octet ^ mask[i % 4] for i, octet in enumerate(payload))
    return head + extended + mask + masked


def websocket_talk(said: Said, protocol: str = "amqp") -> Said:
    """The same talk over WebSocket: one binary message per piece, the client's masked."""
    wire: Said = [(0, request(protocol)), (1, response(protocol.split(",")[0]))]
    for number, (side, octets) in enumerate(said):
        mask = hashlib.md5(b"%d" % number).digest()[:4] if side == 0 else None
        wire.append((side, frame(octets, mask=mask)))
    return wire
