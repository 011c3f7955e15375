"""How long a connection took to set up, phase by phase, and its round trips and heartbeats."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.shape import LINK

# phase → (frames of the client that begin it, frames of the server that end it)
# 0-9-1 §2.2.4; 1.0 §5.3.2 SASL negotiation, §2.4.1 opening
PHASES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "setup-greeting": (("protocol-header",), ("connection.start", "sasl-mechanisms")),
    "setup-auth": (("connection.start-ok", "sasl-init"), ("connection.tune", "sasl-outcome")),
    "setup-open": (("connection.open", "open"), ("connection.open-ok", "open")),
}
# 0-9-1 §4.2.7; 1.0 §2.4.5 an empty frame
HEARTBEATS = ("heartbeat", "empty")


def _alone(measure: str, at: str, value: Column | str, what: Column | None = None) -> list[Column]:
    """Columns of a fact that belongs to a connection."""
    nothing = F.lit(None)
    return [
        F.col("connection_id"),
        *(nothing.cast("long").alias(c) for c in LINK[1:]),
        F.lit(measure).alias("measure"),
        (nothing.cast("string") if what is None else what).alias("what"),
        F.col(at).alias("ts_ns"),
        (F.col(value) if isinstance(value, str) else value).alias("value_ns"),
    ]


def setup_times(tables: dict[str, DataFrame]) -> DataFrame:
    """One row per connection and phase that the capture holds both ends of."""
    connections = tables["connections"]
    is_whole = F.col("handshake_rtt_ns").isNotNull()
    took = F.col("opened_ts_ns") - F.col("first_ts_ns")
    times = connections.where(is_whole).select(
        *_alone("setup-tcp", "first_ts_ns", "handshake_rtt_ns")
    )
    times = times.unionByName(
        connections.where(is_whole & F.col("opened_ts_ns").isNotNull()).select(
            *_alone("setup-total", "first_ts_ns", took)
        )
    )
    names = sorted({n for ends in PHASES.values() for side in ends for n in side})
    frames = tables["frames"].where(F.col("name").isin(*names))

    def first(wanted: tuple[str, ...], direction: str) -> Column:
        is_it = F.col("name").isin(*wanted) & (F.col("direction") == direction)
        return F.min(F.when(is_it, F.col("ts_ns")))

    ends = frames.groupBy("connection_id").agg(
        *(
            column
            for phase, (begins, closes) in PHASES.items()
            for column in (
                first(begins, "c2s").alias(f"{phase}_from"),
                first(closes, "s2c").alias(f"{phase}_to"),
            )
        )
    )
    for phase in PHASES:
        begin, end = f"{phase}_from", f"{phase}_to"
        times = times.unionByName(
            ends.where(F.col(f"`{end}`") >= F.col(f"`{begin}`")).select(
                *_alone(phase, begin, F.col(f"`{end}`") - F.col(f"`{begin}`"))
            )
        )
    return times


def heartbeat_gaps(frames: DataFrame) -> DataFrame:
    """Between one heartbeat and the next in the same direction."""
    window = Window.partitionBy("connection_id", "direction").orderBy("frame_no")
    beats = frames.where(F.col("name").isin(*HEARTBEATS)).withColumn(
        "_before", F.lag("ts_ns").over(window)
    )
    return beats.where(F.col("_before").isNotNull()).select(
        *_alone("heartbeat-gap", "_before", F.col("ts_ns") - F.col("_before"), F.col("direction"))
    )
