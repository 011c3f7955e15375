"""Which delivery is of which publish: keys in tiers, from the surest to the weakest.

Every message yields one key per tier; a delivery is matched to the publish with the same key and,
among equals, the same place in the order. All tiers are joined at once, then each delivery keeps
its best match. No key is joined with itself many times over: the place is part of the join.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.tiers import EQUAL_COUNTS, TIERS, UNEQUAL_COUNTS


def with_keys(messages: DataFrame, routes: Column) -> DataFrame:
    """One row per message, tier and route: `tier`, `key`, and the tier's confidence."""
    routed = messages.withColumn("route", F.explode_outer(F.array_distinct(routes)))
    keys = [
        F.when(
            _all_there(tier.columns),
            F.struct(
                F.lit(tier.name).alias("tier"),
                F.lit(tier.confidence).alias("base"),
                F.lit(tier.is_unique_only).alias("is_unique_only"),
                F.concat_ws("\u0001", *(F.col(c).cast("string") for c in tier.columns)).alias(
                    "key"
                ),
            ),
        )
        for tier in TIERS
    ]
    kept = messages.columns
    found = F.filter(F.array(*keys), lambda k: k.isNotNull())
    exploded = routed.select(*kept, F.explode(found).alias("_key")).select(*kept, "_key.*")
    # A tier without the route gives the same key for every route of the message.
    return exploded.dropDuplicates(["connection_id", "transfer_id", "tier", "key"])


def _all_there(columns: tuple[str, ...]) -> Column:
    condition = F.col(columns[0]).isNotNull()
    for name in columns[1:]:
        condition = condition & F.col(name).isNotNull()
    return condition


def best_matches(published: DataFrame, delivered: DataFrame) -> DataFrame:
    """(publish, delivery) pairs: every delivery with the publish that it most likely is of.

    Both sides went through ``with_keys``. Columns of the result: ``p`` and ``d`` (the messages as
    structs), matched_by, confidence.
    """
    order = ("first_ts_ns", "first_packet_no", "transfer_id")
    in_key = Window.partitionBy("tier", "key")
    p_columns = [c for c in published.columns if c not in ("tier", "key", "base", "is_unique_only")]
    p = published.select(
        "tier", "key", "base", "is_unique_only",
        F.row_number().over(in_key.orderBy(*order)).alias("place"),
        F.struct(*p_columns).alias("p"),
    )  # fmt: skip
    counts = published.groupBy("tier", "key").agg(F.count(F.lit(1)).alias("publish_count"))
    d_columns = [c for c in delivered.columns if c not in ("tier", "key", "base", "is_unique_only")]
    again = F.coalesce(F.col("is_redelivered"), F.lit(False))
    here = Window.partitionBy("tier", "key", "destination", again)
    d = (
        delivered.join(counts, on=["tier", "key"], how="inner")
        .withColumn("_nth", F.row_number().over(here.orderBy(*order)))
        .withColumn(
            "_first_count",
            F.sum((~again).cast("long")).over(Window.partitionBy("tier", "key", "destination")),
        )
        .withColumn(
            "place",
            F.when(F.col("publish_count") == 1, 1)
            .when(again, F.least("_nth", "publish_count"))
            .otherwise(F.col("_nth")),
        )
        .select(
            "tier", "key", "place", "publish_count", "_first_count",
            F.struct(*d_columns).alias("d"),
        )
    )  # fmt: skip
    share = (
        F.when(F.col("publish_count") == 1, 1.0)
        .when(F.col("publish_count") == F.col("_first_count"), EQUAL_COUNTS)
        .otherwise(UNEQUAL_COUNTS)
    )
    both_named = F.col("p.message_id").isNotNull() & F.col("d.message_id").isNotNull()
    pairs = (
        p.join(d, on=["tier", "key", "place"], how="inner")
        # A message is not delivered before it is published, and keeps its id.
        .where(F.col("d.last_ts_ns") >= F.col("p.first_ts_ns"))
        .where(~(both_named & (F.col("p.message_id") != F.col("d.message_id"))))
        .where(~F.col("is_unique_only") | (F.col("publish_count") == 1))
        .withColumn("confidence", F.col("base") * share)
    )
    best = Window.partitionBy("d.connection_id", "d.transfer_id").orderBy(
        F.col("confidence").desc(), F.col("p.first_ts_ns").desc()
    )
    return (
        pairs.withColumn("_best", F.row_number().over(best))
        .where(F.col("_best") == 1)
        .select("p", "d", F.col("tier").alias("matched_by"), "confidence")
    )
