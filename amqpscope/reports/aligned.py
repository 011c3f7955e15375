"""Rows in columns for a person's eyes: aligned as far as the first of them can tell."""

from __future__ import annotations

from typing import IO, Any

import pyarrow as pa

from amqpscope.reports.terminal import printable
from dissectors.tables import Table

# Rows that are measured before the first is printed.
MEASURED_ROWS = 1000
# One long value must not push all others off the screen.
MAX_WIDTH = 40
_GAP = "  "
_RIGHT = frozenset({"int64", "int32", "ratio"})


class AlignedTable:
    """A header, then one line per row; absent values are blank."""

    def __init__(self, table: Table, out: IO[bytes]) -> None:
        self._out = out
        self._names = table.names()
        self._is_right = [column.kind in _RIGHT for column in table.columns]
        self._widths: list[int] = []

    def write(self, batch: pa.RecordBatch) -> None:
        for start in range(0, batch.num_rows, MEASURED_ROWS):
            columns = [
                [_cell(value) for value in column]
                for column in batch.slice(start, MEASURED_ROWS).to_pydict().values()
            ]
            if not self._widths:
                self._begin(columns)
            self._print(zip(*columns, strict=True))

    def close(self) -> None:
        if not self._widths:
            self._begin([[] for _ in self._names])
        self._out.flush()

    def _begin(self, columns: list[list[str]]) -> None:
        self._widths = [
            max(len(name), min(MAX_WIDTH, max(map(len, cells), default=0)))
            for name, cells in zip(self._names, columns, strict=True)
        ]
        self._print([self._names])

    def _print(self, rows: Any) -> None:
        lines = (_GAP.join(self._padded(row)).rstrip() for row in rows)
        self._out.write("".join(f"{line}\n" for line in lines).encode())

    def _padded(self, row: tuple[str, ...]) -> list[str]:
        return [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, self._widths, self._is_right, strict=True)
        ]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    return printable(str(value))
