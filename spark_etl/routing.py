"""Where a task's rows go: all into one file per table, or those of open flows apart.

A flow's rows come before it is known whether the flow is over. So where open flows are put apart,
a flow's batches wait in memory until it ends; those of a flow that is too long for that go to
files of their own, which are then named as open or not.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from dissectors.arrow_files import ParquetTable
from dissectors.core.arrow import to_arrow
from dissectors.core.rows import Batch
from dissectors.table_files import open_table
from spark_etl.parts import Part, PartWriter
from spark_etl.storage import Folder

Batches = Iterable[tuple[str, Batch]]
# Rows of one flow that wait for its end.
MAX_WAITING_BYTES = 32 * 1024 * 1024
# Many short flows give many short batches: they are joined before they are written.
ROWS_PER_WRITE = 65_536


class AllTogether:
    is_by_flow = False

    def __init__(self, folder: Folder, label: str) -> None:
        self._writer = PartWriter(folder, label, open_table)

    def write(self, batches: Batches) -> None:
        for table, batch in batches:
            self._writer.write(table, batch)
            batch.release()

    def end_flow(self, is_open: bool) -> None:
        """Nothing is decided here."""

    def close(self) -> list[Part]:
        return self._writer.close()

    def open_parts(self) -> list[Part]:
        return []


class OpenApart:
    is_by_flow = True

    def __init__(self, folder: Folder, label: str) -> None:
        self._folder = folder
        self._label = label
        self._writers = {
            False: _Joiner(PartWriter(folder, label, ParquetTable)),
            True: _Joiner(PartWriter(folder, f"open-{label}", ParquetTable)),
        }
        self._waiting: list[tuple[str, pa.RecordBatch]] = []
        self._waiting_bytes = 0
        self._own: PartWriter | None = None
        self._own_count = 0
        self._parts: dict[bool, list[Part]] = {False: [], True: []}

    def write(self, batches: Batches) -> None:
        for table, batch in batches:
            rows = to_arrow(batch)
            batch.release()
            self._waiting.append((table, rows))
            self._waiting_bytes += rows.nbytes
        if self._waiting_bytes > MAX_WAITING_BYTES:
            if self._own is None:
                self._own_count += 1
                label = f"{self._label}-{self._own_count}"
                self._own = PartWriter(self._folder, label, ParquetTable)
            self._empty_into(self._own)

    def end_flow(self, is_open: bool) -> None:
        if self._own is None:
            self._empty_into(self._writers[is_open])
        else:
            self._empty_into(self._own)
            self._parts[is_open] += self._own.close()
            self._own = None

    def close(self) -> list[Part]:
        return self._parts[False] + self._writers[False].close()

    def open_parts(self) -> list[Part]:
        return self._parts[True] + self._writers[True].close()

    def _empty_into(self, writer: PartWriter | _Joiner) -> None:
        for table, batch in self._waiting:
            writer.write(table, batch)
        self._waiting, self._waiting_bytes = [], 0


class _Joiner:
    """Joins short batches of a table on their way to the writer."""

    def __init__(self, writer: PartWriter) -> None:
        self._writer = writer
        self._short: dict[str, list[pa.RecordBatch]] = {}

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        short = self._short.setdefault(table, [])
        short.append(batch)
        if sum(b.num_rows for b in short) >= ROWS_PER_WRITE:
            self._flush(table)

    def close(self) -> list[Part]:
        for table in list(self._short):
            self._flush(table)
        return self._writer.close()

    def _flush(self, table: str) -> None:
        joined = pa.Table.from_batches(self._short.pop(table)).unify_dictionaries()
        for batch in joined.combine_chunks().to_batches():
            self._writer.write(table, batch)
