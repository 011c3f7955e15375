"""Metrics of the sample captures against what their programs counted (the manifest)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.samples import entry
from tests.spark_etl.metrics.found import Found

if TYPE_CHECKING:
    import pandas as pd

SECOND = 1_000_000_000


def truth(sample: str) -> dict[str, Any]:
    return entry(sample)["truth"]


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


def test_whatever_belongs_to_a_link_has_its_row(found: Found) -> None:
    """Dimensions come from it: a fact without one would not even tell its connection."""
    links = found.tables["links"]
    known = set(zip(links["connection_id"], links["link_id"], strict=True))
    for name in ("frames", "transfers", "credits"):
        rows = found.tables[name]
        rows = rows[rows["link_id"].notna()]
        assert len(rows) > 100
        assert set(zip(rows["connection_id"], rows["link_id"], strict=True)) <= known, name
    for name in ("settlement", "backlog", "throughput", "latencies", "flow_control"):
        assert found.metrics[name][["dialect", "client", "server"]].notna().all(axis=None), name
