"""The Parquet files that one task writes, and what it tells about them.

Tasks write their files themselves: rows need not travel through Spark again. A task may run twice
(a lost executor, speculation), so every attempt writes names of its own, and only the files that
the accepted attempt names in its answer become part of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dissectors.arrow_files import ParquetTable
from dissectors.tables import TABLES, Table
from spark_etl.storage import Folder

SUFFIX = ".parquet"


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a table: ``<table>.parquet/<name>``."""

    table: str
    name: str
    row_count: int


class PartWriter:
    """Writes batches, cells or Arrow's as ``open_writer`` takes them, into one file per table,
    opened with the table's first batch."""

    def __init__(
        self, folder: Folder, label: str, open_writer: Callable[[Table, Any], Any]
    ) -> None:
        self._folder = folder
        self._name = f"{label}{SUFFIX}"
        self._open_writer = open_writer
        self._open: dict[str, tuple[Any, Any]] = {}
        self._row_counts: dict[str, int] = {}

    def write(self, table: str, batch: Any) -> None:
        if table not in self._open:
            stream = (self._folder / f"{table}{SUFFIX}").make().open_new(self._name)
            self._open[table] = (self._open_writer(TABLES[table], stream), stream)
            self._row_counts[table] = 0
        self._open[table][0].write(batch)
        self._row_counts[table] += batch.num_rows

    def close(self) -> list[Part]:
        for table, stream in self._open.values():
            table.close()
            stream.close()
        return [Part(table, self._name, count) for table, count in self._row_counts.items()]


def write_empty(folder: Folder, table: str) -> None:
    """A table without rows still has its columns."""
    stream = (folder / f"{table}{SUFFIX}").make().open_new(f"empty{SUFFIX}")
    ParquetTable(TABLES[table], stream).close()
    stream.close()
