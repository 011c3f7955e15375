"""Dissect in a test: all tables as lists of plain rows."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import dissectors
from dissectors.options import Options

Rows = list[dict[str, Any]]


class Tables(dict[str, Rows]):
    """Rows by table name; a table without rows is empty."""

    def __missing__(self, name: str) -> Rows:
        return []

    def names(self) -> Counter[str]:
        return Counter(row["name"] for row in self["frames"])

    def problem_codes(self) -> Counter[str]:
        return Counter(row["code"] for row in self["problems"])


def dissect(paths: str | list[str], **options: Any) -> Tables:
    tables = Tables()
    for name, batch in dissectors.open(paths, Options(**options)):
        tables.setdefault(name, []).extend(batch.to_pylist())
    return tables


LEDGER = ("decoded_bytes", "skipped_bytes", "missing_bytes", "leftover_bytes")
STREAM = ("bytes_c2s", "bytes_s2c")


def stream_bytes(tables: Tables) -> int:
    return sum(row[c] for row in tables["connections"] for c in STREAM)


def ledger_errors(tables: Tables) -> list[str]:
    """Connections whose bytes are not all accounted for."""
    return [
        f"{row['connection_id']}: { {c: row[c] for c in (*LEDGER, *STREAM)} }"
        for row in tables["connections"]
        if sum(row[c] for c in LEDGER) != sum(row[c] for c in STREAM)
        or any(row[c] < 0 for c in LEDGER)
    ]


def unlocated(rows: Rows) -> Rows:
    """Rows without what differs between copies of a capture: file, packets, times, health."""
    left_out = (
        *("capture", "packet_no", "ts_ns", "count", "rtt", "connection_id", "retransmit_bytes"),
        "zero_window",
    )
    return [
        {k: _untimed(v) for k, v in row.items() if not any(part in k for part in left_out)}
        for row in rows
        if not str(row.get("event")).startswith("tcp-")
    ]


def _untimed(value: Any) -> Any:
    """A value without the durations that details may hold."""
    return re.sub(r'"[a-z_]+_silence_ms":\d+,?', "", value) if isinstance(value, str) else value
