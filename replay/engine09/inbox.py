"""Live octets → parts, as they come. A peer that sends no frames is an error with a reason."""

from __future__ import annotations

from dissectors.amqp09.frames import FRAME_END
from replay.engine09.parts import (
    FRAME_HEADER,
    FRAME_OVERHEAD,
    PROTOCOL_HEADER,
    Assembler,
    Content,
    Part,
)
from replay.engine09.vocabulary import Vocabulary

PROTOCOL_LITERAL = b"AMQP"
PROTOCOL_HEADER_SIZE = 8
# A live peer has agreed to a frame-max long before it could send more than this.
MAX_FRAME_BYTES = 64 * 1024 * 1024


class NotAmqpError(Exception):
    """The peer's octets are no frames."""


class Inbox:
    """Cuts one side's live octets into parts."""

    def __init__(self, vocabulary: Vocabulary, side: int) -> None:
        self._vocabulary = vocabulary
        self._side = side
        self._buffer = bytearray()
        self._assembler = Assembler()

    def feed(self, octets: bytes) -> list[tuple[Part, Content | None]]:
        """Whole parts, each with the content that it completes."""
        buffer = self._buffer
        buffer += octets
        found: list[tuple[Part, Content | None]] = []
        start, end = 0, len(buffer)
        while end - start >= FRAME_OVERHEAD:
            if buffer[start : start + 4] == PROTOCOL_LITERAL:
                part = Part(self._vocabulary, self._side, 0, 0,
                            bytes(buffer[start : start + PROTOCOL_HEADER_SIZE]))  # fmt: skip
                part.name = PROTOCOL_HEADER
                found.append((part, None))
                start += PROTOCOL_HEADER_SIZE
                continue
            type_, channel, size = FRAME_HEADER.unpack_from(buffer, start)
            if size > MAX_FRAME_BYTES:
                raise NotAmqpError(f"the peer announces a frame of {size} octets")
            last = start + FRAME_HEADER.size + size
            if last >= end:
                break
            if buffer[last] != FRAME_END:
                raise NotAmqpError(f"the peer's frame ends with {buffer[last]:#04x}, not 0xce")
            payload = bytes(buffer[start + FRAME_HEADER.size : last])
            part = Part(self._vocabulary, self._side, type_, channel, payload)
            found.append((part, self._assembler.add(part)))
            start = last + 1
        del buffer[:start]
        return found
