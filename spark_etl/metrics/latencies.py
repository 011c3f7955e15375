"""Latencies: how long everything took, per link and per time window, in one long table."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.definitions import LATENCIES
from spark_etl.metrics.options import DIMENSIONS, MetricOptions
from spark_etl.metrics.percentiles import (
    QUANTILES,
    quantile_columns,
    with_group_size,
    with_quantiles,
)
from spark_etl.metrics.replies import message_replies, method_replies, mirrored_replies
from spark_etl.metrics.settlement import settlement_latency
from spark_etl.metrics.setup import heartbeat_gaps, setup_times
from spark_etl.metrics.shape import LINK, conform, window_start, with_dimensions

_KEYS = (*DIMENSIONS, "measure", "what", "window_start_ns")


def latencies(tables: dict[str, DataFrame], options: MetricOptions) -> DataFrame:
    facts = with_dimensions(_facts(tables), tables, options)
    # Each value counts for its window and for the whole.
    windows = F.array(F.lit(None).cast("long"), window_start("ts_ns", options))
    facts = facts.withColumn("window_start_ns", F.explode(windows))
    sized = with_group_size(facts, _KEYS, "value_ns")
    groups = sized.groupBy(*_KEYS).agg(
        F.count("value_ns").alias("count"), *quantile_columns("value_ns", options.exact_limit)
    )
    return conform(with_quantiles(groups), LATENCIES.table).unionByName(
        _round_trips(tables, options)
    )


def _facts(tables: dict[str, DataFrame]) -> DataFrame:
    frames, transfers = tables["frames"], tables["transfers"]
    replies = method_replies(frames).unionByName(mirrored_replies(frames))
    nothing = F.lit(None).cast("string")
    return (
        _settlements(transfers)
        .unionByName(_answered(replies, "method-reply", F.col("what")))
        .unionByName(_answered(message_replies(transfers), "request-reply", nothing))
        .unionByName(setup_times(tables))
        .unionByName(heartbeat_gaps(frames))
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


def _round_trips(tables: dict[str, DataFrame], options: MetricOptions) -> DataFrame:
    """TCP round trips: connections hold their extremes and mean."""
    rows = tables["connections"].where(F.col("rtt_mean_ns").isNotNull())
    none = F.lit(None).cast("long")
    facts = with_dimensions(
        rows.select(
            "connection_id",
            none.alias("session_id"),
            none.alias("link_id"),
            "rtt_min_ns",
            "rtt_mean_ns",
            "rtt_max_ns",
        ),
        tables,
        options,
    )
    groups = facts.groupBy(*DIMENSIONS).agg(
        F.min("rtt_min_ns").alias("min_ns"),
        F.avg("rtt_mean_ns").alias("mean_ns"),
        F.max("rtt_max_ns").alias("max_ns"),
    )
    for name in ("count", "window_start_ns", *QUANTILES):
        groups = groups.withColumn(name, none)
    groups = groups.withColumn("measure", F.lit("rtt")).withColumn(
        "what", F.lit(None).cast("string")
    )
    return conform(groups.withColumn("is_exact", F.lit(True)), LATENCIES.table)
