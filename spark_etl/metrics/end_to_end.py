"""End to end: each message from its publisher's connection to its consumer's, across dialects."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.definitions import END_TO_END
from spark_etl.metrics.matching import best_matches, with_keys
from spark_etl.metrics.shape import conform, host, with_place
from spark_etl.metrics.tiers import TIERS

# What brokers put before a queue's or topic's name in a 1.0 address (RabbitMQ 3 and 4, ActiveMQ);
# of an exchange's address the routing key is left.
_ADDRESS_PREFIX = (
    r"^(?:queue://|topic://|/amq/queue/|/queues?/|/topic/|/exchanges?/[^/]+/|/exchanges?/)"
)
_LOOPBACK = r"^(127\.|\[?::1)"
# Outcomes after which the broker does not have the message (1.0 §3.4; 0-9 nack, return).
_REFUSED = ("rejected", "released")
_COLUMNS = (
    "connection_id", "link_id", "transfer_id", "dialect", "client", "address", "queue",
    "routing_key", "to", "destination", "message_id", "body_hash", "body_bytes", "first_ts_ns",
    "last_ts_ns", "first_packet_no", "settled_ts_ns", "outcome", "is_redelivered", "is_publish",
)  # fmt: skip
# What a leg tells of its publish and of its delivery.
_OF_LEG = (
    "connection_id", "link_id", "transfer_id", "dialect", "client", "address", "message_id",
    "body_hash", "body_bytes", "first_ts_ns", "last_ts_ns", "first_packet_no", "settled_ts_ns",
    "outcome",
)  # fmt: skip


def end_to_end(tables: dict[str, DataFrame], places: DataFrame) -> DataFrame:
    messages = _messages(tables, places)
    # A delivery is known by its queue as well: what it was published to may be an exchange.
    queue = F.when(~F.col("is_publish"), F.col("queue"))
    pairs = best_matches(with_keys(messages, (_route(), queue)))
    return conform(_with_hops(_by_destination(pairs, messages)), END_TO_END.table)


def _messages(tables: dict[str, DataFrame], places: DataFrame) -> DataFrame:
    """Messages that the broker took (not refused, not returned, not rolled back), and messages
    that it delivered; transactions' own (1.0 §4.2 coordinator links) are neither."""
    returned = (
        tables["transfers"]
        .where(F.col("relation") == "return-of")
        .select("connection_id", F.col("related_transfer_id").alias("transfer_id"))
    )
    is_taken = ~F.coalesce(F.col("outcome").isin(*_REFUSED), F.lit(False)) & (
        F.coalesce("transaction_outcome", F.lit("committed")) == "committed"
    )
    is_sent = (F.col("direction") == "c2s") & F.col("kind").isin("publish", "transfer") & is_taken
    is_delivered = (F.col("direction") == "s2c") & F.col("kind").isin("deliver", "get", "transfer")
    messages = tables["transfers"].where(~F.col("is_aborted") & (is_sent | is_delivered))
    named = with_place(messages, places, "dialect", "client", F.col("kind").alias("_link_kind"))
    return (
        named.where(F.coalesce(F.col("_link_kind"), F.lit("")) != "coordinator")
        .withColumn("destination", F.coalesce("queue", _node("address")))
        .withColumn("is_publish", F.col("direction") == "c2s")
        .join(returned, on=["connection_id", "transfer_id"], how="left_anti")
        .select(*_COLUMNS)
    )


def _node(address: str | Column) -> Column:
    return F.regexp_replace(address, _ADDRESS_PREFIX, "")


def _route() -> Column:
    """0-9: the routing key; 1.0: the node's name, of the message itself on an anonymous link."""
    return F.coalesce("routing_key", _node(F.coalesce("address", "to")))


