"""Silence: one side waits for an answer that the other does not give.

A consumer that holds messages without settling any is slow; a broker that leaves publishes or
requests without an answer is silent.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.options import MetricOptions
from spark_etl.metrics.replies import method_replies, mirrored_replies
from spark_etl.metrics.shape import LINK, sending_side
from spark_etl.metrics.spells import in_order

_COLUMNS = (
    *LINK, "cause", "stalled_side", "capture", "start_ts_ns", "start_packet_no", "end_ts_ns",
    "end_packet_no", "resumed_ts_ns", "resumed_packet_no", "credit_left", "limit", "what",
    "known_by", "is_open", "length_ns",
)  # fmt: skip


def silences(
    tables: dict[str, DataFrame], states: DataFrame, waits: DataFrame, options: MetricOptions
) -> DataFrame:
    """Silent spells of at least ``silence_ns``, in the columns of waits."""
    held = _unsettled(states, tables).where(F.col("length_ns") >= options.silence_ns)
    asked = _unanswered(tables).where(F.col("length_ns") >= options.silence_ns)
    return _without_limited(held, waits).unionByName(asked)


def _unsettled(states: DataFrame, tables: dict[str, DataFrame]) -> DataFrame:
    """From the moment something waits to be settled, or from the last settlement, to the next.

    Between two such points with messages waiting, the later one is always a settlement.
    """
    before = F.lag("unsettled").over(in_order(LINK, "ts_ns", "packet_no", "order_no", "frame_no"))
    points = states.withColumn("_before", F.coalesce(before, F.lit(0))).where(
        (F.col("event") == "settle") | ((F.col("_before") == 0) & (F.col("unsettled") > 0))
    )
    window = in_order(LINK, "ts_ns", "packet_no", "order_no", "frame_no")
    ends = tables["connections"].select(
        "connection_id", F.col("last_ts_ns").alias("_last_ns"), F.col("tcp_end").alias("_tcp_end")
    )
    points = (
        points.withColumn("end_ts_ns", F.lead("ts_ns").over(window))
        .withColumn("end_packet_no", F.lead("packet_no").over(window))
        .where(F.col("unsettled") > 0)
        .join(ends, on="connection_id", how="left")
    )
    is_cut = F.col("end_ts_ns").isNull() & (F.col("_tcp_end") == "open")
    over = F.coalesce("end_ts_ns", F.least("last_ts_ns", "_last_ns"))
    return points.select(
        *LINK,
        F.when(F.col("sender_side") == "server", "consumer-slow")
        .otherwise("broker-silent")
        .alias("cause"),
        F.col("sender_side").alias("stalled_side"),
        "capture",
        F.col("ts_ns").alias("start_ts_ns"),
        F.col("packet_no").alias("start_packet_no"),
        "end_ts_ns",
        "end_packet_no",
        F.col("end_ts_ns").alias("resumed_ts_ns"),
        F.col("end_packet_no").alias("resumed_packet_no"),
        F.col("credit").alias("credit_left"),
        F.col("unsettled").alias("limit"),
        F.lit(None).cast("string").alias("what"),
        F.lit("unsettled").alias("known_by"),
        F.coalesce(is_cut, F.lit(False)).alias("is_open"),
        F.greatest(over - F.col("ts_ns"), F.lit(0)).alias("length_ns"),
    ).select(*_COLUMNS)


def _without_limited(held: DataFrame, waits: DataFrame) -> DataFrame:
    """A consumer that holds all that its limit allows is in waits already, by that limit."""
    limited = waits.where(F.col("is_needed") & F.col("cause").isin("prefetch", "link-credit"))
    limited = limited.select(
        F.col("connection_id").alias("_c"),
        F.col("link_id").alias("_l"),
        F.col("start_ts_ns").alias("_from"),
        (F.col("start_ts_ns") + F.col("length_ns")).alias("_to"),
    )
    overlaps = (
        (F.col("cause") == "consumer-slow")
        & (F.col("connection_id") == F.col("_c"))
        & (F.col("link_id") == F.col("_l"))
        & (F.col("_from") < F.col("start_ts_ns") + F.col("length_ns"))
        & (F.col("_to") > F.col("start_ts_ns"))
    )
    return held.join(limited, on=overlaps, how="left_anti")


def _unanswered(tables: dict[str, DataFrame]) -> DataFrame:
    """Requests whose reply came late, or not while the connection lasted."""
    frames = tables["frames"]
    replies = method_replies(frames).unionByName(mirrored_replies(frames))
    ends = tables["connections"].select(
        "connection_id", F.col("last_ts_ns").alias("_last_ns"), F.col("tcp_end").alias("_tcp_end")
    )
    # Only the client's requests: a server that asks (cancel, close) often gets no answer.
    asked = replies.where(F.col("direction") == "c2s").join(ends, on="connection_id", how="left")
    is_cut = F.col("reply_ts_ns").isNull() & (F.col("_tcp_end") == "open")
    return asked.select(
        *LINK,
        F.lit("broker-silent").alias("cause"),
        sending_side("direction").alias("stalled_side"),
        "capture",
        F.col("ts_ns").alias("start_ts_ns"),
        F.col("packet_no").alias("start_packet_no"),
        F.col("reply_ts_ns").alias("end_ts_ns"),
        F.col("reply_packet_no").alias("end_packet_no"),
        F.col("reply_ts_ns").alias("resumed_ts_ns"),
        F.col("reply_packet_no").alias("resumed_packet_no"),
        F.lit(None).cast("long").alias("credit_left"),
        F.lit(None).cast("long").alias("limit"),
        "what",
        F.lit("unanswered").alias("known_by"),
        F.coalesce(is_cut, F.lit(False)).alias("is_open"),
        (F.coalesce("reply_ts_ns", "_last_ns") - F.col("ts_ns")).alias("length_ns"),
    ).select(*_COLUMNS)
