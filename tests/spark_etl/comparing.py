"""Tables as sets of rows, from Spark's files and from ``dissect``, and how they differ."""

from __future__ import annotations

import gzip
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from dissectors.options import Options
from dissectors.tables import TABLES
from spark_etl.analysis import complete
from spark_etl.flows import Work
from spark_etl.parts import SUFFIX
from spark_etl.rebuild import look_at, read_chunks, rebuild
from spark_etl.source.plan import find_files
from spark_etl.storage import Folder
from tests.tables import Tables, dissect

Rows = Counter[tuple[Any, ...]]


def rows_of(tables: Tables) -> dict[str, Rows]:
    """Rows by table, each with its columns in order; how often each is there."""
    return {
        name: Counter(tuple(row[c] for c in table.names()) for row in tables[name])
        for name, table in TABLES.items()
    }


def written(folder: str | Path) -> dict[str, Rows]:
    """The tables in a folder."""
    tables = Tables()
    for name in TABLES:
        path = Path(folder) / f"{name}{SUFFIX}"
        if path.exists():
            tables[name] = ds.dataset(str(path)).to_table().to_pylist()
    return rows_of(tables)


def dissected(paths: str | list[str], **options: Any) -> dict[str, Rows]:
    return rows_of(dissect(paths, **options))


def rebuilt(
    spark,
    paths: list[str],
    folder: Path,
    partitions: int,
    split_bytes: int | None = None,
    **options,
) -> dict[str, Rows]:
    """The tables through Spark."""
    files = find_files(paths)
    output = Folder(str(folder)).make()
    chunks = read_chunks(spark, files, split_bytes)
    outcome = rebuild(chunks, Work(output, Options(**options), look_at(files)), partitions)
    complete(output, outcome)
    return written(folder)


def differences(got: dict[str, Rows], wanted: dict[str, Rows]) -> dict[str, tuple[list, list]]:
    """Table → (rows too many, rows missing), a few of each; empty if all are the same."""
    found = {}
    for name in TABLES:
        extra, missing = got[name] - wanted[name], wanted[name] - got[name]
        if extra or missing:
            found[name] = (_some(extra), _some(missing))
    return found


def _some(rows: Rows) -> list[tuple[Any, ...]]:
    return list(itertools.islice(rows.elements(), 2))


def truncated_gzip(path: Path, content: bytes) -> Path:
    packed = gzip.compress(content)
    path.write_bytes(packed[: len(packed) * 2 // 3])
    return path
