"""One busy link on which everything looks alike: what is matched by time and order stays right, and
its cost grows with the messages, not with their square."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import pytest

from spark_etl.metrics import MetricOptions, compute
from tests.spark_etl.metrics.book import MS, Book

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = 4000
ACKS_PER_PACKET = 1000
PREFETCH_EVERY = 10
# Request n is sent at n ms; its reply comes 3.5 ms later, all with the same correlation-id.
REPLY_AFTER = 3.5


def hot(book: Book) -> None:
    end = COUNT + 2000
    book.connection("hot", "0-9-1", end)
    book.link("hot", 1, end, kind="publisher", role="sender", address="rpc")
    book.link("hot", 2, end, kind="consumer", role="receiver", address="back", queue="back",
              prefetch_count=PREFETCH_EVERY, is_no_ack=False)  # fmt: skip
    alike = {"correlation_id": "always the same", "body_hash": "ab"}
    for n in range(COUNT):
        book.message("hot", n, n, n + 1, "c2s", "publish", None, reply_to="back",
                     routing_key="rpc", **alike)  # fmt: skip
        packet = n // ACKS_PER_PACKET
        acked_at = (packet + 1) * ACKS_PER_PACKET + 100
        book.message("hot", COUNT + n, n + REPLY_AFTER, COUNT + n, "s2c", "deliver",
                     (acked_at, 10 * COUNT + packet, "single"), "basic.deliver", link_id=2,
                     delivery_id=n + 1, settled_by="receiver", queue="rpc", **alike)  # fmt: skip
        book.frame("hot", acked_at, 10 * COUNT + packet, "c2s", "basic.ack", session_id=1,
                   link_id=2, delivery_id=n + 1, frame_no=100 * COUNT + n)  # fmt: skip
        if n % PREFETCH_EVERY == PREFETCH_EVERY - 1:
            book.credit("hot", n + REPLY_AFTER, COUNT + n, "s2c", "credit-exhausted", link_id=2,
                        prefetch_count=PREFETCH_EVERY, sender_credit=0)  # fmt: skip


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    book = Book()
    hot(book)
    frames = compute(book.frames(spark), MetricOptions())
    found = {name: [row.asDict() for row in frame.collect()] for name, frame in frames.items()}
    frames.release()
    return found


def test_every_request_has_the_next_reply(rows: dict[str, list[dict[str, Any]]]) -> None:
    (row,) = [
        r
        for r in rows["latencies"]
        if r["measure"] == "request-reply" and r["window_start_ns"] is None
    ]
    replies = [n + REPLY_AFTER for n in range(COUNT)]
    times = [replies[bisect_left(replies, n)] - n for n in range(COUNT)]
    assert row["count"] == COUNT
    assert (row["min_ns"] / MS, row["max_ns"] / MS) == (min(times), max(times)) == (0.5, 3.5)
    assert row["mean_ns"] == round(sum(times) / COUNT * MS)


def test_every_ack_settled_one_message(rows: dict[str, list[dict[str, Any]]]) -> None:
    (row,) = [r for r in rows["settlement"] if r["link_id"] == 2]
    assert (row["count"], row["settle_frame_count"], row["batch_mean"]) == (COUNT, COUNT, 1.0)
    slowest = ACKS_PER_PACKET + 100 - REPLY_AFTER
    assert (row["max_ns"] / MS, row["min_ns"] / MS) == (slowest, slowest - ACKS_PER_PACKET + 1)


def test_the_kth_delivery_is_the_kth_publish(rows: dict[str, list[dict[str, Any]]]) -> None:
    pairs = {(r["publish_transfer_id"], r["deliver_transfer_id"]) for r in rows["end_to_end"]}
    assert pairs == {(n, COUNT + n) for n in range(COUNT)}
    assert {r["matched_by"] for r in rows["end_to_end"]} == {"body+address"}


def test_a_full_prefetch_is_a_spell_until_the_next_ack(
    rows: dict[str, list[dict[str, Any]]],
) -> None:
    full = [n + REPLY_AFTER for n in range(PREFETCH_EVERY - 1, COUNT, PREFETCH_EVERY)]
    acks = [n + 100 for n in range(ACKS_PER_PACKET, COUNT + 1, ACKS_PER_PACKET)]
    spells = [
        (full[bisect_left(full, before)], ack)
        for before, ack in zip((0, *acks), acks, strict=False)
    ]
    stalls = {
        cause: sorted(
            (r["start_ts_ns"] / MS, r["end_ts_ns"] / MS)
            for r in rows["stalls"]
            if r["cause"] == cause
        )
        for cause in ("prefetch", "consumer-slow")
    }
    # After the last acks nothing more is sent, so the last spell held up nothing; but the consumer
    # was slow then, as it was during the others, which say so already.
    assert stalls["prefetch"] == spells[:-1]
    assert stalls["consumer-slow"] == [(acks[-2], acks[-1])]
