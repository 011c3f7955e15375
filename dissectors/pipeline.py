"""Wires the stages; the only file that knows their order.

packets → segments → streams → (detection) → frames and state → rows → Arrow batches. Packets come
from capture files (``Dissection``) or, sorted by flow, from another process (``FlowDissection``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dissectors.capture import CaptureError, open_packets
from dissectors.capture.chunks import ChunkSource
from dissectors.capture.decap import PacketView
from dissectors.capture.paths import STDIN
from dissectors.core.rows import Batch
from dissectors.options import Options
from dissectors.sink import Sink
from dissectors.tap import Tap
from dissectors.tls.keylog import KeyLog
from dissectors.tracker import Tracker

if TYPE_CHECKING:
    import pyarrow as pa

STDIN_NAME = "standard input"
# A capture in which nothing happened is no trouble.
HARMLESS = "capture.no_packets"
# Kept to say why nothing could be read; the problems table has them all.
MAX_TROUBLES = 100


class Dissection:
    """Iterate over (table name, record batch). Streaming: memory does not grow with the capture.

    Raises CaptureError when nothing at all can be read. After the last batch ``row_counts``
    and the counts of packets and connections are complete."""

    def __init__(
        self,
        paths: str | Sequence[str],
        options: Options | None = None,
        tap: Tap | None = None,
    ) -> None:
        self.options = options or Options()
        self.sink = Sink(has_payloads=self.options.has_payloads, tap=tap)
        names = [paths] if isinstance(paths, str) else list(paths)
        self._troubles: list[str] = []
        self.source = open_packets(names, self._report)
        if self.source.readable_count == 0:
            raise CaptureError(self._why_nothing())
        self.tls_keys = KeyLog(self.options.keylog, self.source.secrets)
        self.tracker = Tracker(
            self.source, PacketView(self._report), self.sink, self.options, self.tls_keys
        )

    @property
    def row_counts(self) -> dict[str, int]:
        return self.sink.row_counts

    @property
    def other_connection_count(self) -> int:
        """TCP connections that carried no AMQP and are not in the tables."""
        return self.tracker.foreign_count

    @property
    def bytes_read(self) -> int:
        return self.source.bytes_read

    @property
    def total_bytes(self) -> int | None:
        return self.source.total_bytes

    def __iter__(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        # Here, because loading Arrow takes longer than dissecting most captures.
        from dissectors.core.arrow import to_arrow

        for name, batch in self.batches():
            record_batch = to_arrow(batch)
            batch.release()
            yield name, record_batch

    def batches(self) -> Iterator[tuple[str, Batch]]:
        """The same before it becomes Arrow's. Batches that are released cost no new memory."""
        try:
            while self.tracker.pump():
                yield from self.sink.take_ready()
            self.tracker.finish()
            self.tracker.view.finish()
            self.sink.flush()
            yield from self.sink.take_ready()
        finally:
            self.source.close()
            self.sink.release()

    @property
    def unreadable_because(self) -> str | None:
        """Why no packet at all could be read; None where one could, or there was none to read."""
        tracker = self.tracker
        if tracker.packet_count > tracker.unreadable_count or not self._troubles:
            return None
        return self._why_nothing()

    def _report(self, code: str, detail: str, **where: Any) -> None:
        self.sink.problem(code, detail, **where)
        if code != HARMLESS and len(self._troubles) < MAX_TROUBLES:
            name = where.get("capture")
            self._troubles.append(f"{STDIN_NAME if name == STDIN else name}: {detail}")

    def _why_nothing(self) -> str:
        first, *others = self._troubles
        return f"{first} (and {len(others)} more that cannot be read)" if others else first


class FlowDissection:
    """The same for packets that come in chunks (``capture/chunks.py``), flow after flow.

    A flow's chunks are pushed in order of their first packets, then it is ended. Whatever flows
    are pushed in one process or in many, their rows are those of ``Dissection``: its state is
    per flow, but for the limit of flows that are open at once."""

    def __init__(self, options: Options, tls_keys: KeyLog | None = None) -> None:
        self.sink = Sink(has_payloads=options.has_payloads)
        self.source = ChunkSource()
        view = PacketView(self.sink.problem)
        self.tracker = Tracker(self.source, view, self.sink, options, tls_keys)

    def push(self, capture: str, numbers: bytes, octets: bytes) -> None:
        self.source.push(capture, numbers, octets)
        self._pump()

    def end_flow(self, now_ns: int | None = None) -> bool:
        """No more packets of this flow: its last connection gets its row.

        True if a packet that stands at ``now_ns`` on the timeline, or later, could still belong
        to that connection."""
        self.source.release()
        self._pump()
        is_open = now_ns is not None and self.tracker.has_open(now_ns)
        self.tracker.finish()
        return is_open

    def take_ready(self) -> list[tuple[str, Batch]]:
        return self.sink.take_ready()

    def finish(self) -> list[tuple[str, Batch]]:
        """After the last flow: the rows that are left."""
        self.sink.flush()
        return self.sink.take_ready()

    def _pump(self) -> None:
        while self.tracker.pump():
            pass
