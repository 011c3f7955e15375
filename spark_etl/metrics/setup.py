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


def _alone(
    measure: Column, at: str, value: Column | str, what: Column | None = None
) -> list[Column]:
    """Columns of a fact that belongs to a connection."""
    nothing = F.lit(None)
    return [
        F.col("connection_id"),
        *(nothing.cast("long").alias(c) for c in LINK[1:]),
        measure.alias("measure"),
        (nothing.cast("string") if what is None else what).alias("what"),
        F.col(at).alias("ts_ns"),
        (F.col(value) if isinstance(value, str) else value).alias("value_ns"),
    ]


def setup_times(tables: dict[str, DataFrame]) -> DataFrame:
    """One row per connection and phase that the capture holds both ends of."""
    took = F.col("opened_ts_ns") - F.col("first_ts_ns")
    whole = tables["connections"].where(F.col("handshake_rtt_ns").isNotNull())
    times = whole.select(
        "connection_id",
        F.inline(
            F.array(
                _phase("setup-tcp", F.col("first_ts_ns"), F.col("handshake_rtt_ns")),
                _phase("setup-total", F.col("first_ts_ns"), took),
            )
        ),
    ).where(F.col("value_ns").isNotNull())
    names = sorted({n for ends in PHASES.values() for side in ends for n in side})
    frames = tables["frames"].where(F.col("name").isin(*names))

    def first(wanted: tuple[str, ...], direction: str) -> Column:
        is_it = F.col("name").isin(*wanted) & (F.col("direction") == direction)
        return F.min(F.when(is_it, F.col("ts_ns")))

    ends = frames.groupBy("connection_id").agg(
        F.array(
            *(
                _phase(phase, first(begins, "c2s"), first(closes, "s2c") - first(begins, "c2s"))
                for phase, (begins, closes) in PHASES.items()
            )
        ).alias("phases")
    )
    phases = ends.select("connection_id", F.inline("phases")).where(F.col("value_ns") >= 0)
    return times.unionByName(phases).select(*_alone(F.col("measure"), "ts_ns", "value_ns"))


def _phase(measure: str, at: Column, took: Column) -> Column:
    return F.struct(F.lit(measure).alias("measure"), at.alias("ts_ns"), took.alias("value_ns"))


def heartbeat_gaps(frames: DataFrame) -> DataFrame:
    """Between one heartbeat and the next in the same direction."""
    window = Window.partitionBy("connection_id", "direction").orderBy("frame_no")
    beats = frames.where(F.col("name").isin(*HEARTBEATS)).withColumn(
        "_before", F.lag("ts_ns").over(window)
    )
    return beats.where(F.col("_before").isNotNull()).select(
        *_alone(
            F.lit("heartbeat-gap"), "_before", F.col("ts_ns") - F.col("_before"), F.col("direction")
        )
    )
