"""Metrics: DataFrame → DataFrame functions over the tables of the dissectors, one topic a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_etl.metrics.options import MetricOptions, nanoseconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_etl.metrics.plan import Keep, MetricFrames

__all__ = ["MetricOptions", "compute", "nanoseconds"]


def compute(
    tables: dict[str, DataFrame], options: MetricOptions | None = None, keep: Keep | None = None
) -> MetricFrames:
    """All metric tables by name, lazily: no metric is computed before somebody asks for its rows.

    ``tables`` are those of ``amqpscope dissect`` (connections, sessions, links, frames,
    transfers, credits). What several metrics need goes through ``keep`` (by default Spark's cache).
    """
    from spark_etl.metrics import plan

    return plan.MetricFrames(tables, options or MetricOptions(), keep or plan.keep_cached)
