"""Flow control per link: credit granted and used, time with and without it, and what closed it."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.definitions import FLOW_CONTROL
from spark_etl.metrics.options import DIMENSIONS, MetricOptions
from spark_etl.metrics.shape import LINK, conform, links_of, with_dimensions
from spark_etl.metrics.spells import ORDER, in_order
from spark_etl.metrics.waits import DRAIN

# A link has one session, which its place knows.
_KEYS = ("connection_id", "link_id")
# Causes that close a whole session or connection, and the column that their time goes to.
_WIDE = {
    "tcp-window": "tcp_window_ns",
    "channel-flow": "flow_stopped_ns",
    "connection-blocked": "blocked_ns",
}
# How columns of links are put together when a grouping joins several.
_SUMS = (
    "duration_ns", "granted", "taken_back", "drained", "used", "outstanding", "no_credit_ns",
    "starved_ns", "starved_count", "unused_credit_ns", "top_up_count", "saturated_ns",
    "saturated_count", "drain_count", "drain_answered_count", "_drain_ns", "_active_ns",
    "session_window_ns", *_WIDE.values(),
)  # fmt: skip
_MAXIMA = ("max_credit", "max_unsettled", "top_up_max", "prefetch_count", "drain_max_ns")
_NEVER_NULL = (
    "used", "starved_ns", "starved_count", "saturated_ns", "saturated_count", "drain_count",
    "drain_answered_count", "session_window_ns", "max_unsettled", *_WIDE.values(),
)  # fmt: skip


def flow_control(
    places: DataFrame, states: DataFrame, spells: DataFrame, waits: DataFrame,
    options: MetricOptions,
) -> DataFrame:  # fmt: skip
    """Each part has a row per link at most, so that one sum over all parts adds up nothing twice
    and joins nothing."""
    links = links_of(places)
    took = F.coalesce(F.col("last_ts_ns") - F.col("begin_ts_ns"), F.lit(0))
    parts = (
        links.select(
            *_KEYS, "sender_side", F.greatest(took, F.lit(0)).alias("duration_ns"),
            _limit().alias("prefetch_count"), F.lit(1).alias("link_count"),
        ),
        _credit(states), _narrow(waits, options), _wide(waits, links), _drains(spells),
    )  # fmt: skip
    facts = reduce(lambda one, more: one.unionByName(more, allowMissingColumns=True), parts)
    return conform(_folded(with_dimensions(facts, places, options)), FLOW_CONTROL.table)


def _limit() -> Column:
    """0-9-1 basic.qos: zero means no limit."""
    return F.when(
        (F.col("kind") == "consumer") & (F.col("prefetch_count") > 0), F.col("prefetch_count")
    )


def _credit(states: DataFrame) -> DataFrame:
    """What the timeline of a link adds up to."""
    until = F.coalesce(F.lead("ts_ns").over(in_order(LINK)), "last_ts_ns")
    rows = states.withColumn("_for_ns", F.greatest(until - F.col("ts_ns"), F.lit(0)))
    is_raise = F.col("event").isin("grant", "drain") & (F.col("change") > 0)
    raised = F.when(is_raise, F.col("change"))

    def total(condition: Column, value: str) -> Column:
        return F.sum(F.when(condition, F.col(value)))

    return rows.groupBy(*_KEYS).agg(
        F.sum(raised).alias("granted"),
        (-total(F.col("event") == "take-back", "change")).alias("taken_back"),
        (-total(F.col("event") == "drained", "change")).alias("drained"),
        F.sum((F.col("event") == "send").cast("long")).alias("used"),
        F.max_by("credit", F.struct(*ORDER)).alias("outstanding"),
        F.max("credit").alias("max_credit"),
        F.max("unsettled").alias("max_unsettled"),
        total(F.col("credit") <= 0, "_for_ns").alias("no_credit_ns"),
        total(F.col("credit") > 0, "_for_ns").alias("unused_credit_ns"),
        F.when(F.count(raised) > 0, F.count(raised)).alias("top_up_count"),
        F.min(raised).alias("top_up_min"),
        F.max(raised).alias("top_up_max"),
        (F.max("ts_ns") - F.min(F.when(F.col("event") == "send", F.col("ts_ns")))).alias(
            "_active_ns"
        ),
    )


def _narrow(waits: DataFrame, options: MetricOptions) -> DataFrame:
    """Time that a link itself was held up."""
    is_needed = F.col("is_needed") & (F.col("known_by") != "unknown")
    is_starved = F.col("cause").isin("link-credit", "prefetch") & is_needed
    is_long = F.col("length_ns") >= options.min_stall_ns
    is_full = F.col("cause") == "prefetch"
    is_window = (F.col("cause") == "session-window") & is_needed
    return (
        waits.where(F.col("link_id").isNotNull())
        .groupBy(*_KEYS)
        .agg(
            F.sum(F.when(is_starved, F.col("length_ns"))).alias("starved_ns"),
            F.sum((is_starved & is_long).cast("long")).alias("starved_count"),
            F.sum(F.when(is_full, F.col("length_ns"))).alias("saturated_ns"),
            F.sum(is_full.cast("long")).alias("saturated_count"),
            F.sum(F.when(is_window, F.col("length_ns"))).alias("session_window_ns"),
        )
    )


def _wide(waits: DataFrame, links: DataFrame) -> DataFrame:
    """Time that a link's session or connection was held up while the link was there."""
    spells = waits.where(F.col("cause").isin(*_WIDE)).select(
        F.col("connection_id").alias("_c"),
        F.col("session_id").alias("_s"),
        F.col("stalled_side").alias("_side"),
        "cause",
        F.col("start_ts_ns").alias("_from"),
        (F.col("start_ts_ns") + F.col("length_ns")).alias("_to"),
    )
    is_concerned = (
        (F.col("connection_id") == F.col("_c"))
        & (F.col("sender_side") == F.col("_side"))
        & (F.col("_s").isNull() | (F.col("_s") == F.col("session_id")))
    )
    overlap = F.least("_to", "last_ts_ns") - F.greatest("_from", F.coalesce("begin_ts_ns", "_from"))
    shared = links.join(spells, on=is_concerned, how="inner").withColumn("_ns", overlap)
    return (
        shared.where(F.col("_ns") > 0)
        .groupBy(*_KEYS)
        .agg(
            *(
                F.sum(F.when(F.col("cause") == cause, F.col("_ns"))).alias(column)
                for cause, column in _WIDE.items()
            )
        )
    )


