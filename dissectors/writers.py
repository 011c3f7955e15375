"""Tables to files: a stream of (table, batch) becomes one file per table.

Files are written aside and moved into place when all of them are whole, so that an earlier
result survives a failure. Encoding runs in a thread of its own beside the dissection (the encoders
release the interpreter lock). What a file looks like inside is ``table_files``' matter.
"""

from __future__ import annotations

import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from dissectors.core.rows import Batch
from dissectors.table_files import BatchWriter, open_table
from dissectors.tables import CORE_TABLES, TABLES

# Batches that wait for the writer thread; more would only hold memory.
MAX_WAITING_BATCHES = 2


class WriteError(Exception):
    """The tables could not be written; its text is the one line to show."""


def write_tables(
    batches: Iterable[tuple[str, Batch]],
    directory: str | os.PathLike[str],
    file_format: str = "parquet",
    watch: Callable[[str, Batch], None] | None = None,
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
    batches: Iterable[tuple[str, Batch]],
    aside: Path,
    file_format: str,
    watch: Callable[[str, Batch], None] | None,
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
        self._tables: dict[str, BatchWriter] = {}
        self._failure: Exception | None = None
        self._queue: queue.Queue[tuple[str, Batch] | None]
        self._queue = queue.Queue(MAX_WAITING_BATCHES)
        for name in CORE_TABLES:
            self._open(name)
        self._thread = threading.Thread(target=self._run, name="table-writer", daemon=True)
        self._thread.start()

    def put(self, name: str, batch: Batch) -> None:
        self.check_failure()
        self._queue.put((name, batch))

    def finish(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def check_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _open(self, name: str) -> BatchWriter:
        path = self._folder / f"{name}.{self._format}"
        self._tables[name] = open_table(TABLES[name], path, self._format)
        return self._tables[name]

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            self._guard(self._write, *item)
        for table in self._tables.values():
            self._guard(table.close)

    def _write(self, name: str, batch: Batch) -> None:
        (self._tables.get(name) or self._open(name)).write(batch)
        batch.release()

    def _guard(self, step: Callable[..., None], *args: Any) -> None:
        """After a failure the queue is still emptied, so that the caller never blocks on it."""
        if self._failure is None or step is not self._write:
            try:
                step(*args)
            except Exception as failure:  # handed to the caller's thread
                self._failure = self._failure or failure
