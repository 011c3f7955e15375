"""Tables to files: a stream of (table, batch) becomes one file per table.

Files are written aside and moved into place when all of them are whole, so that an earlier
result survives a failure. Each batch is written as it comes, while its cells are in the processor's
caches: a thread beside the dissection would wait for the interpreter's lock, and cost more than it
gives. What a file looks like inside is ``table_files``' matter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from dissectors.core.rows import Batch
from dissectors.table_files import BatchWriter, open_table
from dissectors.tables import CORE_TABLES, TABLES


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
        aside = _make_folder_beside(target)
        row_counts = _write_aside(batches, aside, file_format, watch)
        _move_into_place(aside, target, file_format)
    except OSError as failure:
        raise WriteError(f"{directory}: cannot be written: {_reason(failure)}") from failure
    finally:
        if aside is not None:
            _remove(aside)
    return row_counts


def _make_folder_beside(target: Path) -> Path:
    """For nobody else to look into before it is whole."""
    folder = target.parent / f".{target.name}.{os.urandom(8).hex()}"
    folder.mkdir(mode=0o700)
    return folder


def _remove(aside: Path) -> None:
    """As far as that can be done: it holds only what could not be moved into place."""
    with suppress(OSError):
        for path in aside.iterdir():
            path.unlink()
        aside.rmdir()


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
    files = _Files(aside, file_format)
    try:
        for name, batch in batches:
            row_counts[name] = row_counts.get(name, 0) + batch.num_rows
            if watch is not None:
                watch(name, batch)
            files.write(name, batch)
            batch.release()
    except BaseException:
        files.abandon()
        raise
    files.close()
    return row_counts


def _move_into_place(aside: Path, target: Path, file_format: str) -> None:
    target.mkdir(exist_ok=True)
    for name in TABLES:
        path = aside / f"{name}.{file_format}"
        old = target / path.name
        if old.is_dir():  # a table that Spark wrote
            import shutil  # which loads every way to compress; rare

            shutil.rmtree(old)
        if path.exists():
            os.replace(path, old)
        else:
            old.unlink(missing_ok=True)  # an earlier run's table would not fit the others


class _Files:
    """The open files, one per table; those of rare tables are opened when they have a row."""

    def __init__(self, folder: Path, file_format: str) -> None:
        self._folder = folder
        self._format = file_format
        self._tables: dict[str, BatchWriter] = {}
        for name in CORE_TABLES:
            self._open(name)

    def _open(self, name: str) -> BatchWriter:
        path = self._folder / f"{name}.{self._format}"
        self._tables[name] = open_table(TABLES[name], path, self._format)
        return self._tables[name]

    def write(self, name: str, batch: Batch) -> None:
        (self._tables.get(name) or self._open(name)).write(batch)

    def close(self) -> None:
        for table in self._tables.values():
            table.close()

    def abandon(self) -> None:
        """After a failure, which is what the caller is to hear of: the files are let go of."""
        for table in self._tables.values():
            with suppress(Exception):
                table.close()