def _drains(spells: DataFrame) -> DataFrame:
    """1.0 §2.6.7: from a drain with credit left until the credit is used up or given up."""
    took = F.col("end_ts_ns") - F.col("start_ts_ns")
    return (
        spells.where(F.col("cause") == DRAIN)
        .groupBy(*_KEYS)
        .agg(
            F.count(F.lit(1)).alias("drain_count"),
            F.count("end_ts_ns").alias("drain_answered_count"),
            F.sum(took).alias("_drain_ns"),
            F.max(took).alias("drain_max_ns"),
        )
    )


def _folded(facts: DataFrame) -> DataFrame:
    sides = F.collect_set("sender_side")
    seconds = F.col("duration_ns") / 1e9
    return (
        facts.groupBy(*DIMENSIONS)
        .agg(
            F.sum("link_count").alias("link_count"),
            F.when(F.size(sides) == 1, sides[0]).alias("sender_side"),
            *(F.sum(c).alias(c) for c in _SUMS),
            *(F.max(c).alias(c) for c in _MAXIMA),
            F.min("top_up_min").alias("top_up_min"),
        )
        .where(F.col("link_count") > 0)
        .fillna(0, subset=list(_NEVER_NULL))
        .withColumn("top_up_mean", _ratio("granted", F.col("top_up_count")))
        .withColumn("top_up_rate", _ratio("top_up_count", seconds))
        .withColumn(
            "saturated_share",
            F.when(
                F.col("prefetch_count").isNotNull(),
                F.least(_ratio("saturated_ns", F.col("_active_ns")), F.lit(1.0)),
            ),
        )
        .withColumn("drain_mean_ns", F.round(_ratio("_drain_ns", F.col("drain_answered_count"))))
    )


def _ratio(above: str, below: Column) -> Column:
    return F.when(below > 0, F.col(above) / below)
