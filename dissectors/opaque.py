"""Streams that are not AMQP but belong in the tables, such as HTTP on an AMQP port.

Their bytes are counted as skipped. A protocol header in the middle of them, as a broker sends to
anything it does not understand, is still a frame.
"""

from __future__ import annotations

from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.protocol_header import HEADER_BYTES, MAGIC, take_protocol_header


class OpaqueDecoder(StreamDecoder):
    """Skips bytes."""

    def __init__(self, conn: Connection, dialect: str | None) -> None:
        super().__init__(conn)
        self.dialect = dialect

    def frame_size(self, side, buf, start, end):
        is_header = buf[start : start + 4] == MAGIC and end - start >= HEADER_BYTES
        return HEADER_BYTES if is_header else end - start

    def take_frame(self, side, buf, start, size):
        if size == HEADER_BYTES and buf[start : start + 4] == MAGIC:
            take_protocol_header(self, side, buf[start : start + size])
        else:
            self.conn.skip(size)
        return 0

    def gap(self, side, size, ts_ns, packet_no):
        """There is no place to lose."""
        return 0
