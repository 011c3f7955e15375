"""The row of a frame that the tables read, and the words that say how it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import frames
from .effects import Effect
from .frames import FRAME_TYPES, Frame
from .state import ConnectionState

if TYPE_CHECKING:
    from .decoder import Decoder09

OK = "ok"
MALFORMED = "malformed"
UNKNOWN = "unknown"
INCOMPLETE = "incomplete"


class FrameRows(ConnectionState):
    """Writes rows of frames."""

    def __init__(self, dec: Decoder09, dialect: str) -> None:
        super().__init__(dec, dialect)
        self.framing = frames.framing_of(dialect)

    def row(
        self,
        side: int,
        frame: Frame,
        name: str,
        status: str = OK,
        fields: str | None = None,
        effect: Effect | None = None,
        **columns: Any,
    ) -> None:
        """The frame's row; `effect` says what it did."""
        dec = self.dec
        rows = dec.frames
        size = frame.end - frame.start
        base = dec.conn.frame_row(
            side, dec.ts_ns, dec.packet_no, dec.first_packet_no, dec.offset, size
        )
        columns["channel"] = frame.channel
        columns["frame_type"] = FRAME_TYPES[frame.type]
        columns["name"] = name
        channel = self.dec.channels.get(frame.channel)
        session_id = channel.session_id if channel else None
        if effect is not None:
            transfer, link = effect.transfer, effect.link
            if effect.session_id is not None:
                session_id = effect.session_id
            if transfer is not None:
                columns["transfer_id"] = transfer.transfer_id
                link = transfer.link or link
            if link is not None:
                columns["link_id"] = link.link_id
            if effect.outcome is not None:
                rows.cells[base + rows.places["outcome"]] = effect.outcome
        columns.update(session_id=session_id, status=status, fields=fields)
        for column, value in columns.items():
            if value is not None:
                rows.put(base, rows.places[column], value)
