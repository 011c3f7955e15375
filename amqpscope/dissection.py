"""One run of the dissectors with everything a command wants around it: progress, files, summary."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import dissectors
from amqpscope.progress import Progress
from amqpscope.reports.summary import Summary
from dissectors.options import Options
from dissectors.writers import write_tables

OBJECTS_PER_COLLECTION = 100_000


@dataclass(frozen=True, slots=True)
class Result:
    captures: tuple[str, ...]
    summary: Summary
    row_counts: dict[str, int] = field(default_factory=dict)
    directory: str | None = None
    file_format: str | None = None
    # Why no packet at all could be read, if so.
    unreadable_because: str | None = None


@contextmanager
def rare_collections() -> Iterator[None]:
    """Rows and messages are freed by count; the search for cycles would find nearly none."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_PER_COLLECTION, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def dissect(
    captures: Iterable[str],
    options: Options,
    directory: str | None = None,
    file_format: str = "parquet",
) -> Result:
    """Dissect captures, write the tables where a directory is given, and sum up."""
    captures = tuple(captures)
    dissection = dissectors.open(captures, options)
    summary = Summary()
    with rare_collections(), Progress(dissection) as batches:
        if directory is not None:
            counts = write_tables(batches, directory, file_format, watch=summary.add)
        else:
            counts = {}
            for name, batch in batches:
                counts[name] = counts.get(name, 0) + batch.num_rows
                summary.add(name, batch)
    summary.other_connection_count = dissection.tracker.foreign_count
    return Result(
        captures,
        summary,
        counts,
        directory,
        file_format if directory is not None else None,
        dissection.unreadable_because,
    )
