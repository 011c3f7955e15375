"""One table, one file: opens it for batches of cells, whatever the format.

It knows formats, not what the rows mean. Those that Arrow writes are in ``arrow_files.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Protocol

from dissectors.core.rows import Batch
from dissectors.parquet.file import ParquetFile
from dissectors.parquet.packing import is_compiled
from dissectors.tables import SCHEMA_VERSION, Table

FORMATS = ("parquet", "csv", "jsonl")
SCHEMA_VERSION_KEY = "amqpscope.schema_version"
NOTES = {SCHEMA_VERSION_KEY: str(SCHEMA_VERSION)}


class BatchWriter(Protocol):
    """Takes batches of cells."""

    def write(self, batch: Batch) -> None: ...

    def close(self) -> None: ...


class CellParquetTable:
    """Our own encoder, which makes the same columns without a detour through Arrow."""

    def __init__(self, table: Table, path: Path | IO[bytes]) -> None:
        self._is_ours = isinstance(path, Path)
        self._file = path.open("wb") if isinstance(path, Path) else path
        self._writer = ParquetFile(self._file, table, NOTES)

    def write(self, batch: Batch) -> None:
        self._writer.write(batch)

    def close(self) -> None:
        self._writer.close()
        if self._is_ours:
            self._file.close()


def open_table(table: Table, path: Path | IO[bytes], file_format: str = "parquet") -> BatchWriter:
    """Our own encoder runs where it is compiled; as plain Python, Arrow's is faster."""
    if file_format == "parquet" and is_compiled():
        return CellParquetTable(table, path)
    # Here, because loading Arrow takes longer than dissecting most captures.
    from dissectors.arrow_files import WRITERS, Converted

    return Converted(WRITERS[file_format](table, path))
