"""The row of a protocol header that stands outside any dialect's frames."""

from __future__ import annotations

from dissectors.core.decoder import StreamDecoder
from dissectors.core.rows import cell_of
from dissectors.core.words import word
from dissectors.tables import FRAMES

HEADER_BYTES = 8
MAGIC = b"AMQP"

_FRAME_TYPE = cell_of(FRAMES, "frame_type")
_NAME = cell_of(FRAMES, "name")
_STATUS = cell_of(FRAMES, "status")
_FIELDS = cell_of(FRAMES, "fields")


def take_protocol_header(decoder: StreamDecoder, side: int, octets: bytes) -> None:
    """One frames row with the decoder's present provenance."""
    conn = decoder.conn
    base = conn.frame_row(
        side,
        decoder.ts_ns,
        decoder.packet_no,
        decoder.first_packet_no,
        decoder.offset,
        len(octets),
    )
    rows = conn.frames
    rows.cells[base + _FRAME_TYPE] = word("protocol-header")
    rows.cells[base + _NAME] = word("protocol-header")
    rows.cells[base + _STATUS] = word("ok")
    version = ".".join(str(octet) for octet in octets[4:])
    rows.put(base, _FIELDS, f'{{"octets":"{version}"}}')
