"""Early data of TLS 1.3 (RFC 8446 §4.2.10): sent before the server has answered, and void unless
its encrypted extensions take it. Held until that is known."""

from __future__ import annotations

from typing import NamedTuple

from dissectors.tls.protection import Protection

# No more is held; servers take far less.
MAX_HELD_BYTES = 1024 * 1024


class Piece(NamedTuple):
    content: bytes
    ts_ns: int
    packet_no: int


class EarlyData:
    """The early data of one connection."""

    def __init__(self) -> None:
        self.protections: list[Protection] = []
        self._held: list[Piece] = []
        self._held_bytes = 0
        self._is_taken: bool | None = None

    def hold(self, piece: Piece) -> list[Piece] | None:
        """What may be read now, perhaps nothing yet; None if this piece is void."""
        if self._is_taken is not None:
            return [piece] if self._is_taken else None
        if self._held_bytes + len(piece.content) > MAX_HELD_BYTES:
            return None
        self._held.append(piece)
        self._held_bytes += len(piece.content)
        return []

    def decide(self, is_taken: bool) -> list[Piece]:
        """The server's word, or the end without one; gives what was held."""
        self._is_taken = is_taken
        held, self._held = self._held, []
        return held
