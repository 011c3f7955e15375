"""Frames of one connection that speaks the draft: cut like the published version's, read by the
draft's tables. No hot path: nobody sends the draft in bulk any more."""

from __future__ import annotations

from dissectors.amqp10.decoder import Decoder10
from dissectors.amqp10.emit import TransferWriter
from dissectors.amqp10.resync import find_frame
from dissectors.core.connection import Connection

from .definitions import FRAME_BODIES, SASL_FRAMES
from .frames import DraftFrames
from .head import DraftHeadReader
from .layers import DraftLayers
from .message import MessageReader
from .transactions import DraftTransactions
from .vocabulary import DRAFT

_FORMS = ("list", "map")
_CODES = frozenset(row.code for row in (*FRAME_BODIES, *SASL_FRAMES))
_SYMBOLS = frozenset(
    f"amqp:{row.name}:{form}".encode() for row in (*FRAME_BODIES, *SASL_FRAMES) for form in _FORMS
)


class DraftDecoder(Decoder10):
    """The published version's decoder with the draft's parts in it."""

    def __init__(self, conn: Connection, dialect: str) -> None:
        super().__init__(conn, dialect)
        self.is_quick = False
        self.layers = DraftLayers(conn, DRAFT, self.silence)
        self.state.transfers = TransferWriter(conn, DraftHeadReader())
        self.state.transactions = DraftTransactions(self.state)
        self.state.reader = MessageReader()
        self.rare = DraftFrames(self.state, self.layers)

    def can_bridge(self, side, buf, start, have, size) -> int:
        """The message is inside the performative here, so a hole makes all of it unreadable."""
        return 0

    def find_frame(self, side, buf, start, end, is_final) -> int:
        return find_frame(buf, start, end, bool(is_final), _is_frame_body)


def _is_frame_body(buf: bytes, at: int, end: int, frame_type: int) -> bool:
    """Whether a descriptor of the draft stands here: a ulong of domain 1, or a symbol."""
    if buf[at : at + 2] == b"\x00\x80":
        return at + 10 <= end and int.from_bytes(buf[at + 2 : at + 10], "big") in _CODES
    if buf[at : at + 2] == b"\x00\xa3" and at + 3 <= end:
        return bytes(buf[at + 3 : at + 3 + buf[at + 2]]) in _SYMBOLS
    return False
