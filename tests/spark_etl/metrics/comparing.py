"""Metric tables of two output folders, as multisets of rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from spark_etl.metrics.definitions import METRICS

Rows = Counter[tuple[Any, ...]]


def metric_rows(folder: Path) -> dict[str, Rows]:
    """Rows by table; what is not whole is rounded, for sums in another order end otherwise."""
    found = {}
    for name, metric in METRICS.items():
        table = ds.dataset(str(folder / f"{name}.parquet")).to_table()
        assert table.column_names == list(metric.table.names())
        columns = [[_rounded(value) for value in column.to_pylist()] for column in table.columns]
        found[name] = Counter(zip(*columns, strict=True))
    return found


def metric_differences(one: Path, other: Path) -> dict[str, tuple[list[Any], list[Any]]]:
    """Table → (rows only here, rows only there), a few of each; empty if all are the same."""
    ours, theirs = metric_rows(one), metric_rows(other)
    return {
        name: (list(ours[name] - theirs[name])[:2], list(theirs[name] - ours[name])[:2])
        for name in ours
        if ours[name] != theirs[name]
    }


def _rounded(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value
