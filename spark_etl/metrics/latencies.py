"""Latencies: how long everything took, per link and per time window, in one long table."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.definitions import LATENCIES
from spark_etl.metrics.options import DIMENSIONS, MetricOptions
from spark_etl.metrics.percentiles import QUANTILES, spread
from spark_etl.metrics.replies import message_replies
from spark_etl.metrics.settlement import settlement_latency
from spark_etl.metrics.setup import heartbeat_gaps, setup_times
from spark_etl.metrics.shape import LINK, conform, window_start, with_dimensions

_KEYS = (*DIMENSIONS, "measure", "what", "window_start_ns")


def latencies(
    tables: dict[str, DataFrame], places: DataFrame, replies: DataFrame, options: MetricOptions
) -> DataFrame:
    facts = with_dimensions(_facts(tables, replies), places, options)
    # Each value counts for its window and for the whole.
    windows = F.array(F.lit(None).cast("long"), window_start("ts_ns", options))
    facts = facts.withColumn("window_start_ns", F.explode(windows))
    groups = spread(facts, _KEYS, "value_ns", options, F.count("value_ns").alias("count"))
    return conform(groups, LATENCIES.table).unionByName(_round_trips(tables, places, options))


def _facts(tables: dict[str, DataFrame], replies: DataFrame) -> DataFrame:
    transfers, nothing = tables["transfers"], F.lit(None).cast("string")
    return (
        _settlements(transfers)
        .unionByName(_answered(replies, "method-reply", F.col("what")))
        .unionByName(_answered(message_replies(transfers), "request-reply", nothing))
        .unionByName(setup_times(tables))
        .unionByName(heartbeat_gaps(tables["frames"]))
    )


def _settlements(transfers: DataFrame) -> DataFrame:
    """What the client sends is published, what it gets is delivered, in both dialects."""
    measure = F.when(F.col("direction") == "c2s", "publish-confirm").when(
        F.col("direction") == "s2c", "deliver-settle"
    )
    return transfers.select(
        *LINK,
        measure.alias("measure"),
        F.lit(None).cast("string").alias("what"),
        F.col("last_ts_ns").alias("ts_ns"),
        settlement_latency().alias("value_ns"),
    ).where(F.col("value_ns").isNotNull() & F.col("measure").isNotNull())


def _answered(replies: DataFrame, measure: str, what: Column) -> DataFrame:
    return replies.where(F.col("reply_ts_ns").isNotNull()).select(
        *LINK,
        F.lit(measure).alias("measure"),
        what.alias("what"),
        "ts_ns",
        F.greatest(F.col("reply_ts_ns") - F.col("ts_ns"), F.lit(0)).alias("value_ns"),
    )


def _round_trips(
    tables: dict[str, DataFrame], places: DataFrame, options: MetricOptions
) -> DataFrame:
    """TCP round trips: connections hold their extremes and mean."""
    rows = tables["connections"].where(F.col("rtt_mean_ns").isNotNull())
    none = F.lit(None).cast("long")
    rtts = ("rtt_min_ns", "rtt_mean_ns", "rtt_max_ns")
    facts = with_dimensions(
        rows.select("connection_id", *(none.alias(name) for name in LINK[1:]), *rtts),
        places,
        options,
    )
    groups = facts.groupBy(*DIMENSIONS).agg(
        F.min("rtt_min_ns").alias("min_ns"),
        F.avg("rtt_mean_ns").alias("mean_ns"),
        F.max("rtt_max_ns").alias("max_ns"),
    )
    unknown = ("count", "window_start_ns", *QUANTILES)
    groups = groups.select(
        "*", *(none.alias(name) for name in unknown), F.lit("rtt").alias("measure"),
        F.lit(None).cast("string").alias("what"), F.lit(True).alias("is_exact"),
    )  # fmt: skip
    return conform(groups, LATENCIES.table)
