"""Which delivery is of which publish: keys in tiers, from the surest to the weakest.

Every message yields one key per tier; a delivery is matched to the publish with the same key and,
among equals, the same place in the order. All tiers are gone through at once, then each delivery
keeps its best match. Publishes and deliveries lie in one table that is brought together by key
once: no key is joined with itself, however often it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.tiers import EQUAL_COUNTS, ROUTE, TIERS, UNEQUAL_COUNTS

# What is carried along of a message: enough to tell it, to order it, and to refuse a wrong match.
_OF_PUBLISH = ("first_ts_ns", "connection_id", "transfer_id", "message_id")
_ORDER = ("first_ts_ns", "first_packet_no", "transfer_id")


def with_keys(messages: DataFrame, routes: Sequence[Column]) -> DataFrame:
    """One row per message, tier and key: `tier` is a place in TIERS."""
    keys = [
        _key(number, tier.columns, route)
        for number, tier in enumerate(TIERS)
        for route in (routes if ROUTE in tier.columns else routes[:1])
    ]
    return messages.select(
        "connection_id", "transfer_id", "first_ts_ns", "last_ts_ns", "first_packet_no",
        "message_id", "destination", "is_redelivered", "is_publish",
        F.inline(F.array_distinct(F.array(*keys))),
    ).where(F.col("key").isNotNull())  # fmt: skip


def _key(tier: int, columns: tuple[str, ...], route: Column) -> Column:
    """Null where something is missing."""
    parts = [route if name == ROUTE else F.col(name) for name in columns]
    text = F.concat_ws("\u0001", *(part.cast("string") for part in parts))
    is_whole = reduce(and_, (part.isNotNull() for part in parts))
    return F.struct(F.lit(tier).alias("tier"), F.when(is_whole, text).alias("key"))


def best_matches(keyed: DataFrame) -> DataFrame:
    """Every delivery with the publish that it most likely is of.

    ``keyed`` went through ``with_keys``, publishes and deliveries (``is_publish`` or not). Columns
    of the result: connection_id and transfer_id of the delivery, publish_connection_id and
    publish_transfer_id, tier, confidence.
    """
    is_publish = F.col("is_publish")
    again = F.coalesce(F.col("is_redelivered"), F.lit(False)) & ~is_publish
    rows = keyed.select(
        "*", again.alias("_again"), F.when(~is_publish, F.col("destination")).alias("_to")
    )
    in_key = ("tier", "key")
    here = Window.partitionBy(*in_key, "is_publish", "_to")
    counted = rows.select(
        "*",
        F.row_number()
        .over(Window.partitionBy(*in_key, "is_publish", "_to", "_again").orderBy(*_ORDER))
        .alias("_nth"),
        F.sum((~F.col("_again")).cast("long")).over(here).alias("_first_count"),
        F.sum(is_publish.cast("long")).over(Window.partitionBy(*in_key)).alias("_publish_count"),
    ).where(F.col("_publish_count") > 0)  # fmt: skip
    place = (
        F.when(is_publish, F.col("_nth"))
        .when(F.col("_publish_count") == 1, 1)
        .when(F.col("_again"), F.least("_nth", "_publish_count"))
        .otherwise(F.col("_nth"))
    )
    placed = counted.withColumn("_place", place)
    publish = F.max(F.when(is_publish, F.struct(*_OF_PUBLISH)))
    pairs = placed.withColumn(
        "_p", publish.over(Window.partitionBy(*in_key, "_place"))
    ).where(~is_publish & F.col("_p").isNotNull())  # fmt: skip
    return _best(pairs)


def _best(pairs: DataFrame) -> DataFrame:
    """Of all tiers of a delivery the surest; of equals, that of the latest publish."""
    bases = F.array(*(F.lit(tier.confidence) for tier in TIERS))
    weak = [number for number, tier in enumerate(TIERS) if tier.is_unique_only]
    is_only = F.col("_publish_count") == 1
    share = (
        F.when(is_only, 1.0)
        .when(F.col("_publish_count") == F.col("_first_count"), EQUAL_COUNTS)
        .otherwise(UNEQUAL_COUNTS)
    )
    both_named = F.col("message_id").isNotNull() & F.col("_p.message_id").isNotNull()
    match = F.struct(
        (bases[F.col("tier")] * share).alias("confidence"),
        F.col("_p.first_ts_ns").alias("published_ts_ns"),
        (-F.col("tier")).alias("_surest"),
        F.col("_p.connection_id").alias("publish_connection_id"),
        F.col("_p.transfer_id").alias("publish_transfer_id"),
    )
    return (
        # A message is not delivered before it is published, and keeps its id.
        pairs.where(F.col("last_ts_ns") >= F.col("_p.first_ts_ns"))
        .where(~(both_named & (F.col("message_id") != F.col("_p.message_id"))))
        .where(~F.col("tier").isin(*weak) | is_only)
        .groupBy("connection_id", "transfer_id")
        .agg(F.max(match).alias("_m"))
        .select(
            "connection_id", "transfer_id", "_m.publish_connection_id", "_m.publish_transfer_id",
            (-F.col("_m._surest")).alias("tier"), "_m.confidence",
        )
    )  # fmt: skip
