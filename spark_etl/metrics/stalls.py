"""Stalls: the waits that held something up, long enough to matter, with who caused them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.definitions import STALLS
from spark_etl.metrics.options import MetricOptions
from spark_etl.metrics.shape import conform, other_side


def stalls(
    tables: dict[str, DataFrame], waits: DataFrame, silent: DataFrame, options: MetricOptions
) -> DataFrame:
    connections = tables["connections"].select("connection_id", "dialect", "client", "server")
    addresses = tables["links"].select("connection_id", "link_id", "address")
    held_up = waits.where("is_needed").drop("is_needed").unionByName(silent)
    named = (
        held_up.where(F.col("length_ns") >= options.min_stall_ns)
        .join(connections, on="connection_id", how="left")
        .join(addresses, on=["connection_id", "link_id"], how="left")
        .withColumn("caused_by", other_side("stalled_side"))
    )
    return conform(named, STALLS.table)