def _by_destination(pairs: DataFrame, messages: DataFrame) -> DataFrame:
    """One row per publish and destination: the first delivery, how many, and how it ended."""
    publish = ("publish_connection_id", "publish_transfer_id")
    whole = F.struct(*_OF_LEG)
    delivered = messages.where(~F.col("is_publish")).select(
        "connection_id", "transfer_id", "destination", whole.alias("d")
    )
    published = messages.where("is_publish").select(
        F.col("connection_id").alias(publish[0]), F.col("transfer_id").alias(publish[1]),
        whole.alias("p"),
    )  # fmt: skip
    by_time = F.struct("d.first_ts_ns", "d.first_packet_no", "d.transfer_id")
    groups = (
        pairs.join(delivered, on=["connection_id", "transfer_id"], how="inner")
        .join(published, on=list(publish), how="inner")
        .groupBy(*publish, "destination")
        .agg(
            F.first("p").alias("p"),
            F.min_by(F.struct("d", "tier", "confidence"), by_time).alias("m"),
            F.max_by(F.struct("d.settled_ts_ns", "d.outcome"), by_time).alias("last"),
            F.count(F.lit(1)).alias("delivery_count"),
        )
        .select("p", "m.*", "last", "delivery_count")
    )
    tiers = F.array(*(F.lit(tier.name) for tier in TIERS))
    both = ("connection_id", "link_id", "transfer_id", "dialect", "address")
    return groups.select(
        *(F.col(f"p.{c}").alias(f"publish_{c}") for c in both),
        *(F.col(f"d.{c}").alias(f"deliver_{c}") for c in both),
        F.col("p.first_packet_no").alias("publish_packet_no"),
        F.col("d.first_packet_no").alias("deliver_packet_no"),
        host("p.client").alias("_from"),
        host("d.client").alias("_to"),
        F.coalesce("p.message_id", "d.message_id").alias("message_id"),
        F.col("p.body_hash").alias("body_hash"),
        F.col("p.body_bytes").alias("body_bytes"),
        tiers[F.col("tier")].alias("matched_by"),
        "confidence",
        F.col("p.first_ts_ns").alias("published_ts_ns"),
        F.col("p.settled_ts_ns").alias("accepted_ts_ns"),
        F.col("d.last_ts_ns").alias("delivered_ts_ns"),
        F.col("last.settled_ts_ns").alias("settled_ts_ns"),
        F.col("last.outcome").alias("outcome"),
        F.greatest(F.col("d.first_ts_ns") - F.col("p.last_ts_ns"), F.lit(0)).alias("residence_ns"),
        (F.col("d.last_ts_ns") - F.col("p.first_ts_ns")).alias("total_ns"),
        "delivery_count",
        (F.col("delivery_count") - 1).alias("redelivery_count"),
    )


def _with_hops(legs: DataFrame) -> DataFrame:
    """A leg goes on from the one before if its publisher is where the same message was delivered:
    on that connection, or on that host (which on loopback says nothing)."""
    same = Window.partitionBy("message_id", "body_hash").orderBy(
        "published_ts_ns", "delivered_ts_ns", "publish_transfer_id"
    )
    before = F.lag(F.struct("deliver_connection_id", "_to", "delivered_ts_ns")).over(same)
    is_same_host = (F.col("_before._to") == F.col("_from")) & ~F.col("_from").rlike(_LOOPBACK)
    is_next = (
        F.col("body_hash").isNotNull()
        & (F.col("_before.delivered_ts_ns") <= F.col("published_ts_ns"))
        & (
            (F.col("_before.deliver_connection_id") == F.col("publish_connection_id"))
            | is_same_host
        )
    )
    chained = legs.withColumn("_before", before).withColumn(
        "_is_next", F.coalesce(is_next, F.lit(False))
    )
    chain = F.sum((~F.col("_is_next")).cast("long")).over(
        same.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    in_chain = Window.partitionBy("message_id", "body_hash", "_chain").orderBy(
        "published_ts_ns", "delivered_ts_ns", "publish_transfer_id"
    )
    return chained.withColumn("_chain", chain).withColumn("hop_no", F.row_number().over(in_chain))
