"""Messages followed across connections and dialects, against answers worked out by hand."""

from __future__ import annotations

import pytest

from tests.spark_etl.metrics.book import MS
from tests.spark_etl.metrics.conftest import Rows


@pytest.fixture
def legs(scenes: Rows) -> dict[tuple[str, int], dict]:
    return {
        (r["publish_connection_id"], r["publish_transfer_id"]): r
        for r in scenes["end_to_end"]
        if r["publish_connection_id"] in ("from", "mid")
    }


def test_every_taken_message_is_found_once(legs: dict) -> None:
    """The fourth was rejected by the broker: it cannot have been delivered."""
    assert set(legs) == {("from", 1), ("from", 2), ("from", 3), ("mid", 5)}


def test_an_id_is_certain_and_redelivery_is_counted(legs: dict) -> None:
    leg = legs["from", 1]
    assert (leg["matched_by"], leg["confidence"]) == ("message-id+body+address", 1.0)
    assert (leg["publish_dialect"], leg["deliver_dialect"]) == ("0-9-1", "1.0")
    assert (leg["deliver_connection_id"], leg["deliver_transfer_id"]) == ("mid", 1)
    assert (leg["delivery_count"], leg["redelivery_count"]) == (2, 1)
    assert (leg["residence_ns"] / MS, leg["settled_ts_ns"] / MS) == (100, 160)
    assert (leg["publish_packet_no"], leg["deliver_packet_no"]) == (1, 10)


def test_equal_bodies_are_matched_in_order(legs: dict) -> None:
    pairs = {t: legs["from", t]["deliver_transfer_id"] for t in (2, 3)}
    assert pairs == {2: 2, 3: 3}
    assert {legs["from", t]["matched_by"] for t in (2, 3)} == {"body+address"}
    assert legs["from", 2]["confidence"] == pytest.approx(0.8 * 0.9)


def test_a_message_passed_on_is_the_second_hop(legs: dict) -> None:
    assert legs["from", 1]["hop_no"] == 1
    onward = legs["mid", 5]
    assert (onward["deliver_connection_id"], onward["hop_no"]) == ("to", 2)
    assert onward["residence_ns"] / MS == 50
