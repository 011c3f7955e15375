"""A tap on a decoder: someone else sees each frame's octets just before they are decoded.

A decoder is tapped by wrapping it, so that one without a tap does no extra work. Wrapped are the
decoders of AMQP frames, wherever these come from: what the tap sees is free of TLS and WebSocket.
"""

from __future__ import annotations

from typing import Protocol

from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder


class Tap(Protocol):
    """Who listens."""

    def frame(self, conn: Connection, side: int, ts_ns: int, packet_no: int, octets: bytes) -> None:
        """A whole frame or protocol header, malformed ones included."""

    def gap(self, conn: Connection, side: int, ts_ns: int, packet_no: int) -> None:
        """Frames of this side are missing here."""


class TappedDecoder(StreamDecoder):
    """Cuts frames by the rules of the decoder inside, and gives each to the tap and to it."""

    def __init__(self, inner: StreamDecoder, tap: Tap) -> None:
        super().__init__(inner.conn)
        self._inner = inner
        self._tap = tap

    def begin_midstream(self) -> None:
        self._inner.begin_midstream()
        super().begin_midstream()

    def frame_size(self, side, buf, start, end):
        return self._inner.frame_size(side, buf, start, end)

    def take_frame(self, side, buf, start, size):
        self._tap.frame(
            self.conn, side, self.ts_ns, self.packet_no, bytes(buf[start : start + size])
        )
        self._locate()
        return self._inner.take_frame(side, buf, start, size)

    def take_holed_frame(self, side, buf, start, size, holes):
        self._tap.gap(self.conn, side, self.ts_ns, self.packet_no)
        self._locate()
        return self._inner.take_holed_frame(side, buf, start, size, holes)

    def can_bridge(self, side, buf, start, have, size):
        return self._inner.can_bridge(side, buf, start, have, size)

    def find_frame(self, side, buf, start, end, is_final):
        return self._inner.find_frame(side, buf, start, end, is_final)

    def on_gap(self, side, ts_ns, packet_no):
        self._tap.gap(self.conn, side, ts_ns, packet_no)
        self._inner.on_gap(side, ts_ns, packet_no)

    def on_end(self, ts_ns, packet_no, how):
        self._locate()
        self._inner.on_end(ts_ns, packet_no, how)

    def _locate(self) -> None:
        """The decoder inside reads the place of a frame from its own attributes."""
        inner = self._inner
        inner.ts_ns = self.ts_ns
        inner.packet_no = self.packet_no
        inner.first_packet_no = self.first_packet_no
        inner.offset = self.offset
