"""The AMQP 0-9 family: 0-8, 0-9, the 0-9 revision 1 draft, 0-9-1, and 0-10 as far as its names.

Decoder and encoder stand side by side and know no files, sockets, clocks or captures: `schema` and
`dialects` say what the protocols define, `values`, `field_tables`, `methods`, `headers` and
`frames` turn octets into values and back. `decoder`, `rare` and `handlers` make rows and state of
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dissectors.core.connection import Connection
    from dissectors.core.decoder import StreamDecoder


def make_decoder(conn: Connection, dialect: str) -> StreamDecoder:
    """A decoder for one connection; the tables are loaded with the first."""
    if dialect == "0-10":
        from .decoder010 import Decoder010

        return Decoder010(conn)
    from .decoder import Decoder09

    return Decoder09(conn, dialect)
