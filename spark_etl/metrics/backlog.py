"""Backlog: messages sent and not yet settled, over time."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.definitions import BACKLOG
from spark_etl.metrics.options import DIMENSIONS, MetricOptions
from spark_etl.metrics.shape import conform, window_start, with_dimensions
from spark_etl.metrics.spells import so_far
from spark_etl.metrics.timeline import unsettled_changes


def backlog(tables: dict[str, DataFrame], places: DataFrame, options: MetricOptions) -> DataFrame:
    rows = with_dimensions(unsettled_changes(tables["transfers"]), places, options)
    rows = rows.withColumn(
        "unsettled",
        F.sum("unsettled_change").over(so_far(DIMENSIONS, "ts_ns", "packet_no", "order_no")),
    ).withColumn("window_start_ns", window_start("ts_ns", options))
    # The state that a window begins with counts too: before its first change.
    most = F.greatest("unsettled", F.col("unsettled") - F.col("unsettled_change"))
    groups = rows.groupBy(*DIMENSIONS, "window_start_ns").agg(
        F.sum((F.col("unsettled_change") > 0).cast("long")).alias("arrived_count"),
        F.sum((F.col("unsettled_change") < 0).cast("long")).alias("settled_count"),
        F.max(most).alias("max_unsettled"),
    )
    at_end = F.sum(F.col("arrived_count") - F.col("settled_count")).over(
        so_far(DIMENSIONS, "window_start_ns")
    )
    return conform(groups.withColumn("unsettled", at_end), BACKLOG.table)
