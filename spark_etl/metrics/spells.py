"""Spells: maximal stretches of time in which something is closed, and what ends them.

Knows nothing of AMQP: states in, spells out. Every window looks back over rows that are sorted
once, so that a link with a hundred million events costs one sort.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812

# Packets in time; in a packet first what has no frame of its own, then frames, then their parts.
ORDER = ("ts_ns", "packet_no", "order_no", "frame_no", "part_no")


def in_order(keys: Sequence[str], *order: str) -> WindowSpec:
    return Window.partitionBy(*keys).orderBy(*(order or ORDER))


def so_far(keys: Sequence[str], *order: str) -> WindowSpec:
    return in_order(keys, *order).rowsBetween(Window.unboundedPreceding, Window.currentRow)


def closed_spells(
    states: DataFrame, keys: Sequence[str], kept: Sequence[str], at_end: Sequence[str]
) -> DataFrame:
    """Stretches of ``is_closed`` per key, with the columns ``kept`` as they were at the start and
    those of ``at_end`` as they are when it ends.

    ``states`` has capture and the columns of ``ORDER``. A spell that nothing ends has null ends.
    """
    window = in_order(keys)
    before = F.lag("is_closed").over(window)
    changes = (
        states.where(F.col("is_closed").isNotNull())
        .withColumn("_before", before)
        .where(F.col("_before").isNull() | (F.col("_before") != F.col("is_closed")))
    )
    return changes.select(
        *keys,
        "is_closed",
        "capture",
        F.col("ts_ns").alias("start_ts_ns"),
        F.col("packet_no").alias("start_packet_no"),
        F.lead("ts_ns").over(window).alias("end_ts_ns"),
        F.lead("packet_no").over(window).alias("end_packet_no"),
        *kept,
        *(F.lead(name).over(window).alias(name) for name in at_end),
    ).where("is_closed").drop("is_closed")  # fmt: skip


def same_key(keys: Sequence[str], mark: str) -> Column:
    """Whether a row's keys are those of another's, whose names end with ``mark``; null is a key."""
    condition = F.col(keys[0]) == F.col(f"{keys[0]}{mark}")
    for name in keys[1:]:
        condition = condition & F.col(name).eqNullSafe(F.col(f"{name}{mark}"))
    return condition


def of_these(rows: DataFrame, others: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows whose key is one of the others'; the first key is never null."""
    wanted = others.select(*(F.col(name).alias(f"{name}_") for name in keys)).distinct()
    return rows.join(wanted, on=same_key(keys, "_"), how="left_semi")


def as_of(
    points: DataFrame,
    at: Column,
    events: DataFrame,
    values: Sequence[str],
    keys: Sequence[str],
    *order: Column,
) -> DataFrame:
    """Each point with the values of the last event of its key before or at it.

    ``events`` has the keys, ``_at``, the values, and what else ``order`` names to break ties
    among events; ``order`` begins with the order of ``_at`` (descending: the first event at or
    after the point). Both are sorted together once, then the last event seen is taken: an ASOF
    join takes ten times as long.
    """
    own = [name for name in points.columns if name not in keys]
    marked = points.select(
        *keys, at.alias("_at"), F.lit(1).alias("_rank"), F.struct(*own).alias("_point")
    )
    window = (
        Window.partitionBy(*keys)
        .orderBy(*order)
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return (
        events.withColumn("_rank", F.lit(0))
        .unionByName(marked, allowMissingColumns=True)
        .select(
            *keys,
            "_point",
            *(F.last(name, ignorenulls=True).over(window).alias(name) for name in values),
        )
        .where(F.col("_point").isNotNull())
        .select(*keys, "_point.*", *values)
    )
