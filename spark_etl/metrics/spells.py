"""Spells: maximal stretches of time in which something is closed, and what ends them.

Knows nothing of AMQP: states in, spells out. Every window looks back over rows that are sorted
once, so that a link with a hundred million events costs one sort.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812


def in_order(keys: Sequence[str], *order: str) -> WindowSpec:
    return Window.partitionBy(*keys).orderBy(*(order or ("ts_ns", "packet_no", "order_no")))


def so_far(keys: Sequence[str], *order: str) -> WindowSpec:
    return in_order(keys, *order).rowsBetween(Window.unboundedPreceding, Window.currentRow)


def closed_spells(
    states: DataFrame, keys: Sequence[str], *kept: str, at_end: Sequence[str] = ()
) -> DataFrame:
    """Stretches of ``is_closed`` per key, with the columns ``kept`` as they were at the start and
    those of ``at_end`` as they are when it ends.

    ``states`` has ts_ns, packet_no, capture and order_no (to break ties). A spell that nothing
    ends has null ends.
    """
    window = in_order(keys)
    changes = states.where(F.col("is_closed").isNotNull())
    changes = changes.withColumn("_before", F.lag("is_closed").over(window))
    changes = changes.where(F.col("_before").isNull() | (F.col("_before") != F.col("is_closed")))
    return (
        changes.withColumns({name: F.lead(name).over(window) for name in at_end})
        .withColumn("end_ts_ns", F.lead("ts_ns").over(window))
        .withColumn("end_packet_no", F.lead("packet_no").over(window))
        .where("is_closed")
        .select(
            *keys,
            "capture",
            F.col("ts_ns").alias("start_ts_ns"),
            F.col("packet_no").alias("start_packet_no"),
            "end_ts_ns",
            "end_packet_no",
            *kept,
            *at_end,
        )
    )


def with_resumption(spells: DataFrame, sends: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The first send of the same key at or after each spell's end (null: none, or no end).

    ``sends`` has the keys, ts_ns, packet_no and link_id. As-of by union: both sorted backwards
    together, then the last send seen.
    """
    no_long = F.lit(None).cast("long")
    extra = [c for c in spells.columns if c not in keys]
    points = spells.select(
        *keys,
        F.col("end_ts_ns").alias("_at"),
        F.lit(1).alias("_rank"),
        no_long.alias("_send_ts"),
        no_long.alias("_send_packet"),
        no_long.alias("_send_link"),
        F.struct(*extra).alias("_spell"),
    )
    events = sends.select(
        *keys,
        F.col("ts_ns").alias("_at"),
        F.lit(0).alias("_rank"),
        F.col("ts_ns").alias("_send_ts"),
        F.col("packet_no").alias("_send_packet"),
        F.col("link_id").alias("_send_link"),
        F.lit(None).cast(points.schema["_spell"].dataType).alias("_spell"),
    )
    backwards = (
        Window.partitionBy(*keys)
        .orderBy(F.col("_at").desc_nulls_first(), F.col("_rank"), F.col("_send_packet").desc())
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return (
        points.unionByName(events)
        .select(
            *keys,
            "_rank",
            "_spell",
            F.last("_send_ts", ignorenulls=True).over(backwards).alias("resumed_ts_ns"),
            F.last("_send_packet", ignorenulls=True).over(backwards).alias("resumed_packet_no"),
            F.last("_send_link", ignorenulls=True).over(backwards).alias("resumed_link_id"),
        )
        .where(F.col("_rank") == 1)
        .select(*keys, "_spell.*", "resumed_ts_ns", "resumed_packet_no", "resumed_link_id")
    )
