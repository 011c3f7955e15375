"""Silence: one side waits for an answer that the other does not give.

A consumer that holds messages without settling any is slow; a broker that leaves publishes or
requests without an answer is silent.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.options import MetricOptions
from spark_etl.metrics.shape import LINK, sending_side, with_place
from spark_etl.metrics.spells import as_of, in_order, so_far


def silences(
    replies: DataFrame,
    places: DataFrame,
    states: DataFrame,
    waits: DataFrame,
    options: MetricOptions,
) -> DataFrame:
    """Silent spells of at least ``silence_ns``, in the columns of waits."""
    held = _unsettled(states, places).where(F.col("length_ns") >= options.silence_ns)
    asked = _unanswered(replies, places).where(F.col("length_ns") >= options.silence_ns)
    return _without_limited(held, waits).unionByName(asked)


def _unsettled(states: DataFrame, places: DataFrame) -> DataFrame:
    """From the moment something waits to be settled, or from the last settlement, to the next.

    Between two such points with messages waiting, the later one is always a settlement.
    """
    window = in_order(LINK)
    before = F.lag("unsettled").over(window)
    points = states.withColumn("_before", F.coalesce(before, F.lit(0))).where(
        (F.col("event") == "settle") | ((F.col("_before") == 0) & (F.col("unsettled") > 0))
    )
    points = points.select(
        "*",
        F.lead("ts_ns").over(window).alias("end_ts_ns"),
        F.lead("packet_no").over(window).alias("end_packet_no"),
    ).where(F.col("unsettled") > 0)
    points = with_place(
        points, places, F.col("connection_end_ns").alias("_last_ns"),
        F.col("tcp_end").alias("_tcp_end"),
    )  # fmt: skip
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
    )


def _without_limited(held: DataFrame, waits: DataFrame) -> DataFrame:
    """A consumer that holds all that its limit allows is in waits already, by that limit.

    Two spells overlap if one that began before the other's end ended after its start: of those
    that began before it, the latest end decides.
    """
    keys = ("connection_id", "link_id")
    ends = F.col("start_ts_ns") + F.col("length_ns")
    limited = (
        waits.where(F.col("is_needed") & F.col("cause").isin("prefetch", "link-credit"))
        .select(*keys, F.col("start_ts_ns").alias("_at"), ends.alias("_to"))
        .withColumn("_latest", F.max("_to").over(so_far(keys, "_at")))
    )
    found = as_of(
        held, ends, limited, ("_latest",), keys, F.col("_at"), F.col("_rank").desc(),
        F.col("_latest"),
    )  # fmt: skip
    is_limited = (F.col("cause") == "consumer-slow") & (F.col("_latest") > F.col("start_ts_ns"))
    return found.where(~F.coalesce(is_limited, F.lit(False))).drop("_latest")


def _unanswered(replies: DataFrame, places: DataFrame) -> DataFrame:
    """Requests whose reply came late, or not while the connection lasted."""
    # Only the client's requests: a server that asks (cancel, close) often gets no answer.
    asked = with_place(
        replies.where(F.col("direction") == "c2s"), places,
        F.col("connection_end_ns").alias("_last_ns"), F.col("tcp_end").alias("_tcp_end"),
    )  # fmt: skip
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
    )
