"""The summary of metrics in words: who held up whom, for how long, and where to look."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from amqpscope.reports.metrics import as_json, as_text
from spark_etl.metrics.definitions import METRIC_TABLES

MS = 1_000_000
_ARROW = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "bool": pa.bool_(),
    "ratio": pa.float64(),
    "number": pa.float64(),
}
_EMPTY = {"int64": 0, "int32": 0, "bool": False, "ratio": 0.0, "number": 0.0}
PEERS = {"connection_id": "c", "dialect": "0-9-1", "client": "10.0.0.7:40000",
         "server": "10.0.0.1:5672"}  # fmt: skip


def write(folder: Path, **rows: list[dict[str, Any]]) -> Path:
    """Metric tables with these rows; what a row does not name is null, or empty."""
    for name, table in METRIC_TABLES.items():
        columns = []
        for column in table.columns:
            absent = None if column.is_nullable else _EMPTY.get(column.kind, "")
            values = [row.get(column.name, absent) for row in rows.get(name, [])]
            columns.append(pa.array(values, _ARROW.get(column.kind, pa.string())))
        (folder / f"{name}.parquet").mkdir()
        made = pa.table(columns, names=list(table.names()))
        pq.write_table(made, folder / f"{name}.parquet" / "part-0.parquet")
    return folder


def stall(cause: str, stalled: str, by: str, length_ms: int, packet: int, **cells: Any) -> dict:
    return {**PEERS, "link_id": 1, "address": "orders", "cause": cause, "stalled_side": stalled,
            "caused_by": by, "length_ns": length_ms * MS, "start_packet_no": packet,
            "end_packet_no": packet + 3, "capture": "/x/night.pcap", **cells}  # fmt: skip


SENTENCES = [
    ("link-credit", "client", "server", {},
     "broker 10.0.0.1:5672 gave publisher 10.0.0.7:40000 no link credit on orders"),
    ("prefetch", "server", "client", {"limit": 10},
     "consumer 10.0.0.7:40000 did not acknowledge, so its prefetch of 10 held up broker"),
    ("session-window", "server", "client", {},
     "consumer 10.0.0.7:40000 closed its session window to broker 10.0.0.1:5672, which had credit"),
    ("connection-blocked", "client", "server", {"what": "low on memory", "address": None},
     "broker 10.0.0.1:5672 blocked publisher 10.0.0.7:40000: low on memory"),
    ("broker-silent", "client", "server", {"what": "queue.declare", "address": None},
     "broker 10.0.0.1:5672 left publisher 10.0.0.7:40000 without an answer: queue.declare"),
    ("tcp-window", "client", "server", {}, "broker 10.0.0.1:5672 closed its TCP window to"),
    ("channel-flow", "client", "server", {}, "stopped publisher 10.0.0.7:40000 by channel.flow"),
    ("consumer-slow", "server", "client", {}, "held messages of broker"),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "stalled", "by", "cells", "words"), SENTENCES)
def test_every_cause_has_its_sentence(
    cause: str, stalled: str, by: str, cells: dict[str, Any], words: str, tmp_path: Path
) -> None:
    text = as_text(write(tmp_path, stalls=[stall(cause, stalled, by, 250, 12, **cells)]))
    assert words in text
    assert "250 ms from 1970-01-01 00:00:00.000 UTC: packets 12–15 of night.pcap" in text


def test_every_cause_of_the_definitions_is_spoken_of() -> None:
    (causes,) = (c.doc for c in METRIC_TABLES["stalls"].columns if c.name == "cause")
    assert {s[0] for s in SENTENCES} == set(causes.split(" | "))


def test_culprits_come_by_what_they_cost(tmp_path: Path) -> None:
    small = [stall("link-credit", "client", "server", 100, n, address="a") for n in (1, 5, 9)]
    great = stall("prefetch", "server", "client", 200, 20, link_id=2, address="b", is_open=True,
                  end_packet_no=None)  # fmt: skip
    text = as_text(write(tmp_path, stalls=[great, *small]))
    assert text.startswith("Stalls    4 stalls, 500 ms in all: who held up whom")
    first, second = text.index("300 ms  broker"), text.index("200 ms  consumer")
    assert first < second
    assert "3 ×, longest 100 ms" in text
    assert "still so when the capture ended" in text and "packet 20 of night.pcap" in text
    rows = json.loads(as_json(tmp_path))["stalls"]
    assert [(r["count"], r["total_ns"] // MS) for r in rows] == [(3, 300), (1, 200)]


def test_links_latencies_and_journeys(tmp_path: Path) -> None:
    settled = {**PEERS, "link_id": 1, "kind": "consumer", "address": "orders", "direction": "s2c",
               "outcome": "accepted", "count": 60, "body_bytes": 12_000, "latency_count": 60,
               "p50_ns": 202 * MS, "p99_ns": 206 * MS, "max_ns": 207 * MS, "is_exact": True,
               "batch_mean": 5.0, "unsettled_count": 2, "guarantee": "at-least-once"}  # fmt: skip
    credit = {**PEERS, "link_id": 1, "prefetch_count": 10, "saturated_share": 0.913,
              "starved_ns": 1012 * MS}  # fmt: skip
    took = {**PEERS, "measure": "deliver-settle", "count": 60, "min_ns": 100 * MS,
            "p50_ns": 202 * MS, "max_ns": 207 * MS, "address": "orders"}  # fmt: skip
    leg = {"residence_ns": 5 * MS, "confidence": 1.0, "hop_no": 1, "matched_by": "body"}
    forgotten = {**PEERS, "link_id": 2, "kind": "publisher", "address": "", "direction": "c2s",
                 "count": 7, "guarantee": "at-most-once"}  # fmt: skip
    rolled_back = {**PEERS, "link_id": 3, "kind": "coordinator", "direction": "c2s", "count": 3,
                   "single_count": 3, "guarantee": "at-least-once"}  # fmt: skip
    folder = write(tmp_path, settlement=[settled, forgotten, rolled_back], flow_control=[credit],
                   latencies=[took],
                   end_to_end=[leg, {**leg, "confidence": 0.5, "redelivery_count": 1}])  # fmt: skip
    text = as_text(folder)
    assert "Stalls    none: nobody held up anybody" in text
    assert "← orders" in text and "60 messages, 12.0 kB, at-least-once" in text
    assert (
        "settled in 202 ms (median; p99 206 ms, max 207 ms), 5 by one frame, 2 never settled"
        in text
    )
    assert "prefetch 10, full 91% of the time; its sender had to wait 1.01 s" in text
    assert "7 sent without asking for an answer" in text
    assert "deliver → settle" in text and "slowest orders (median 202 ms)" in text
    assert "→ (transactions)" in text and "3 without an outcome" in text
    followed = "2 messages followed from publisher to consumer (1 with certainty, most by body): "
    assert f"{followed}5 ms in" in text
    assert json.loads(as_json(folder))["end_to_end"]["redelivered"] == 1


def test_nothing_at_all_is_said_plainly(tmp_path: Path) -> None:
    text = as_text(write(tmp_path))
    assert "Messages  none" in text and "Tables" not in text
    assert "Tables    out: backlog, credit_timeline" in as_text(tmp_path, "out")
    assert json.loads(as_json(tmp_path))["end_to_end"] == {"matched": 0}
