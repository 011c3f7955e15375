"""Grouping, windows and the limit of exactness."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from spark_etl.metrics import MetricOptions, compute, nanoseconds
from tests.spark_etl.metrics.book import MS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLES = ("flow_control", "settlement", "backlog", "throughput")


@pytest.fixture(scope="module")
def by_address(scene_tables: dict[str, DataFrame]) -> dict[str, list[dict[str, Any]]]:
    options = MetricOptions(group_by=("address",), window_ns=10_000 * MS, exact_limit=1)
    frames = compute(scene_tables, options)
    rows = {n: [r.asDict() for r in frames[n].collect()] for n in TABLES}
    frames.release()
    return rows


def test_links_of_one_address_are_joined(by_address: dict[str, list[dict[str, Any]]]) -> None:
    (row,) = [r for r in by_address["flow_control"] if r["address"] == "q"]
    # starved, idle, drained, windowed, saturated and the consumer of silent
    assert row["link_count"] == 6
    assert row["granted"] == 4 + 2 + 5 + 10
    assert (row["connection_id"], row["link_id"], row["dialect"], row["sender_side"]) == (None,) * 4
    assert row["saturated_ns"] / MS == 50


def test_windows_are_as_long_as_asked(by_address: dict[str, list[dict[str, Any]]]) -> None:
    (row,) = [
        r
        for r in by_address["throughput"]
        if r["address"] == "q" and r["direction"] == "c2s" and r["message_count"]
    ]
    # three messages of starved and two of idle, in a window of 10 s
    assert (row["message_count"], row["messages_per_second"]) == (5, 0.5)


def test_large_groups_say_that_they_are_approximate(
    by_address: dict[str, list[dict[str, Any]]],
) -> None:
    exact = {r["latency_count"]: r["is_exact"] for r in by_address["settlement"]}
    assert exact[0] and not any(is_exact for count, is_exact in exact.items() if count > 1)
    (row,) = [
        r
        for r in by_address["settlement"]
        if (r["address"], r["direction"], r["outcome"]) == ("q", "s2c", "accepted")
    ]
    # 50, 51 and 3000 ms; an approximate percentile is one of the values
    assert (row["latency_count"], row["p50_ns"] / MS, row["max_ns"] / MS) == (3, 51, 3000)


def test_a_wrong_grouping_or_window_is_refused() -> None:
    with pytest.raises(ValueError, match="group by any of link, session"):
        MetricOptions(group_by=("colour",))
    with pytest.raises(ValueError, match="window"):
        MetricOptions(window_ns=0)
    for seconds in (math.nan, math.inf):
        with pytest.raises(ValueError, match="number of seconds"):
            nanoseconds(seconds)
    assert nanoseconds(0.25) == 250 * MS
