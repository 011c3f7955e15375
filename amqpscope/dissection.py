"""One run of the dissectors with everything a command wants around it: progress, files, summary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import dissectors
from amqpscope.progress import Progress
from amqpscope.reports.summary import Summary
from dissectors.collecting import rare_collections
from dissectors.options import Options
from dissectors.writers import write_tables


class Result(NamedTuple):
    captures: tuple[str, ...]
    summary: Summary
    row_counts: dict[str, int]
    directory: str | None = None
    file_format: str | None = None
    # Why no packet at all could be read, if so.
    unreadable_because: str | None = None


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
                batch.release()
    summary.other_connection_count = dissection.tracker.foreign_count
    return Result(
        captures,
        summary,
        counts,
        directory,
        file_format if directory is not None else None,
        dissection.unreadable_because,
    )
