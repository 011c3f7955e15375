"""Settlement, backlog, latencies and throughput against answers worked out by hand."""

from __future__ import annotations

import pytest

from tests.spark_etl.metrics.book import MS
from tests.spark_etl.metrics.conftest import Rows
from tests.spark_etl.metrics.test_flow_control import ms, of


def test_counts_latency_and_batching(scenes: Rows) -> None:
    accepted, waiting = sorted(
        of(scenes, "settlement", "saturated"), key=lambda r: r["outcome"] is None
    )
    assert (accepted["count"], accepted["range_count"], accepted["single_count"]) == (2, 2, 0)
    assert (accepted["settle_frame_count"], accepted["batch_mean"]) == (1, 2.0)
    # 61 - 11 = 50 ms and 61 - 10 = 51 ms
    assert ms(accepted, "min_ns", "p50_ns", "p90_ns", "max_ns") == (50, 50.5, 50.9, 51)
    assert accepted["is_exact"] and accepted["latency_count"] == 2
    assert (waiting["outcome"], waiting["count"], waiting["unsettled_count"]) == (None, 1, 1)
    assert waiting["p50_ns"] is None
    assert accepted["guarantee"] == waiting["guarantee"] == "at-least-once"


@pytest.mark.parametrize(
    ("connection", "guarantee"),
    [("drained", "at-most-once"), ("stopped", "at-most-once"), ("windowed", "unknown")],
)
def test_the_observed_guarantee(scenes: Rows, connection: str, guarantee: str) -> None:
    assert {r["guarantee"] for r in of(scenes, "settlement", connection)} == {guarantee}


def test_backlog_counts_what_waits(scenes: Rows) -> None:
    """Confirms: published at 0, confirmed at 2000. No confirms: nothing waits."""
    rows = sorted(of(scenes, "backlog", "silent", link_id=1), key=lambda r: r["window_start_ns"])
    assert [
        (r["window_start_ns"] // MS, r["arrived_count"], r["settled_count"], r["unsettled"],
         r["max_unsettled"])
        for r in rows
    ] == [(0, 1, 0, 1, 1), (2000, 0, 1, 0, 1)]  # fmt: skip
    assert of(scenes, "backlog", "stopped") == []


def test_set_up_phases_round_trips_and_heartbeats(scenes: Rows) -> None:
    rows = {
        r["measure"]: r
        for r in of(scenes, "latencies", "asked", window_start_ns=None)
        if r["measure"] != "method-reply"
    }
    assert {m: r["p50_ns"] / MS for m, r in rows.items() if r["p50_ns"] is not None} == {
        "setup-tcp": 1, "setup-greeting": 3, "setup-auth": 4, "setup-open": 8, "setup-total": 20,
        "heartbeat-gap": 2250, "request-reply": 30,
    }  # fmt: skip
    assert (rows["heartbeat-gap"]["count"], rows["heartbeat-gap"]["what"]) == (2, "c2s")
    assert [rows["rtt"][k] for k in ("min_ns", "mean_ns", "max_ns", "p50_ns")] == [1, 3, 9, None]


def test_replies_are_matched_in_order_past_strays_and_no_waits(scenes: Rows) -> None:
    (row,) = of(scenes, "latencies", "pipelined", window_start_ns=None)
    # 10 → 15 and 12 → 19
    assert (row["what"], row["count"]) == ("queue.declare", 2)
    assert ms(row, "min_ns", "max_ns") == (5, 7)


def test_latencies_by_window(scenes: Rows) -> None:
    rows = of(scenes, "latencies", "silent", measure="deliver-settle")
    assert {(r["window_start_ns"], r["count"], r["max_ns"] // MS) for r in rows} == {
        (None, 1, 3000), (0, 1, 3000),
    }  # fmt: skip


def test_throughput_and_overhead(scenes: Rows) -> None:
    rows = of(scenes, "throughput", "starved", direction="c2s")
    (row,) = [r for r in rows if r["message_count"]]
    # three transfers of 100 octets, 10 of them body
    assert (row["message_count"], row["body_bytes"], row["frame_count"], row["wire_bytes"]) == (
        3, 30, 3, 300,
    )  # fmt: skip
    assert (row["overhead_bytes"], row["overhead_per_message"]) == (270, 90.0)
    assert (row["messages_per_second"], row["body_bytes_per_second"]) == (3.0, 30.0)
