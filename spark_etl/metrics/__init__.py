"""Metrics: DataFrame → DataFrame functions over the tables of the dissectors, one topic a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_etl.metrics.options import MetricOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_etl.metrics.plan import MetricFrames

__all__ = ["MetricOptions", "compute"]


def compute(tables: dict[str, DataFrame], options: MetricOptions | None = None) -> MetricFrames:
    """All metric tables by name, lazily: nothing runs before somebody asks a frame for rows.

    ``tables`` are those of ``amqpscope dissect`` (connections, sessions, links, frames,
    transfers, credits).
    """
    from spark_etl.metrics import plan

    return plan.MetricFrames(tables, options or MetricOptions())
