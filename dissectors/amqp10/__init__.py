"""AMQP 1.0 (ISO/IEC 19464): types, frames, messages and state. Knows no files and no sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dissectors.core.connection import Connection
    from dissectors.core.decoder import StreamDecoder


def make_decoder(conn: Connection, dialect: str) -> StreamDecoder:
    """A decoder for one connection; the tables are loaded with the first."""
    from .decoder import Decoder10

    return Decoder10(conn, dialect)
