"""Throughput: messages, octets and frames per link, direction and time window."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.definitions import THROUGHPUT
from spark_etl.metrics.options import DIMENSIONS, SECOND, MetricOptions
from spark_etl.metrics.shape import LINK, conform, window_start, with_dimensions

_COUNTS = ("message_count", "body_bytes", "frame_count", "wire_bytes")


def throughput(
    tables: dict[str, DataFrame], places: DataFrame, options: MetricOptions
) -> DataFrame:
    # Small before the dimensions are joined: one row per link and window.
    facts = _counted(_frames(tables), options).unionByName(_counted(_messages(tables), options))
    per_second = F.lit(options.window_ns / SECOND)
    groups = (
        with_dimensions(facts, places, options)
        .groupBy(*DIMENSIONS, "direction", "window_start_ns")
        .agg(*(F.sum(c).alias(c) for c in _COUNTS))
        .withColumn("overhead_bytes", F.col("wire_bytes") - F.col("body_bytes"))
        .withColumn(
            "overhead_per_message",
            F.when(F.col("message_count") > 0, F.col("overhead_bytes") / F.col("message_count")),
        )
        .withColumn("messages_per_second", F.col("message_count") / per_second)
        .withColumn("body_bytes_per_second", F.col("body_bytes") / per_second)
    )
    return conform(groups, THROUGHPUT.table)


def _frames(tables: dict[str, DataFrame]) -> DataFrame:
    return tables["frames"].select(
        *LINK,
        "direction",
        "ts_ns",
        F.lit(0).alias("message_count"),
        F.lit(0).alias("body_bytes"),
        F.lit(1).alias("frame_count"),
        F.col("size_bytes").alias("wire_bytes"),
    )


def _messages(tables: dict[str, DataFrame]) -> DataFrame:
    done = tables["transfers"].where(~F.col("is_aborted"))
    return done.select(
        *LINK,
        "direction",
        F.col("last_ts_ns").alias("ts_ns"),
        F.lit(1).alias("message_count"),
        "body_bytes",
        F.lit(0).alias("frame_count"),
        F.lit(0).alias("wire_bytes"),
    )


def _counted(rows: DataFrame, options: MetricOptions) -> DataFrame:
    return (
        rows.withColumn("window_start_ns", window_start("ts_ns", options))
        .groupBy(*LINK, "direction", "window_start_ns")
        .agg(*(F.sum(c).cast("long").alias(c) for c in _COUNTS))
    )
