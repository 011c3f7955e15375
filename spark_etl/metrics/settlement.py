"""Settlement per link and outcome: counts, latency, batching, redelivery, observed guarantee."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.definitions import SETTLEMENT
from spark_etl.metrics.options import DIMENSIONS, MetricOptions
from spark_etl.metrics.percentiles import spread
from spark_etl.metrics.shape import LINK, conform, with_dimensions, with_place
from spark_etl.metrics.spells import as_of
from spark_etl.metrics.timeline import awaits_settlement

SETTLING_FRAMES = (
    "disposition", "basic.ack", "basic.nack", "basic.reject", "basic.recover",
    "basic.recover-async", "message.accept", "message.reject", "message.release",
)  # fmt: skip
# 0-9-1 basic.ack: multiple with tag 0 means all that there are.
_ALL = 2**63 - 1
_KEYS = (*DIMENSIONS, "direction", "outcome")


def settlement_latency() -> Column:
    """From a message's last frame to the frame that settled it; a link's end settles nothing."""
    took = F.col("settled_ts_ns") - F.col("last_ts_ns")
    is_stated = F.coalesce(F.col("settle_kind"), F.lit("")).isin("single", "range")
    return F.when(awaits_settlement() & is_stated, F.greatest(took, F.lit(0)))


def settlement(
    tables: dict[str, DataFrame], places: DataFrame, options: MetricOptions
) -> DataFrame:
    messages = with_dimensions(_facts(tables, places), places, options)
    frames = with_dimensions(_settling_frames(tables), places, options).distinct()
    facts = messages.unionByName(
        frames.select(*_KEYS, F.lit(1).alias("settling_frame")), allowMissingColumns=True
    )
    groups = spread(facts, _KEYS, "latency_ns", options, *_counts())
    explicit = F.col("single_count") + F.col("range_count")
    groups = groups.withColumn(
        "batch_mean",
        F.when(F.col("settle_frame_count") > 0, explicit / F.col("settle_frame_count")),
    )
    return conform(_with_guarantee(groups), SETTLEMENT.table)


def _facts(tables: dict[str, DataFrame], places: DataFrame) -> DataFrame:
    transfers = with_place(
        tables["transfers"].where(~F.col("is_aborted")), places, "rcv_settle_mode"
    )
    # 1.0 §2.6.12: with receiver-settle-mode second the outcome is known before it is settled.
    is_second = (F.col("rcv_settle_mode") == "second") & (
        F.col("outcome_ts_ns") < F.col("settled_ts_ns")
    )
    return transfers.select(
        *LINK,
        "direction",
        F.when(F.col("kind") == "return", "returned").otherwise(F.col("outcome")).alias("outcome"),
        F.lit(1).alias("message"),
        "body_bytes",
        "is_presettled",
        "is_redelivered",
        "settle_kind",
        awaits_settlement().alias("is_awaiting"),
        F.col("settled_ts_ns").isNotNull().alias("is_settled"),
        F.coalesce(is_second, F.lit(False)).alias("is_second"),
        settlement_latency().alias("latency_ns"),
    )


def _counts() -> list[Column]:
    def count(condition: Column) -> Column:
        return F.sum(F.coalesce(condition, F.lit(False)).cast("long"))

    kind = F.col("settle_kind")
    is_awaiting = F.col("is_awaiting")
    return [
        F.sum("message").alias("count"),
        F.coalesce(F.sum("settling_frame"), F.lit(0)).alias("settle_frame_count"),
        F.sum("body_bytes").alias("body_bytes"),
        count(F.col("is_presettled")).alias("presettled_count"),
        count(is_awaiting & (kind == "single")).alias("single_count"),
        count(is_awaiting & (kind == "range")).alias("range_count"),
        count(is_awaiting & (kind == "implicit")).alias("implicit_count"),
        count(is_awaiting & ~F.col("is_settled")).alias("unsettled_count"),
        count(~is_awaiting & ~F.col("is_presettled")).alias("_unasked_count"),
        count(F.col("is_second")).alias("_second_count"),
        count(F.col("is_redelivered")).alias("redelivered_count"),
        F.count("latency_ns").alias("latency_count"),
    ]


def _settling_frames(tables: dict[str, DataFrame]) -> DataFrame:
    """Each explicitly settled message with the frame that settled it.

    1.0 §2.7.6: first to last; 0-9-1 basic.ack: one tag, or all up to it. So it is, of the frames
    in the packet that settled it, the one whose last delivery is the next at or after its own.
    What a commit settles has no such frame: its packet stands for it.
    """
    settled = tables["transfers"].where(
        awaits_settlement() & F.col("settle_kind").isin("single", "range") & ~F.col("is_aborted")
    )
    reverse = F.when(F.col("direction") == "c2s", "s2c").otherwise("c2s")
    settled = settled.select(
        *LINK,
        "direction",
        "outcome",
        F.col("delivery_id").alias("_id"),
        F.col("settled_ts_ns").alias("ts_ns"),
        F.col("settled_packet_no").alias("packet_no"),
        F.when(F.col("settled_by") == "sender", F.col("direction"))
        .otherwise(reverse)
        .alias("_said_by"),
    )
    is_multiple = F.coalesce("is_multiple", F.lit(False))
    frames = tables["frames"].where(
        F.col("name").isin(*SETTLING_FRAMES) & F.col("delivery_id").isNotNull()
    )
    frames = frames.select(
        "connection_id",
        "session_id",
        "ts_ns",
        "packet_no",
        F.col("direction").alias("_said_by"),
        "frame_no",
        F.when(is_multiple & (F.col("delivery_id") == 0), _ALL)
        .otherwise(F.coalesce("delivery_last", "delivery_id"))
        .alias("_at"),
        F.struct(
            F.when(is_multiple, 0).otherwise(F.col("delivery_id")).alias("first"), "frame_no"
        ).alias("_frame"),
    )
    keys = ("connection_id", "session_id", "ts_ns", "packet_no", "_said_by")
    found = as_of(
        settled, F.col("_id"), frames, ("_frame",), keys,
        F.col("_at").desc(), F.col("_rank"), F.col("frame_no").desc(),
    )  # fmt: skip
    number = F.when(F.col("_id") >= F.col("_frame.first"), F.col("_frame.frame_no"))
    return found.select(
        *LINK,
        "direction",
        "outcome",
        F.struct(
            F.col("connection_id").alias("of"), F.coalesce(number, -F.col("packet_no")).alias("no")
        ).alias("_settling_frame"),
    )


def _with_guarantee(groups: DataFrame) -> DataFrame:
    """The guarantee of all outcomes of a link together."""
    whole = Window.partitionBy(*DIMENSIONS, "direction")

    def total(*columns: str) -> Column:
        return F.sum(sum((F.col(c) for c in columns[1:]), F.col(columns[0]))).over(whole)

    once = total("presettled_count", "_unasked_count")
    settled = total("single_count", "range_count")
    waiting = total("unsettled_count", "implicit_count")
    is_exact = (total("_second_count") == settled) & (total("redelivered_count") == 0)
    guarantee = (
        F.when((once > 0) & (settled + waiting > 0), "mixed")
        .when(once > 0, "at-most-once")
        .when((settled > 0) & is_exact, "exactly-once")
        .when(settled > 0, "at-least-once")
        .otherwise("unknown")
    )
    return groups.withColumn("guarantee", guarantee)
