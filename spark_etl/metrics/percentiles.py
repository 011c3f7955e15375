"""Percentiles of a group: exact where it is small enough, else with a stated error.

Spark's ``percentile`` keeps every distinct value of a group in memory; ``percentile_approx`` with
accuracy 100,000 is off by at most 1/100,000 of the group's size in rank. KLL sketches are not
used: they are wrong in the tails.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

ACCURACY = 100_000
QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p999_ns": 0.999}


def with_group_size(facts: DataFrame, keys: Sequence[str], value: str) -> DataFrame:
    """``_size``: how many values of the fact's group are not null."""
    sizes = facts.groupBy(*keys).agg(F.count(value).alias("_size"))
    renamed = sizes.select(*(F.col(k).alias(f"_k{i}") for i, k in enumerate(keys)), "_size")
    same = [F.col(k).eqNullSafe(F.col(f"_k{i}")) for i, k in enumerate(keys)]
    condition = same[0]
    for part in same[1:]:
        condition = condition & part
    return facts.join(renamed, on=condition, how="left").drop(*(f"_k{i}" for i in range(len(keys))))


def quantile_columns(value: str, exact_limit: int) -> list[Column]:
    """Aggregates for facts that went through ``with_group_size``."""
    points = list(QUANTILES.values())
    small = F.when(F.col("_size") <= exact_limit, F.col(value))
    large = F.when(F.col("_size") > exact_limit, F.col(value))
    return [
        F.percentile(small, points).alias("_exact"),
        F.percentile_approx(large, points, ACCURACY).alias("_approximate"),
        F.min(value).alias("min_ns"),
        F.avg(value).alias("mean_ns"),
        F.max(value).alias("max_ns"),
        (F.coalesce(F.max("_size"), F.lit(0)) <= exact_limit).alias("is_exact"),
    ]


def with_quantiles(groups: DataFrame) -> DataFrame:
    """p50_ns … p999_ns from the aggregates; null where the group has no value."""
    for at, name in enumerate(QUANTILES):
        groups = groups.withColumn(
            name, F.round(F.coalesce(F.col("_exact")[at], F.col("_approximate")[at]))
        )
    return groups.withColumn("mean_ns", F.round("mean_ns")).drop("_exact", "_approximate")
