"""What an output folder holds: its tables and how many rows each has."""

from __future__ import annotations

import json
from pathlib import Path

from amqpscope.reports.units import count_text

_SUFFIX = ".parquet"


def row_counts(folder: str) -> dict[str, int]:
    """Rows by table, from the files' own footers."""
    import pyarrow.dataset as ds

    paths = sorted(Path(folder).glob(f"*{_SUFFIX}"))
    return {
        path.name.removesuffix(_SUFFIX): ds.dataset(str(path), format="parquet").count_rows()
        for path in paths
    }


def as_json(folder: str, shown: str | None) -> str:
    return json.dumps({"output": shown, "rows": row_counts(folder)}, indent=2)


def as_text(folder: str, shown: str | None) -> str:
    counts = row_counts(folder)
    width = max((len(name) for name in counts), default=0)
    lines = [f"  {name:<{width}}  {count_text(count, 'row')}" for name, count in counts.items()]
    head = "tables and metrics" if shown is None else f"tables and metrics in {shown}"
    return "\n".join([head, *lines])
