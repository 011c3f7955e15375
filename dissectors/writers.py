"""Tables to files: a stream of (table, record batch) becomes one file per table.

Files are written aside and moved into place when all of them are whole, so that an earlier
result survives a failure. Encoding runs in a thread of its own beside the dissection (Arrow and
zstd release the interpreter lock). It knows formats, not what the rows mean.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa

from dissectors.core.arrow import arrow_schema
from dissectors.tables import CORE_TABLES, SCHEMA_VERSION, TABLES, Table

# Batches that wait for the writer thread; more would only hold memory.
MAX_WAITING_BATCHES = 4
ZSTD_LEVEL = 1
SCHEMA_VERSION_KEY = "amqpscope.schema_version"
# Texts repeat, so a dictionary shrinks them; strings and hashes are mostly unique.
_DICTIONARY_KINDS = ("word", "text")
# Times, numbers and offsets grow in small steps: their differences are short.
_DELTA_KINDS = ("int64", "int32")


class WriteError(Exception):
    """The tables could not be written; its text is the one line to show."""


class TableWriter(Protocol):
    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


class ParquetTable:
    def __init__(self, table: Table, path: Path | IO[bytes]) -> None:
        import pyarrow.parquet as pq

        # Nullable throughout: one absent value in one row must not cost the whole file.
        self._schema = pa.schema([f.with_nullable(True) for f in arrow_schema(table)])
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            compression_level=ZSTD_LEVEL,
            # Without the Arrow schema, dictionary columns read back as plain strings.
            store_schema=False,
            use_dictionary=[c.name for c in table.columns if c.kind in _DICTIONARY_KINDS],
            column_encoding={
                c.name: "DELTA_BINARY_PACKED" for c in table.columns if c.kind in _DELTA_KINDS
            },
            write_statistics=[c.name for c in table.columns if c.kind in _DELTA_KINDS],
        )
        self._writer.add_key_value_metadata({SCHEMA_VERSION_KEY: str(SCHEMA_VERSION)})

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class CsvTable:
    """RFC 4180 with a header line. An absent value is empty, an empty string is ``""``."""

    def __init__(self, table: Table, path: Path | IO[bytes]) -> None:
        import pyarrow.csv as pc

        self._schema = _plain_schema(table, binary=pa.string())
        self._writer = pc.CSVWriter(path, self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(_plain_batch(batch, self._schema))

    def close(self) -> None:
        self._writer.close()


class JsonLinesTable:
    """One JSON object per line; octets are hex. A file that was open before stays open."""

    def __init__(self, table: Table, path: Path | IO[bytes]) -> None:
        self._is_ours = isinstance(path, Path)
        self._file = path.open("wb") if isinstance(path, Path) else path

    def write(self, batch: pa.RecordBatch) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=bytes.hex)
        self._file.writelines(encode.encode(row).encode() + b"\n" for row in batch.to_pylist())

    def close(self) -> None:
        if self._is_ours:
            self._file.close()
        else:
            self._file.flush()


FORMATS: dict[str, Callable[[Table, Path], TableWriter]] = {
    "parquet": ParquetTable,
    "csv": CsvTable,
    "jsonl": JsonLinesTable,
}


def write_tables(
    batches: Iterable[tuple[str, pa.RecordBatch]],
    directory: str | os.PathLike[str],
    file_format: str = "parquet",
    watch: Callable[[str, pa.RecordBatch], None] | None = None,
) -> dict[str, int]:
    """Write all tables to ``directory/<table>.<format>``; returns the rows of each.

    ``watch`` sees every batch on its way. Tables without rows are written too.
    """
    target = Path(directory)
    aside: Path | None = None
    try:
        if target.exists() and not target.is_dir():
            raise WriteError(f"{directory}: is there already and is no folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        row_counts = _write_aside(batches, aside, file_format, watch)
        _move_into_place(aside, target, file_format)
    except OSError as failure:
        raise WriteError(f"{directory}: cannot be written: {_reason(failure)}") from failure
    finally:
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)
    return row_counts


def _reason(failure: OSError) -> str:
    """In the system's words; Arrow wraps them in its own."""
    return (failure.strerror or str(failure)).rpartition("] ")[2]


def _write_aside(
    batches: Iterable[tuple[str, pa.RecordBatch]],
    aside: Path,
    file_format: str,
    watch: Callable[[str, pa.RecordBatch], None] | None,
) -> dict[str, int]:
    row_counts = dict.fromkeys(CORE_TABLES, 0)
    writer = _WriterThread(aside, file_format)
    try:
        for name, batch in batches:
            row_counts[name] = row_counts.get(name, 0) + batch.num_rows
            if watch is not None:
                watch(name, batch)
            writer.put(name, batch)
    finally:
        writer.finish()
    writer.check_failure()
    return row_counts


def _move_into_place(aside: Path, target: Path, file_format: str) -> None:
    target.mkdir(exist_ok=True)
    for name in TABLES:
        path = aside / f"{name}.{file_format}"
        old = target / path.name
        if old.is_dir():
            shutil.rmtree(old)  # a table that Spark wrote as a folder
        if path.exists():
            os.replace(path, old)
        else:
            old.unlink(missing_ok=True)  # an earlier run's table would not fit the others


class _WriterThread:
    """Owns the open files; a failure in it reaches the caller at the next ``put``."""

    def __init__(self, folder: Path, file_format: str) -> None:
        self._folder = folder
        self._format = file_format
        self._tables: dict[str, TableWriter] = {}
        self._failure: Exception | None = None
        self._queue: queue.Queue[tuple[str, pa.RecordBatch] | None]
        self._queue = queue.Queue(MAX_WAITING_BATCHES)
        for name in CORE_TABLES:
            self._open(name)
        self._thread = threading.Thread(target=self._run, name="table-writer", daemon=True)
        self._thread.start()

    def put(self, name: str, batch: pa.RecordBatch) -> None:
        self.check_failure()
        self._queue.put((name, batch))

    def finish(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def check_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _open(self, name: str) -> TableWriter:
        path = self._folder / f"{name}.{self._format}"
        self._tables[name] = FORMATS[self._format](TABLES[name], path)
        return self._tables[name]

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            self._guard(self._write, *item)
        for table in self._tables.values():
            self._guard(table.close)

    def _write(self, name: str, batch: pa.RecordBatch) -> None:
        (self._tables.get(name) or self._open(name)).write(batch)

    def _guard(self, step: Callable[..., None], *args: Any) -> None:
        """After a failure the queue is still emptied, so that the caller never blocks on it."""
        if self._failure is None or step is not self._write:
            try:
                step(*args)
            except Exception as failure:  # handed to the caller's thread
                self._failure = self._failure or failure


def _plain_schema(table: Table, binary: pa.DataType) -> pa.Schema:
    fields = []
    for field in arrow_schema(table):
        field = field.with_nullable(True)
        if pa.types.is_dictionary(field.type):
            field = field.with_type(field.type.value_type)
        elif pa.types.is_binary(field.type):
            field = field.with_type(binary)
        fields.append(field)
    return pa.schema(fields)


def _plain_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = []
    for column, field in zip(batch.columns, schema, strict=True):
        if pa.types.is_binary(column.type):
            column = pa.array([None if v is None else v.hex() for v in column.to_pylist()])
        arrays.append(column.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
