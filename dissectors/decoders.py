"""The door where dialects plug in: from a dialect's name to its decoder."""

from __future__ import annotations

from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.opaque import OpaqueDecoder

FAMILY_09 = ("0-8", "0-9", "0-9-draft", "0-9-1", "0-10")


def make_decoder(conn: Connection, dialect: str | None) -> StreamDecoder:
    """A decoder for the dialect; what we cannot read is counted, not lost."""
    if dialect in FAMILY_09:
        from dissectors import amqp09

        return amqp09.make_decoder(conn, dialect)
    if dialect == "1.0":
        from dissectors import amqp10

        return amqp10.make_decoder(conn, dialect)
    if dialect == "1.0-draft":
        from dissectors.amqp10 import draft

        return draft.make_decoder(conn, dialect)
    return OpaqueDecoder(conn, dialect)
