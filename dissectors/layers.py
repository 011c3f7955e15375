"""The stream inside another: what TLS and WebSocket have in common once they are unwrapped.

Finds the dialect of the unwrapped bytes as a connection's own would be found, then feeds that
dialect's decoder, each piece with the time and number of the packet that completed it. Offsets
count the unwrapped bytes of each side from 0.
"""

from __future__ import annotations

from collections.abc import Callable

from dissectors.core.connection import Connection
from dissectors.core.decoder import MAX_FRAME_BYTES, StreamDecoder
from dissectors.detect import DIALECTS, Piece, Verdict, detect
from dissectors.opaque import OpaqueDecoder

MakeDecoder = Callable[[Connection, Verdict], StreamDecoder]

# transport so far, layer found in it → transport. A layer without a row here is not unwrapped,
# which also bounds how deep layers can nest.
_TRANSPORTS = {
    ("tcp", "tls"): "tls",
    ("tcp", "websocket"): "websocket",
    ("tls", "websocket"): "websocket+tls",
    ("websocket", "tls"): "websocket+tls",
}
# An inner gap of unknown size: larger than any frame that could bridge it.
_UNKNOWN_GAP = MAX_FRAME_BYTES + 1


def layer_of(verdict: Verdict) -> str | None:
    """The layer that must be unwrapped before frames are seen."""
    if verdict.is_inband_tls:
        return "tls"
    return verdict.dialect if verdict.dialect in ("tls", "websocket") else None


def enter_layer(conn: Connection, layer: str) -> None:
    """The connection's bytes go through this layer."""
    transport = conn.facts.get("transport", "tcp")
    conn.facts["transport"] = _TRANSPORTS.get((transport, layer), transport)


class InnerStream:
    """Both sides of the unwrapped stream."""

    def __init__(self, conn: Connection, make_decoder: MakeDecoder) -> None:
        self.conn = conn
        self.decoder: StreamDecoder | None = None
        self._make_decoder = make_decoder
        self._pieces: list[Piece] = []
        self._offsets = [0, 0]

    def feed(self, side: int, octets: bytes, ts_ns: int, packet_no: int) -> None:
        if not octets:
            return
        offset = self._offsets[side]
        self._offsets[side] += len(octets)
        if self.decoder is not None:
            self.decoder.feed(side, octets, 0, len(octets), ts_ns, packet_no, offset)
            return
        self._pieces.append(Piece(side, octets, ts_ns, packet_no, offset))
        self._detect(False)

    def gap(self, side: int, size: int | None, ts_ns: int, packet_no: int) -> None:
        """Inner bytes are missing; None = nobody knows how many."""
        size = _UNKNOWN_GAP if size is None else size
        self._offsets[side] += size
        if self.decoder is not None:
            self.decoder.gap(side, size, ts_ns, packet_no)

    def finish(self, ts_ns: int, packet_no: int, how: str) -> None:
        if self.decoder is None and self._pieces:
            self._detect(True)
        if self.decoder is not None:
            self.decoder.finish(ts_ns, packet_no, how)

    def _detect(self, is_final: bool) -> None:
        verdict = detect(self._pieces, is_final, True)
        if verdict is not None:
            self._begin(verdict)

    def _begin(self, verdict: Verdict) -> None:
        """Make the decoder and feed it what was held, gaps included."""
        facts = self.conn.facts
        layer = layer_of(verdict)
        if layer and (facts.get("transport", "tcp"), layer) not in _TRANSPORTS:
            verdict = Verdict(None, 0.0, verdict.known_by)
        if verdict.dialect in DIALECTS or verdict.dialect == "http":
            facts["dialect"] = verdict.dialect
            facts["dialect_confidence"] = verdict.confidence
            facts["dialect_known_by"] = verdict.known_by
        if verdict.dialect is None:
            self.decoder = OpaqueDecoder(self.conn, None)
        else:
            self.decoder = self._make_decoder(self.conn, verdict)
        if verdict.is_midstream:
            self.decoder.begin_midstream()
        pieces, self._pieces = self._pieces, []
        places = [0, 0]
        for piece in pieces:
            missing = piece.offset - places[piece.side]
            if missing:
                self.decoder.gap(piece.side, missing, piece.ts_ns, piece.packet_no)
            size = len(piece.octets)
            places[piece.side] = piece.offset + size
            self.decoder.feed(
                piece.side, piece.octets, 0, size, piece.ts_ns, piece.packet_no, piece.offset
            )
