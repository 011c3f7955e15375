"""Metrics of the sample captures against what their programs counted (the manifest), and against
a second computation in pandas that shares no code with the first."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import pytest

from spark_etl.metrics import MetricOptions, compute
from tests.samples import entry
from tests.samples import sample as sample_path
from tests.spark_etl.metrics.book import NAMES

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

SAMPLES = ("01", "02", "03", "08", "10a", "11a", "11b", "11c", "12a", "14a", "14b", "14c", "17",
           "30", "31", "33")  # fmt: skip
SECOND = 1_000_000_000


class Found:
    """Tables and metrics of all samples together, and which connection is of which sample."""

    def __init__(self, spark: SparkSession, folder: Any) -> None:
        from amqpscope.dissection import dissect
        from dissectors.options import Options
        from spark_etl import load

        self.sample_of: dict[str, str] = {}
        for name in SAMPLES:
            dissect([sample_path(name)], Options(), str(folder / name), "parquet")
            for connection in load(folder / name)["connections"]["connection_id"]:
                self.sample_of[connection] = name
        paths = {n: [str(folder / s / f"{n}.parquet") for s in SAMPLES] for n in NAMES}
        frames = {n: spark.read.parquet(*p).coalesce(2).cache() for n, p in paths.items()}
        self.tables = {n: self._named(f) for n, f in frames.items()}
        metrics = compute(frames, MetricOptions())
        self.metrics = {n: self._named(f) for n, f in metrics.items()}
        metrics.release()

    def _named(self, frame: Any) -> pd.DataFrame:
        import pandas as pd

        # As objects: a column of nanoseconds with gaps would become floating point.
        cells = [tuple(row) for row in frame.collect()]
        rows = pd.DataFrame(cells, columns=frame.columns, dtype=object)
        key = "connection_id" if "connection_id" in rows else "publish_connection_id"
        rows["sample"] = rows[key].map(self.sample_of)
        return rows

    def of(self, sample: str, table: str, **cells: Any) -> pd.DataFrame:
        rows = self.metrics[table]
        rows = rows[rows["sample"] == sample]
        for name, value in cells.items():
            rows = rows[rows[name] == value]
        return rows


def truth(sample: str) -> dict[str, Any]:
    return entry(sample)["truth"]


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Found:
    return Found(spark, tmp_path_factory.mktemp("samples"))


# -- what the programs counted ----------------------------------------------------------------


def test_grants_and_drains(found: Found) -> None:
    said = truth("11a")
    (row,) = found.of("11a", "flow_control", sender_side="server").to_dict("records")
    assert row["granted"] == sum(said["credit_grants"])
    assert (row["top_up_count"], row["drained"]) == (
        len(said["credit_grants"]), sum(said["drained_credit"]),
    )  # fmt: skip
    assert (row["drain_count"], row["drain_answered_count"]) == (len(said["drained_credit"]),) * 2
    assert (row["used"], row["outstanding"]) == (said["received"], 0)


@pytest.mark.parametrize(
    ("sample", "culprit", "gaps", "seconds"),
    [("11a", "client", 4, 0.4), ("11b", "client", 2, 0.3), ("11c", "server", 4, 0.25)],
)
def test_starved_links(found: Found, sample: str, culprit: str, gaps: int, seconds: float) -> None:
    stalls = found.of(sample, "stalls")
    assert set(stalls["cause"]) == {"link-credit"}
    assert set(stalls["caused_by"]) == {culprit}
    assert len(stalls) == truth(sample).get("starvation_gaps", gaps) == gaps
    assert all(seconds <= ns / SECOND < seconds + 0.1 for ns in stalls["length_ns"])


def test_a_slow_consumer_saturates_its_prefetch(found: Found) -> None:
    said = truth("02")
    (row,) = found.of("02", "flow_control", kind="consumer").to_dict("records")
    assert (row["prefetch_count"], row["max_unsettled"]) == (10, said["max_unacked"])
    assert row["saturated_share"] > 0.9
    stalls = found.of("02", "stalls")
    assert set(zip(stalls["cause"], stalls["caused_by"], stalls["limit"], strict=True)) == {
        ("prefetch", "client", 10)
    }
    # An ack comes after every five messages of 20 ms; the last two have nothing to wait for.
    assert len(stalls) == said["ack_frames"] - 2
    assert all(0.1 <= ns / SECOND < 0.13 for ns in stalls["length_ns"])
    (acked,) = found.of("02", "settlement", kind="consumer").to_dict("records")
    assert (acked["count"], acked["settle_frame_count"]) == (said["acked"], said["ack_frames"])
    assert acked["batch_mean"] == said["acked"] / said["ack_frames"]


def test_a_session_window_is_used_up_while_credit_is_left(found: Found) -> None:
    said = truth("30")
    stalls = found.of("30", "stalls")
    assert set(stalls["cause"]) == {"session-window"}
    assert set(stalls["caused_by"]) == {"client"}
    assert all(left > 0 for left in stalls["credit_left"])
    pauses = [ns for ns in stalls["length_ns"] if ns / SECOND >= said["pause_seconds"]]
    assert len(pauses) == said["pauses"]


def test_a_blocked_connection(found: Found) -> None:
    (stall,) = found.of("31", "stalls").to_dict("records")
    assert (stall["cause"], stall["caused_by"]) == ("connection-blocked", "server")
    assert stall["what"] == "low on memory"


def counts(rows: pd.DataFrame, *keys: str) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for row in rows.to_dict("records"):
        key = tuple(row[k] for k in keys) if len(keys) > 1 else row[keys[0]]
        found[key] = found.get(key, 0) + row["count"]
    return found


def test_outcomes(found: Found) -> None:
    said = truth("31")
    published = counts(found.of("31", "settlement", direction="c2s"), "outcome")
    assert (published["accepted"], published["rejected"]) == (
        said["broker_confirms"], said["broker_nacks"],
    )  # fmt: skip
    said = truth("12a")["outcomes_sent"]
    assert counts(found.of("12a", "settlement", direction="s2c"), "outcome") == {
        "accepted": said["accepted"],
        "released": said["released"],
        "rejected": said["rejected"],
        "modified": said["modified_failed"] + said["modified_undeliverable"],
    }
    assert counts(found.of("03", "settlement"), "outcome")["returned"] == truth("03")["returned"]


def test_redelivered_and_never_settled(found: Found) -> None:
    said = truth("33")
    rows = found.of("33", "settlement", kind="consumer")
    assert rows["redelivered_count"].sum() == said["redelivered"]
    killed, second = (found.of("33", "flow_control", prefetch_count=p) for p in (7, None))
    assert len(killed) == 1 and len(second) == 0
    left = rows[rows["link_id"] == 2]["unsettled_count"].sum()
    assert left == said["unacked_at_capture_end"]


@pytest.mark.parametrize(
    ("sample", "guarantees"),
    [("14a", {"at-most-once"}), ("14b", {"exactly-once"}), ("10a", {"at-least-once"})],
)
def test_guarantees(found: Found, sample: str, guarantees: set[str]) -> None:
    assert set(found.of(sample, "settlement")["guarantee"]) == guarantees


@pytest.mark.parametrize(
    ("sample", "matched", "redelivered"),
    [("01", 20, 0), ("02", 60, 0), ("10a", 50, 0), ("11a", 24, 0), ("12a", 10, 4), ("17", 7, 0),
     ("33", 12, 7)],
)  # fmt: skip
def test_end_to_end(found: Found, sample: str, matched: int, redelivered: int) -> None:
    said = truth(sample)
    assert said.get("redelivered", 0) == redelivered
    legs = found.of(sample, "end_to_end")
    assert len(legs) == matched
    assert legs["redelivery_count"].sum() == redelivered
    assert all(ns >= 0 for ns in legs["residence_ns"])
    # In these, nothing overtakes: first in, first out.
    by_publish = legs.sort_values("publish_transfer_id")["deliver_transfer_id"].tolist()
    assert sample in ("12a", "33") or by_publish == sorted(by_publish)


def test_heartbeats(found: Found) -> None:
    """RabbitMQ and pika send one every half of the negotiated interval."""
    gaps = found.of("08", "latencies", measure="heartbeat-gap")
    whole = gaps[gaps["window_start_ns"].isna()]
    assert sorted(whole["what"]) == ["c2s", "s2c"]
    half = truth("08")["heartbeat_seconds"] / 2
    assert all(ns / SECOND == pytest.approx(half, rel=0.05) for ns in whole["p50_ns"])


# -- the same in pandas -----------------------------------------------------------------------


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
