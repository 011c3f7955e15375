"""The sink: one row buffer per table, and the finished batches on their way out.

It knows no protocol. Decoders write rows into its buffers; the pipeline takes what is ready.
"""

from dissectors.core.rows import ROWS_PER_BATCH, Batch, RowBuffer
from dissectors.problems import PROBLEM_CODES
from dissectors.tables import CORE_TABLES, TABLES

FIRST_BYTES = 16
# The tables that a whole capture's length lands in; the others stay small.
_LARGE_TABLES = ("frames", "transfers", "credits")
_SMALL_BATCH = 4096


class Sink:
    """Row buffers by table, and ``ready``: (table name, batch) in order of completion."""

    def __init__(
        self,
        has_payloads: bool = False,
        rows_per_batch: int = ROWS_PER_BATCH,
        tap=None,
    ) -> None:
        # Who sees the octets of each frame besides its decoder; decoders ask for it.
        self.tap = tap
        self.ready: list[tuple[str, Batch]] = []
        self.row_counts: dict[str, int] = {}
        self.capture: str | None = None
        names = [*CORE_TABLES, "payloads"] if has_payloads else list(CORE_TABLES)
        self.buffers: dict[str, RowBuffer] = {}
        for name in names:
            size = rows_per_batch if name in _LARGE_TABLES else min(_SMALL_BATCH, rows_per_batch)
            self.buffers[name] = RowBuffer(TABLES[name], self._take, size)
            self.row_counts[name] = 0
        self.connections = self.buffers["connections"]
        self.sessions = self.buffers["sessions"]
        self.links = self.buffers["links"]
        self.frames = self.buffers["frames"]
        self.transfers = self.buffers["transfers"]
        self.credits = self.buffers["credits"]
        self.problems = self.buffers["problems"]
        self.payloads = self.buffers.get("payloads")

    def set_capture(self, name: str) -> None:
        """Rows from here on come from this capture file."""
        if name != self.capture:
            self.capture = name
            for buffer in (self.frames, self.credits):
                buffer.set_default(buffer.places["capture"], name)

    def problem(
        self,
        code: str,
        detail: str,
        *,
        connection_id: str | None = None,
        capture: str | None = None,
        ts_ns: int | None = None,
        packet_no: int | None = None,
        direction: str | None = None,
        stream_offset: int | None = None,
        bytes_affected: int | None = None,
        first_bytes: bytes = b"",
        recovery: str | None = None,
    ) -> None:
        """One row in problems; layer, severity and the usual recovery come from its code."""
        known = PROBLEM_CODES[code]
        self.problems.append(
            {
                "connection_id": connection_id,
                "capture": capture or self.capture,
                "code": code,
                "layer": known.layer,
                "severity": known.severity,
                "detail": detail,
                "ts_ns": ts_ns,
                "packet_no": packet_no,
                "direction": direction,
                "stream_offset": stream_offset,
                "bytes_affected": bytes_affected,
                "first_bytes": first_bytes[:FIRST_BYTES].hex() or None,
                "recovery": recovery or known.recovery,
            }
        )

    def flush(self) -> None:
        """Make every buffered row ready."""
        for buffer in self.buffers.values():
            self._take(buffer)

    def release(self) -> None:
        """Nothing more comes: let go of the buffers now, not when the collector finds the cycle."""
        for buffer in self.buffers.values():
            buffer.on_full = None
        self.buffers = {}

    def take_ready(self) -> list[tuple[str, Batch]]:
        """Batches that were full, and those that will be soon."""
        for buffer in self.buffers.values():
            if buffer.is_nearly_full():
                self._take(buffer)
        ready, self.ready = self.ready, []
        return ready

    def _take(self, buffer: RowBuffer) -> None:
        if buffer.count:
            name = buffer.table.name
            self.row_counts[name] += buffer.count
            self.ready.append((name, buffer.take()))
