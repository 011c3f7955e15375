"""A quick look at one table: some of its rows and columns, as they come out of a dissection.

Batch by batch: nothing is kept of what was printed. It knows tables, not what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO

import pyarrow as pa

import dissectors
from amqpscope.dissection import rare_collections
from amqpscope.progress import Progress
from amqpscope.reports.aligned import AlignedTable
from dissectors.arrow_files import CsvTable, JsonLinesTable, TableWriter
from dissectors.core.arrow import to_arrow
from dissectors.options import Options
from dissectors.tables import TABLES, Table

FORMATS: dict[str, Callable[[Table, IO[bytes]], TableWriter]] = {
    "text": AlignedTable,
    "csv": CsvTable,
    "jsonl": JsonLinesTable,
}


class LookError(ValueError):
    """A question that cannot be answered; its text is the one line to show."""


@dataclass(frozen=True, slots=True)
class Question:
    """Which rows and columns of which table."""

    table: Table
    # The columns asked for, as a table of their own.
    shown: Table
    where: Callable[[pa.RecordBatch], pa.Array] | None = None


def ask(table_name: str, where: str | None, columns: str | None) -> Question:
    """The question that a person has typed; raises LookError."""
    table = TABLES.get(table_name)
    if table is None:
        raise LookError(f"there is no table {table_name!r}: one of {', '.join(TABLES)}")
    shown = table if columns is None else _only(table, columns)
    if where is None:
        return Question(table, shown)
    # Here, because the functions of Arrow take a while to load.
    from amqpscope.where import WhereError, parse_where

    try:
        return Question(table, shown, parse_where(where, table))
    except WhereError as error:
        raise LookError(str(error)) from None


def _only(table: Table, columns: str) -> Table:
    names = [name.strip() for name in columns.split(",")]
    known = {column.name: column for column in table.columns}
    for name in names:
        if name not in known:
            allowed = ", ".join(known)
            raise LookError(f"--columns: {table.name} has no column {name!r}; it has {allowed}")
    if len(set(names)) < len(names):
        raise LookError("--columns: a column is named twice")
    return Table(table.name, table.doc, tuple(known[name] for name in names))


def look(
    captures: Iterable[str], options: Options, question: Question, out: IO[bytes], file_format: str
) -> str | None:
    """Write the answer; why no packet at all could be read, if so."""
    dissection = dissectors.open(tuple(captures), options)
    writer = FORMATS[file_format](question.shown, out)
    names = list(question.shown.names())
    with rare_collections(), Progress(dissection, is_quiet=out.isatty()) as batches:
        for name, batch in batches:
            if name == question.table.name:
                rows = to_arrow(batch)
                if question.where is not None:
                    rows = rows.filter(question.where(rows))
                if rows.num_rows:
                    writer.write(rows.select(names))
            batch.release()
    writer.close()
    return dissection.unreadable_because
