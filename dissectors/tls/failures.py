"""Records that no key opened: one row tells of all that come in a row on one side."""

from __future__ import annotations

from dissectors.core.connection import Connection


class Failures:
    """What could not be opened on each side since the last record that could."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        # per side: count, bytes, and the first one's time, packet and offset
        self._pending: list[tuple[int, int, tuple[int, int, int]] | None] = [None, None]

    def add(self, side: int, size: int, where: tuple[int, int, int]) -> None:
        count, total, first = self._pending[side] or (0, 0, where)
        self._pending[side] = (count + 1, total + size, first)

    def forget(self, side: int) -> None:
        self._pending[side] = None

    def tell(self, side: int) -> bool:
        """Write the row, if there is something to tell."""
        pending, self._pending[side] = self._pending[side], None
        if pending is None:
            return False
        count, total, (ts_ns, packet_no, offset) = pending
        detail = f"{count} records could not be opened with the keys at hand"
        self._conn.problem("tls.decrypt_failed", detail, side, ts_ns, packet_no, offset, total)
        return True
