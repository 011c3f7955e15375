"""Small tools that every topic uses: the schema contract, sides, identities, window starts."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (Spark's own custom)

from dissectors.tables import Table
from spark_etl.metrics.definitions import spark_type
from spark_etl.metrics.options import DIMENSIONS, MetricOptions

LINK = ("connection_id", "session_id", "link_id")
SESSION = ("connection_id", "session_id")
CONNECTION = ("connection_id",)


def conform(frame: DataFrame, table: Table) -> DataFrame:
    """The table's columns, in its order, with its types: nothing else leaves a metric."""
    return frame.select(
        *(F.col(c.name).cast(spark_type(c.kind)).alias(c.name) for c in table.columns)
    )


def sending_side(direction: str | Column) -> Column:
    """c2s → client, s2c → server; null where the capture does not tell."""
    direction = F.col(direction) if isinstance(direction, str) else direction
    return F.when(direction == "c2s", "client").when(direction == "s2c", "server")


def is_09() -> Column:
    """0-8, 0-9, 0-9-1 …, but never 1.0."""
    return F.col("dialect").startswith("0-")


def other_side(side: str) -> Column:
    return F.when(F.col(side) == "client", "server").when(F.col(side) == "server", "client")


def window_start(ts: str, options: MetricOptions) -> Column:
    """Start of the time window that an instant falls into; windows begin at whole multiples."""
    return (F.col(ts) - F.pmod(F.col(ts), F.lit(options.window_ns))).cast("long")


def identities(tables: dict[str, DataFrame]) -> DataFrame:
    """One row per link: its dimensions, its sender's side, and when it began and ended."""
    connections = tables["connections"].select(
        "connection_id",
        "dialect",
        "client",
        "server",
        "vhost",
        F.col("last_ts_ns").alias("connection_end_ns"),
        F.coalesce("rtt_mean_ns", "handshake_rtt_ns", F.lit(0)).alias("rtt_ns"),
    )
    links = tables["links"].select(
        *LINK, "kind", "address", "name", "role", "begin_ts_ns", "established_ts_ns",
        "end_ts_ns", "prefetch_count", "is_no_ack", "end_kind",
    )  # fmt: skip
    return links.join(connections, on="connection_id", how="left").select(
        *LINK,
        "dialect",
        "client",
        "server",
        "vhost",
        "kind",
        "address",
        "name",
        "role",
        F.when(F.col("role") == "sender", "client")
        .when(F.col("role") == "receiver", "server")
        .alias("sender_side"),
        "begin_ts_ns",
        "established_ts_ns",
        F.coalesce("end_ts_ns", "connection_end_ns").alias("last_ts_ns"),
        (F.col("end_ts_ns").isNull() & F.col("end_kind").isNull()).alias("is_open"),
        "prefetch_count",
        "is_no_ack",
        "rtt_ns",
    )


def with_dimensions(
    facts: DataFrame, tables: dict[str, DataFrame], options: MetricOptions
) -> DataFrame:
    """Facts keyed by connection, session and link get the dimensions of the chosen grouping.

    A fact without a link keeps those of its connection.
    """
    connections = tables["connections"].select(
        "connection_id", "dialect", "client", "server", "vhost"
    )
    links = tables["links"].select("connection_id", "link_id", "kind", "address")
    facts = facts.drop("dialect", "client", "server", "vhost", "kind", "address")
    joined = facts.join(connections, on="connection_id", how="left").join(
        links, on=["connection_id", "link_id"], how="left"
    )
    return _open(joined, options)


def _open(frame: DataFrame, options: MetricOptions) -> DataFrame:
    """Null for every dimension that the grouping does not keep apart."""
    kept = options.dimensions()
    if "connection_id" not in kept:
        for side in ("client", "server"):
            frame = frame.withColumn(side, host(side))
    for name in DIMENSIONS:
        if name not in kept:
            frame = frame.withColumn(name, F.lit(None).cast(frame.schema[name].dataType))
    return frame


def host(endpoint: str) -> Column:
    """``10.0.0.1:5672`` and ``[::1]:5672`` without the port."""
    return F.regexp_replace(endpoint, r":\d+$", "")
