"""Frame headers and protocol headers (1.0 §2.2, §2.3, §5.2, §5.3), both ways.

A frame is cut from the stream by its size; what its body says is the composites' business.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

FRAME_HEADER_BYTES = 8
PROTOCOL_HEADER_BYTES = 8
#: doff counts 4-octet words and covers the 8-octet header, so it is never less (1.0 §2.3.1).
MIN_DOFF = 2

AMQP_FRAME = 0x00
SASL_FRAME = 0x01
FRAME_TYPES = {AMQP_FRAME: "amqp", SASL_FRAME: "sasl"}

AMQP_PROTOCOL = 0
TLS_PROTOCOL = 2
SASL_PROTOCOL = 3
PROTOCOLS = {AMQP_PROTOCOL: "amqp", TLS_PROTOCOL: "tls", SASL_PROTOCOL: "sasl"}

_MAGIC = b"AMQP"
_HEADER = struct.Struct(">IBBH")


class FrameHeader(NamedTuple):
    """`body` is where the frame body begins, counted from the start of the frame."""

    size: int
    doff: int
    type: int
    channel: int

    @property
    def body(self) -> int:
        return self.doff * 4


class ProtocolHeader(NamedTuple):
    """ "AMQP", protocol id, major, minor, revision."""

    protocol: int
    major: int
    minor: int
    revision: int


def decode_frame_header(buffer: bytes | memoryview, start: int = 0) -> FrameHeader:
    """The header as it stands; whether it makes sense is for `is_sane_header` to say."""
    return FrameHeader(*_HEADER.unpack_from(buffer, start))


def is_sane_header(header: FrameHeader) -> bool:
    """A frame can begin like this: the size holds the header, the data offset lies within."""
    return header.doff >= MIN_DOFF and header.body <= header.size and header.type in FRAME_TYPES


def encode_frame(
    body: bytes,
    channel: int = 0,
    frame_type: int = AMQP_FRAME,
    extended_header: bytes = b"",
) -> bytes:
    """A whole frame. The extended header is padded to the 4-octet words that doff counts."""
    extended_header += bytes(-len(extended_header) % 4)
    start = FRAME_HEADER_BYTES + len(extended_header)
    header = _HEADER.pack(start + len(body), start // 4, frame_type, channel)
    return header + extended_header + body


def decode_protocol_header(buffer: bytes | memoryview, start: int = 0) -> ProtocolHeader | None:
    """The protocol header at `start`, or None if there is none."""
    if bytes(buffer[start : start + 4]) != _MAGIC:
        return None
    return ProtocolHeader(*bytes(buffer[start + 4 : start + PROTOCOL_HEADER_BYTES]))


def encode_protocol_header(protocol: int) -> bytes:
    """The header that asks for a layer of version 1.0.0."""
    return _MAGIC + bytes((protocol, 1, 0, 0))
