"""Metrics of the sample captures against a second computation, in pandas and plain loops, that
shares no code with the first."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import pytest

from spark_etl.metrics import MetricOptions, compute
from tests.spark_etl.metrics.found import Found

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

SECOND = 1_000_000_000


def test_settlement_percentiles_equal_pandas(found: Found) -> None:
    transfers = found.tables["transfers"]
    asked = transfers[
        transfers["settle_kind"].isin(["single", "range"])
        & ~transfers["is_presettled"].astype(bool)
    ].copy()
    asked["took"] = (asked["settled_ts_ns"] - asked["last_ts_ns"]).astype("int64").clip(lower=0)
    asked["outcome"] = asked["outcome"].fillna("none")
    groups = asked.groupby(["connection_id", "link_id", "direction", "outcome"])["took"]
    ours = found.metrics["settlement"].copy()
    ours["outcome"] = ours["outcome"].fillna("none")
    ours = (
        ours[ours["latency_count"] > 0]
        .set_index(["connection_id", "link_id", "direction", "outcome"])
        .sort_index()
    )
    assert len(ours) == groups.ngroups > 20
    for column, point in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p999_ns", 0.999)):
        theirs = groups.quantile(point)
        difference = (ours[column].astype(float) - theirs).abs()
        assert difference.max() <= 0.5, column
    assert (ours["latency_count"].astype(int) == groups.size()).all()
    assert (ours["max_ns"].astype(int) == groups.max()).all()


def test_settlement_by_address_equals_pandas(spark: SparkSession, found: Found) -> None:
    options = MetricOptions(group_by=("address", "kind"))
    grouped = compute(found.frames, options)["settlement"].where("latency_count > 0")
    ours = {(row.address, row.kind, row.direction, row.outcome): row for row in grouped.collect()}
    links = found.tables["links"].set_index(["connection_id", "link_id"])
    took: dict[tuple, list[int]] = {}
    for row in found.tables["transfers"].to_dict("records"):
        if row["settle_kind"] in ("single", "range") and not row["is_presettled"]:
            link = links.loc[(row["connection_id"], row["link_id"])]
            key = (link["address"], link["kind"], row["direction"], row["outcome"])
            took.setdefault(key, []).append(max(row["settled_ts_ns"] - row["last_ts_ns"], 0))
    assert ours.keys() == took.keys() and len(took) > 15
    for key, row in ours.items():
        values = sorted(took[key])
        middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
        assert (row.latency_count, row.max_ns, row.min_ns) == (len(values), values[-1], values[0])
        assert abs(row.p50_ns - middle) <= 0.5
        assert {row.connection_id, row.link_id, row.client, row.vhost} == {None}


def test_backlog_equals_a_walk_over_the_messages(found: Found) -> None:
    """What waits at the end of a window: begun before it ends, not settled by then."""
    spans: dict[tuple, list[tuple[int, float]]] = {}
    for row in found.tables["transfers"].to_dict("records"):
        is_tracked = row["delivery_id"] is not None or row["settled_ts_ns"] is not None
        if row["is_presettled"] or row["is_aborted"] or row["kind"] == "return":
            continue
        if row["kind"] != "publish" or is_tracked:
            over = float("inf") if row["settled_ts_ns"] is None else row["settled_ts_ns"]
            key = (row["connection_id"], row["link_id"])
            spans.setdefault(key, []).append((row["first_ts_ns"], over))
    ours = found.metrics["backlog"].to_dict("records")
    assert {(r["connection_id"], r["link_id"]) for r in ours} == spans.keys()
    for row in ours:
        begun = spans[(row["connection_id"], row["link_id"])]
        start = row["window_start_ns"]
        end = start + SECOND
        assert row["unsettled"] == sum(first < end <= over for first, over in begun)
        assert row["arrived_count"] == sum(start <= first < end for first, _ in begun)
        assert row["settled_count"] == sum(start <= over < end for _, over in begun)
        moments = [at for span in begun for at in span if start <= at < end]
        waiting = [sum(first <= at < over for first, over in begun) for at in moments]
        assert row["max_unsettled"] >= max(waiting)


def test_end_to_end_times_equal_those_of_the_matched_pair(found: Found) -> None:
    messages = {
        (row["connection_id"], row["transfer_id"]): row
        for row in found.tables["transfers"].to_dict("records")
    }
    legs = found.metrics["end_to_end"].to_dict("records")
    for leg in legs:
        sent = messages[(leg["publish_connection_id"], leg["publish_transfer_id"])]
        came = messages[(leg["deliver_connection_id"], leg["deliver_transfer_id"])]
        assert sent["body_hash"] == came["body_hash"] and sent["body_bytes"] == came["body_bytes"]
        assert leg["residence_ns"] == max(came["first_ts_ns"] - sent["last_ts_ns"], 0)
        assert leg["total_ns"] == came["last_ts_ns"] - sent["first_ts_ns"]
        assert leg["accepted_ts_ns"] == sent["settled_ts_ns"]
    pairs = {(leg["deliver_connection_id"], leg["deliver_transfer_id"]) for leg in legs}
    assert len(pairs) == len(legs) > 150


def test_throughput_equals_pandas(found: Found) -> None:
    frames = found.tables["frames"].copy()
    frames["window"] = frames["ts_ns"].astype("int64") // SECOND * SECOND
    for column in ("link", "session"):
        frames[column] = [-1 if v is None else v for v in frames[f"{column}_id"]]
    keys = ["connection_id", "session", "link", "direction", "window"]
    theirs = frames.groupby(keys)["size_bytes"].agg(["size", "sum"])
    ours = found.metrics["throughput"].copy()
    for column in ("link", "session"):
        ours[column] = [-1 if v is None else v for v in ours[f"{column}_id"]]
    ours = ours.rename(columns={"window_start_ns": "window"})
    ours["window"] = ours["window"].astype("int64")
    ours = ours.groupby(keys)[["frame_count", "wire_bytes", "message_count"]].sum()
    assert (ours.loc[theirs.index, "frame_count"] == theirs["size"]).all()
    assert (ours.loc[theirs.index, "wire_bytes"] == theirs["sum"]).all()
    sent = found.tables["transfers"]
    assert ours["message_count"].sum() == (~sent["is_aborted"].astype(bool)).sum()


def credit_times(frames: list[dict], flows: list[dict], begin: int, end: int) -> tuple[int, int]:
    """Time without and with credit on one 1.0 link, event by event."""
    events = [(f["frame_no"], f["ts_ns"], None) for f in frames]
    events += [(c["frame_no"], c["ts_ns"], c["granted"]) for c in flows]
    credit, at, times = 0, begin, [0, 0]
    for _, ts, granted in sorted(events, key=lambda e: e[0]):
        times[credit > 0] += ts - at
        at = ts
        credit += -1 if granted is None else granted
    times[credit > 0] += end - at
    return times[0], times[1]


@pytest.mark.parametrize("sample", ["11a", "11c", "14c", "30"])
def test_credit_times_equal_a_loop_over_the_frames(found: Found, sample: str) -> None:
    frames, credits = found.tables["frames"], found.tables["credits"]
    links = found.tables["links"]
    for link in links[links["sample"] == sample].to_dict("records"):
        here = {"connection_id": link["connection_id"], "link_id": link["link_id"]}

        def rows(table: pd.DataFrame, here: dict = here, **cells: Any) -> list[dict]:
            wanted = {**here, **cells}
            return [
                r for r in table.to_dict("records") if all(r[k] == v for k, v in wanted.items())
            ]

        flows = [c for c in rows(credits, event="flow") if c["granted"] is not None]
        begin = min(c["ts_ns"] for c in rows(credits) if c["sender_credit"] is not None)
        without, with_credit = credit_times(
            rows(frames, name="transfer"), flows, begin, link["end_ts_ns"]
        )
        (ours,) = rows(found.metrics["flow_control"])
        assert (ours["no_credit_ns"], ours["unused_credit_ns"]) == (without, with_credit)


def test_method_replies_equal_a_queue_per_channel(found: Found) -> None:
    waiting: dict[tuple, deque] = {}
    took: dict[tuple, list[int]] = {}
    frames = found.tables["frames"].sort_values(["connection_id", "frame_no"])
    for frame in frames.to_dict("records"):
        name = frame["name"].replace("get-empty", "get-ok")
        key = (frame["connection_id"], frame["channel"])
        if frame["frame_type"] != "method":
            continue
        if name.endswith("-ok") and (*key, name.removesuffix("-ok")) in waiting:
            queue = waiting[(*key, name.removesuffix("-ok"))]
            if queue:
                took.setdefault((key[0], name.removesuffix("-ok")), []).append(
                    frame["ts_ns"] - queue.popleft()
                )
        else:
            waiting.setdefault((*key, name), deque()).append(frame["ts_ns"])
    ours = found.metrics["latencies"]
    ours = ours[
        (ours["measure"] == "method-reply")
        & ours["window_start_ns"].isna()
        & ours["what"].str.contains(".", regex=False, na=False)
    ]
    totals: dict[tuple, list[int]] = {}
    for row in ours.to_dict("records"):
        total = totals.setdefault((row["connection_id"], row["what"]), [0, 0])
        total[0] += row["count"]
        total[1] = max(total[1], row["max_ns"])
    # The handshake's own pairs are phases of set-up: start-ok and tune-ok answer no request.
    expected = {k: [len(v), max(v)] for k, v in took.items()
                if k[1] not in ("connection.start", "connection.tune")}  # fmt: skip
    assert totals == expected and len(expected) > 30
