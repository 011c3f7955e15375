"""What a dissection found, summed up from the batches as they pass.

Memory stays bounded: details are kept for the first connections only, totals for all of them.
It holds facts; words and layout are ``terminal.py``'s.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dissectors.core.counting import count_by
from dissectors.core.reading import read_rows
from dissectors.core.rows import Batch

MAX_CONNECTIONS_KEPT = 1000
MAX_ERRORS_KEPT = 8
# What is counted of transfers, the one large table that is looked at.
DEED_KEYS = ("connection_id", "kind", "direction", "outcome")
# What is looked at of the small tables, besides connections, which are shown in full.
END_COLUMNS = ("connection_id", "end_initiator", "end_code", "end_condition", "end_reason")
PROBLEM_COLUMNS = ("code", "severity", "detail", "packet_no", "bytes_affected")
LEDGER_COLUMNS = ("decoded_bytes", "skipped_bytes", "missing_bytes", "leftover_bytes")


class Deed:
    """Transfers of one kind, direction and outcome."""

    def __init__(self) -> None:
        self.count = 0
        self.body_bytes = 0


class ConnectionSummary:
    def __init__(self) -> None:
        self.row: dict[str, Any] = {}
        self.deeds: dict[tuple[str, str, str | None], Deed] = {}
        self.errors: list[str] = []
        self.error_count = 0


class ProblemGroup:
    def __init__(self, first: dict[str, Any]) -> None:
        self.code: str = first["code"]
        self.severity: str = first["severity"]
        self.count = 0
        self.bytes_affected = 0
        self.example: str | None = first["detail"]
        self.example_packet_no: int | None = first["packet_no"]


class Ledger:
    def __init__(self) -> None:
        self.stream_bytes = 0
        self.decoded_bytes = 0
        self.skipped_bytes = 0
        self.missing_bytes = 0
        self.leftover_bytes = 0

    @property
    def is_balanced(self) -> bool:
        return self.stream_bytes == (
            self.decoded_bytes + self.skipped_bytes + self.missing_bytes + self.leftover_bytes
        )


class Summary:
    """Fed with every batch by ``add``; connection rows may come after what belongs to them."""

    def __init__(self) -> None:
        self.connections: dict[str, ConnectionSummary] = {}
        self.connection_count = 0
        self.other_connection_count = 0
        self.dialects: Counter[str | None] = Counter()
        self.frame_count = 0
        self.ledger = Ledger()
        self.deeds: dict[tuple[str, str, str | None], Deed] = {}
        self.problems: dict[str, ProblemGroup] = {}
        self._adders = {
            "connections": self._add_connections,
            "sessions": self._add_sessions,
            "links": self._add_links,
            "transfers": self._add_transfers,
            "problems": self._add_problems,
        }

    def add(self, table: str, batch: Batch) -> None:
        adder = self._adders.get(table)
        if adder is not None:
            adder(batch)

    def rows(self) -> list[ConnectionSummary]:
        """The kept connections whose row has come, in order of time."""
        known = (c for c in self.connections.values() if c.row)
        return sorted(known, key=lambda c: (c.row["first_ts_ns"], c.row["connection_id"]))

    def _connection(self, connection_id: str) -> ConnectionSummary | None:
        found = self.connections.get(connection_id)
        if found is None and len(self.connections) < MAX_CONNECTIONS_KEPT:
            found = self.connections[connection_id] = ConnectionSummary()
        return found

    def _add_connections(self, batch: Batch) -> None:
        for row in read_rows(batch):
            self.connection_count += 1
            self.dialects[row["dialect"]] += 1
            self.frame_count += row["frame_count"] or 0
            self.ledger.stream_bytes += (row["bytes_c2s"] or 0) + (row["bytes_s2c"] or 0)
            for name in LEDGER_COLUMNS:
                setattr(self.ledger, name, getattr(self.ledger, name) + (row[name] or 0))
            kept = self._connection(row["connection_id"])
            if kept is not None:
                kept.row = row

    def _add_sessions(self, batch: Batch) -> None:
        self._add_errors(batch, "channel", "channel")

    def _add_links(self, batch: Batch) -> None:
        self._add_errors(batch, "link", "name")

    def _add_errors(self, batch: Batch, what: str, key: str) -> None:
        """Ends that blame somebody: a 1.0 condition, or a 0-9 reply code that is not success."""
        for row in read_rows(batch, (*END_COLUMNS, key)):
            code = row.get("end_code")
            condition = row["end_condition"]
            if condition is None and (code is None or code < 300):
                continue
            kept = self._connection(row["connection_id"])
            if kept is None:
                continue
            kept.error_count += 1
            if len(kept.errors) < MAX_ERRORS_KEPT:
                said = " ".join(str(v) for v in (code, condition, row["end_reason"]) if v)
                by = f" by {row['end_initiator']}" if row["end_initiator"] else ""
                kept.errors.append(f"{what} {row[key]} ended{by}: {said}")

    def _add_transfers(self, batch: Batch) -> None:
        for values, count, body_bytes in count_by(batch, DEED_KEYS, "body_bytes"):
            connection_id, kind, direction, outcome = values
            key = (kind or "", direction or "", outcome)
            tallies = [self.deeds]
            kept = self._connection(connection_id or "")
            if kept is not None:
                tallies.append(kept.deeds)
            for tally in tallies:
                deed = tally.setdefault(key, Deed())
                deed.count += count
                deed.body_bytes += body_bytes

    def _add_problems(self, batch: Batch) -> None:
        for row in read_rows(batch, PROBLEM_COLUMNS):
            group = self.problems.get(row["code"])
            if group is None:
                group = self.problems[row["code"]] = ProblemGroup(row)
            group.count += 1
            group.bytes_affected += row["bytes_affected"] or 0
