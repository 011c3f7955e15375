"""Small tools that every topic uses: the schema contract, sides, places, window starts."""

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


def places(tables: dict[str, DataFrame]) -> DataFrame:
    """One row per link, and one without a link per connection: whose numbers these are, who sends
    on it, and when it began and ended."""
    connections = tables["connections"].select(
        "connection_id", "dialect", "client", "server", "vhost", "tcp_end",
        F.col("last_ts_ns").alias("connection_end_ns"),
        F.coalesce("rtt_mean_ns", "handshake_rtt_ns", F.lit(0)).alias("rtt_ns"),
    )  # fmt: skip
    links = tables["links"].select(
        *LINK, "kind", "address", "role", "rcv_settle_mode", "begin_ts_ns", "established_ts_ns",
        "end_ts_ns", "prefetch_count", "is_no_ack", "end_kind",
    )  # fmt: skip
    both = links.unionByName(connections.select("connection_id"), allowMissingColumns=True)
    return both.join(connections, on="connection_id", how="left").select(
        *LINK, "dialect", "client", "server", "vhost", "kind", "address", "rcv_settle_mode",
        F.when(F.col("role") == "sender", "client")
        .when(F.col("role") == "receiver", "server")
        .alias("sender_side"),
        "begin_ts_ns", "established_ts_ns",
        F.coalesce("end_ts_ns", "connection_end_ns").alias("last_ts_ns"),
        (F.col("end_ts_ns").isNull() & F.col("end_kind").isNull()).alias("is_open"),
        "connection_end_ns", "tcp_end", "prefetch_count", "is_no_ack", "rtt_ns",
    )  # fmt: skip


def links_of(places: DataFrame) -> DataFrame:
    return places.where(F.col("link_id").isNotNull())


def with_place(facts: DataFrame, places: DataFrame, *columns: Column | str) -> DataFrame:
    """Facts keyed by connection and link get columns of their place."""
    known = places.select(
        F.col("connection_id").alias("_connection"), F.col("link_id").alias("_link"), *columns
    )
    is_there = (F.col("connection_id") == F.col("_connection")) & F.col("link_id").eqNullSafe(
        F.col("_link")
    )
    return facts.join(known, on=is_there, how="left").drop("_connection", "_link")


def with_dimensions(facts: DataFrame, places: DataFrame, options: MetricOptions) -> DataFrame:
    """Facts keyed by connection, link and (else the link's own) session get the dimensions of the
    chosen grouping.

    A fact without a link has those of its connection; null is every dimension that the grouping
    does not keep apart.
    """
    kept = options.dimensions()
    names = facts.columns
    own = [name for name in names if name not in DIMENSIONS]
    of_place = [name for name in DIMENSIONS if name in kept and name not in names]
    # Ports change with every connection.
    is_joined = "connection_id" not in kept
    columns = [
        host(name).alias(name) if is_joined and name in ("client", "server") else F.col(name)
        for name in of_place
    ]
    types = dict.fromkeys(LINK[1:], "long")
    return with_place(facts, places, *columns).select(
        *(
            F.col(name) if name in kept else F.lit(None).cast(types.get(name, "string")).alias(name)
            for name in DIMENSIONS
        ),
        *own,
    )


def host(endpoint: str) -> Column:
    """``10.0.0.1:5672`` and ``[::1]:5672`` without the port."""
    return F.regexp_replace(endpoint, r":\d+$", "")
