"""The AMQP 1.0 draft of 2010-05-19: the published version's framing and types with other frame
bodies. Its rows and state are the published version's; only what the frames say differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dissectors.core.connection import Connection
    from dissectors.core.decoder import StreamDecoder


def make_decoder(conn: Connection, dialect: str) -> StreamDecoder:
    """A decoder for one connection; the tables are loaded with the first."""
    from .decoder import DraftDecoder

    return DraftDecoder(conn, dialect)
