"""Flow control and stalls against answers worked out by hand from the scenes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark_etl.metrics.book import MS
from tests.spark_etl.metrics.conftest import Rows


def of(rows: Rows, table: str, connection: str, **cells: Any) -> list[dict[str, Any]]:
    return [
        row
        for row in rows[table]
        if row["connection_id"] == connection and all(row[k] == v for k, v in cells.items())
    ]


def ms(row: dict[str, Any], *names: str) -> tuple[float | None, ...]:
    return tuple(None if row[n] is None else row[n] / MS for n in names)


def test_a_starved_sender_is_a_stall_with_its_packets(scenes: Rows) -> None:
    first, second = sorted(of(scenes, "stalls", "starved"), key=lambda r: r["start_ts_ns"])
    # Before its first credit it waited too: attached at 0, credit at 10, sent at 20.
    assert ms(first, "start_ts_ns", "end_ts_ns", "resumed_ts_ns") == (0, 10, 20)
    assert ms(second, "start_ts_ns", "end_ts_ns", "length_ns", "resumed_ts_ns") == (
        30, 130, 100, 131,
    )  # fmt: skip
    assert (second["cause"], second["stalled_side"], second["caused_by"]) == (
        "link-credit", "client", "server",
    )  # fmt: skip
    assert [second[f"{w}_packet_no"] for w in ("start", "end", "resumed")] == [5, 7, 8]
    assert (second["known_by"], second["is_open"], second["address"]) == (
        "sent-at-once", False, "q",
    )  # fmt: skip


def test_credit_adds_up(scenes: Rows) -> None:
    (row,) = of(scenes, "flow_control", "starved")
    assert (row["granted"], row["used"], row["outstanding"], row["max_credit"]) == (4, 3, 1, 2)
    # 0-10 and 30-130 without; 10-30 and 130-200 with
    assert ms(row, "duration_ns", "no_credit_ns", "unused_credit_ns", "starved_ns") == (
        200, 110, 90, 110,
    )  # fmt: skip
    assert (row["starved_count"], row["top_up_count"], row["top_up_mean"]) == (2, 2, 2.0)
    assert row["top_up_rate"] == pytest.approx(2 / 0.2)
    assert (row["sender_side"], row["max_unsettled"]) == ("client", 2)


def test_the_timeline_has_every_change_in_order(scenes: Rows) -> None:
    rows = sorted(of(scenes, "credit_timeline", "starved"), key=lambda r: (r["ts_ns"],))
    assert [(r["ts_ns"] // MS, r["event"], r["credit"], r["unsettled"]) for r in rows] == [
        (0, "attach", 0, 0),
        (10, "grant", 2, 0),
        (20, "send", 1, 1),
        (30, "send", 0, 2),
        (30, "exhausted", 0, 2),
        (40, "settle", 0, 1),
        (40, "settle", 0, 0),
        (130, "grant", 2, 0),
        (131, "send", 1, 1),
    ]


def test_no_credit_with_nothing_to_send_is_no_stall(scenes: Rows) -> None:
    assert of(scenes, "stalls", "idle") == []
    (row,) = of(scenes, "flow_control", "idle")
    assert ms(row, "no_credit_ns", "starved_ns") == (490 + 100, 0)


def test_a_sender_that_says_what_it_has_is_believed(scenes: Rows) -> None:
    (stall,) = of(scenes, "stalls", "hoarding")
    assert (stall["known_by"], stall["cause"]) == ("available", "link-credit")
    assert ms(stall, "start_ts_ns", "end_ts_ns", "resumed_ts_ns") == (10, 500, 900)


def test_a_drain_is_timed_to_its_end(scenes: Rows) -> None:
    (row,) = of(scenes, "flow_control", "drained")
    assert (row["granted"], row["used"], row["drained"], row["outstanding"]) == (5, 1, 4, 0)
    assert (row["drain_count"], row["drain_answered_count"]) == (1, 1)
    assert ms(row, "drain_mean_ns", "drain_max_ns") == (5, 5)


def test_a_session_window_used_up_with_credit_left(scenes: Rows) -> None:
    (stall,) = of(scenes, "stalls", "windowed")
    assert (stall["cause"], stall["stalled_side"], stall["caused_by"], stall["credit_left"]) == (
        "session-window", "server", "client", 8,
    )  # fmt: skip
    assert ms(stall, "start_ts_ns", "end_ts_ns", "resumed_ts_ns") == (6, 106, 107)
    (row,) = of(scenes, "flow_control", "windowed")
    assert ms(row, "session_window_ns", "starved_ns") == (100, 0)


def test_prefetch_saturation(scenes: Rows) -> None:
    (stall,) = of(scenes, "stalls", "saturated")
    assert (stall["cause"], stall["limit"], stall["caused_by"]) == ("prefetch", 2, "client")
    assert ms(stall, "start_ts_ns", "end_ts_ns", "resumed_ts_ns") == (11, 61, 62)
    (row,) = of(scenes, "flow_control", "saturated")
    assert (row["prefetch_count"], row["saturated_count"], row["max_unsettled"]) == (2, 1, 2)
    assert ms(row, "saturated_ns") == (50,)
    # Its first delivery is at 10 ms, its last event at 62.
    assert row["saturated_share"] == pytest.approx(50 / 52)
    assert (row["granted"], row["outstanding"]) == (None, 1)


def test_decrees_stop_the_publisher(scenes: Rows) -> None:
    stalls = {r["cause"]: r for r in of(scenes, "stalls", "stopped")}
    assert {cause: r["length_ns"] / MS for cause, r in stalls.items()} == {
        "connection-blocked": 500, "channel-flow": 100, "tcp-window": 50,
    }  # fmt: skip
    assert {(r["stalled_side"], r["caused_by"]) for r in stalls.values()} == {("client", "server")}
    blocked = stalls["connection-blocked"]
    assert (blocked["what"], blocked["known_by"]) == ("low on disk", "sent-at-once")
    assert stalls["channel-flow"]["known_by"] == "stated"
    (row,) = of(scenes, "flow_control", "stopped")
    assert ms(row, "blocked_ns", "flow_stopped_ns", "tcp_window_ns") == (500, 100, 50)


def test_silence_on_either_side(scenes: Rows) -> None:
    found = {(r["cause"], r["link_id"], r["what"]): r for r in of(scenes, "stalls", "silent")}
    assert {key: r["length_ns"] / MS for key, r in found.items()} == {
        ("broker-silent", 1, None): 2000,
        ("broker-silent", None, "queue.declare"): 1500,
        ("consumer-slow", 2, None): 3000,
    }
    assert found["consumer-slow", 2, None]["caused_by"] == "client"
    assert found["broker-silent", 1, None]["known_by"] == "unsettled"
