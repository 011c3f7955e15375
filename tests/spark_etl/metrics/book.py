"""Writes tiny tables by hand: name what matters, the rest is null, or empty if it may not be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dissectors.tables import TABLES
from spark_etl.schema import spark_ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MS = 1_000_000
NAMES = ("connections", "sessions", "links", "frames", "transfers", "credits")
_EMPTY = {"int64": 0, "int32": 0, "bool": False, "ratio": 0.0}


class Book:
    """Rows by table. Times are given in milliseconds, packets by number."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}

    def add(self, table: str, **cells: Any) -> None:
        unknown = set(cells) - set(TABLES[table].names())
        assert not unknown, unknown
        self.rows[table].append(cells)

    def connection(self, name: str, dialect: str, last: float, **cells: Any) -> None:
        self.add(
            "connections", connection_id=name, dialect=dialect, client=f"{name}:1000",
            server="broker:5672", first_ts_ns=0, last_ts_ns=int(last * MS), tcp_end="fin", **cells,
        )  # fmt: skip

    def link(self, name: str, link_id: int, end: float | None = None, **cells: Any) -> None:
        self.add(
            "links", connection_id=name, session_id=1, link_id=link_id, begin_ts_ns=0,
            established_ts_ns=0, end_ts_ns=None if end is None else int(end * MS), **cells,
        )  # fmt: skip

    def credit(self, name: str, at: float, packet: int, direction: str, event: str,
               **cells: Any) -> None:  # fmt: skip
        cells = {"session_id": 1, "frame_no": packet, **cells}
        self.add("credits", connection_id=name, ts_ns=int(at * MS), packet_no=packet,
                 direction=direction, event=event, capture="x.pcap", **cells)  # fmt: skip

    def frame(self, name: str, at: float, packet: int, direction: str, what: str,
              **cells: Any) -> None:  # fmt: skip
        cells = {"frame_type": "method", "frame_no": packet, "size_bytes": 100, **cells}
        self.add("frames", connection_id=name, ts_ns=int(at * MS), packet_no=packet,
                 direction=direction, name=what, capture="x.pcap", **cells)  # fmt: skip

    def message(self, name: str, transfer: int, at: float, packet: int, direction: str, kind: str,
                settled: tuple[float, int, str] | None = None, frame: str | None = None,
                **cells: Any) -> None:  # fmt: skip
        """A message in one frame; ``settled`` is (when, packet, settle_kind)."""
        cells = {"session_id": 1, "link_id": 1, "is_complete": True, "body_bytes": 10, **cells}
        if settled is not None:
            cells = {"settled_ts_ns": int(settled[0] * MS), "settled_packet_no": settled[1],
                     "settle_kind": settled[2], "outcome": "accepted", **cells}  # fmt: skip
        self.add("transfers", connection_id=name, transfer_id=transfer, kind=kind,
                 direction=direction, capture="x.pcap", first_ts_ns=int(at * MS),
                 last_ts_ns=int(at * MS), first_packet_no=packet, last_packet_no=packet,
                 frame_count=1, **cells)  # fmt: skip
        if frame is not None:
            self.frame(name, at, packet, direction, frame, session_id=cells["session_id"],
                       link_id=cells["link_id"], transfer_id=transfer)  # fmt: skip

    def frames(self, spark: SparkSession) -> dict[str, DataFrame]:
        return {name: _frame(spark, name, rows) for name, rows in self.rows.items()}


def _frame(spark: SparkSession, name: str, rows: list[dict[str, Any]]) -> DataFrame:
    table = TABLES[name]
    full = [
        tuple(
            row.get(c.name, None if c.is_nullable else _EMPTY.get(c.kind, ""))
            for c in table.columns
        )
        for row in rows
    ]
    return spark.createDataFrame(full, spark_ddl(table)).coalesce(1).cache()
