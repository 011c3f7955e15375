"""Percentiles of a group: exact where it is small enough, else with a stated error.

Spark's ``percentile`` keeps every distinct value of a group in memory; ``percentile_approx`` with
accuracy 100,000 is off by at most 1/100,000 of the group's size in rank. KLL sketches are not
used: they are wrong in the tails.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.options import MetricOptions

ACCURACY = 100_000
QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p999_ns": 0.999}


def spread(
    facts: DataFrame, keys: Sequence[str], value: str, options: MetricOptions, *others: Column
) -> DataFrame:
    """Groups with min, mean, max, quantiles of ``value`` (null where it has none), is_exact, and
    the aggregates ``others``."""
    points = list(QUANTILES.values())
    exact, approximate = F.percentile(value, points), F.lit(None).cast("array<double>")
    is_exact = F.lit(True)
    if not options.is_all_exact:
        size = F.count(value).over(Window.partitionBy(*keys))
        is_small = F.col("_size") <= options.exact_limit
        facts = facts.withColumn("_size", size)
        exact = F.percentile(F.when(is_small, F.col(value)), points)
        approximate = F.percentile_approx(F.when(~is_small, F.col(value)), points, ACCURACY)
        is_exact = F.max("_size") <= options.exact_limit
    groups = facts.groupBy(*keys).agg(
        *others,
        F.min(value).alias("min_ns"),
        F.round(F.avg(value)).alias("mean_ns"),
        F.max(value).alias("max_ns"),
        is_exact.alias("is_exact"),
        F.coalesce(exact, approximate).alias("_quantiles"),
    )
    return groups.withColumns(
        {name: F.round(F.col("_quantiles")[at]) for at, name in enumerate(QUANTILES)}
    ).drop("_quantiles")
