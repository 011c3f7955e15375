"""The live peer's octets cut into protocol headers and frames (1.0 §2.2, §2.3)."""

from __future__ import annotations

from dissectors.amqp10.frames import (
    FRAME_HEADER_BYTES,
    PROTOCOL_HEADER_BYTES,
    decode_frame_header,
    is_sane_header,
)

#: No live peer is believed to send frames larger than this.
MAX_FRAME_BYTES = 64 * 1024 * 1024
_MAGIC = b"AMQP"


class NotAmqpError(ValueError):
    """The live stream holds something that is no frame."""


class Cutter:
    """Octets in as they come, whole frames out."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, octets: bytes) -> list[bytes]:
        """The frames that are whole now. Raises `NotAmqpError`."""
        buffer = self._buffer
        buffer += octets
        frames = []
        at = 0
        while len(buffer) - at >= FRAME_HEADER_BYTES:
            size = self._size(at)
            if len(buffer) - at < size:
                break
            frames.append(bytes(buffer[at : at + size]))
            at += size
        del buffer[:at]
        return frames

    def _size(self, at: int) -> int:
        if self._buffer[at : at + 4] == _MAGIC:
            return PROTOCOL_HEADER_BYTES
        header = decode_frame_header(memoryview(self._buffer), at)
        if not is_sane_header(header) or header.size > MAX_FRAME_BYTES:
            head = bytes(self._buffer[at : at + FRAME_HEADER_BYTES]).hex()
            raise NotAmqpError(f"the peer sent {head}…, which is no AMQP 1.0 frame")
        return header.size
