"""Stalls: the waits that held something up, long enough to matter, with who caused them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.definitions import STALLS
from spark_etl.metrics.options import MetricOptions
from spark_etl.metrics.shape import conform, other_side, with_place


def stalls(
    places: DataFrame, waits: DataFrame, silent: DataFrame, options: MetricOptions
) -> DataFrame:
    held_up = waits.where("is_needed").drop("is_needed").unionByName(silent)
    named = with_place(
        held_up.where(F.col("length_ns") >= options.min_stall_ns),
        places, "dialect", "client", "server", "address",
    ).withColumn("caused_by", other_side("stalled_side"))  # fmt: skip
    return conform(named, STALLS.table)
