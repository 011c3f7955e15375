"""The state of every link over time: credit left, messages unsettled, after each change.

Credit is what was last stated less what was sent since (1.0 §2.6.7). A 0-9 consumer's credit is
its prefetch less what it has not acknowledged: deliveries use it, settlements give it back.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.definitions import CREDIT_TIMELINE
from spark_etl.metrics.shape import LINK, conform, is_09, links_of
from spark_etl.metrics.spells import ORDER, so_far

# Frames that send a message, or a part of it; the last part uses the credit.
SENDING_FRAMES = (
    "transfer",
    "basic.publish",
    "basic.deliver",
    "basic.get-ok",
    "basic.return",
    "message.transfer",
)
# Order of events within one packet: settlements, arrivals, then frames in their own order.
_SETTLED, _ARRIVED, _FRAME = 0, 1, 2


def awaits_settlement() -> Column:
    """Whether somebody will settle this transfer; a 0-9 publish only if confirms are on."""
    is_tracked = F.col("delivery_id").isNotNull() | F.col("settled_ts_ns").isNotNull()
    return (
        ~F.col("is_presettled")
        & ~F.col("is_aborted")
        & (F.col("kind") != "return")
        & ((F.col("kind") != "publish") | is_tracked)
    )


def unsettled_changes(transfers: DataFrame) -> DataFrame:
    """+1 when the first frame of a message that awaits settlement was sent, -1 when it was
    settled."""

    def change(ts: Column, packet_no: Column, order_no: int, by: int) -> Column:
        return F.struct(
            ts.alias("ts_ns"),
            packet_no.alias("packet_no"),
            F.lit(order_no).alias("order_no"),
            F.col("transfer_id").alias("part_no"),
            F.lit(by).alias("unsettled_change"),
        )

    settling = F.coalesce("settled_packet_no", "last_packet_no")
    changes = F.array(
        change(F.col("first_ts_ns"), F.col("first_packet_no"), _ARRIVED, 1),
        change(F.col("settled_ts_ns"), settling, _SETTLED, -1),
    )
    return (
        transfers.where(awaits_settlement())
        .select(*LINK, "capture", F.inline(changes))
        .where(F.col("ts_ns").isNotNull())
    )


def sends(frames: DataFrame) -> DataFrame:
    """Frames that end a message: 1.0 §2.7.5, the last transfer, or the one that aborts it."""
    is_aborted = F.col("fields").isNotNull() & F.col("fields").contains('"aborted":true')
    is_last = ~F.coalesce(F.col("is_more"), F.lit(False)) | is_aborted
    return frames.where(
        F.col("name").isin(*SENDING_FRAMES) & is_last & F.col("link_id").isNotNull()
    ).select(
        *LINK,
        "ts_ns",
        "capture",
        "packet_no",
        F.lit(_FRAME).alias("order_no"),
        "frame_no",
        F.lit(0).alias("part_no"),
        F.lit("send").alias("event"),
        F.lit(-1).cast("long").alias("change"),
    )


def stated(credits: DataFrame) -> DataFrame:
    """Rows of credits that say what a link's sender has left."""
    granted = F.coalesce("granted", F.lit(0))
    is_asking = F.col("is_drain") & (granted >= 0)
    event = (
        F.when(F.col("event") == "credit-exhausted", "exhausted")
        .when(F.col("event") == "attach", "attach")
        .when(is_asking, "drain")
        .when(granted > 0, "grant")
        .when((granted < 0) & F.col("is_drain"), "drained")
        .when(granted < 0, "take-back")
        .otherwise("stated")
    )
    return credits.where(F.col("link_id").isNotNull() & F.col("sender_credit").isNotNull()).select(
        *LINK,
        "ts_ns",
        "capture",
        "packet_no",
        F.lit(_FRAME).alias("order_no"),
        "frame_no",
        # Said after what the frame has sent. The draft's attach may hold a flow: that comes later.
        F.when(F.col("event") == "attach", 1).otherwise(2).alias("part_no"),
        event.alias("event"),
        F.col("granted").alias("change"),
        F.col("sender_credit").alias("_set"),
        "available",
    )


def limits(links: DataFrame) -> DataFrame:
    """A 0-9 consumer begins with as much credit as its prefetch; 0 means no limit."""
    return links.where(
        is_09()
        & (F.col("kind") == "consumer")
        & (F.col("prefetch_count") > 0)
        & ~F.coalesce(F.col("is_no_ack"), F.lit(False))
        & F.col("begin_ts_ns").isNotNull()
    ).select(
        *LINK,
        F.col("begin_ts_ns").alias("ts_ns"),
        F.lit("").alias("capture"),
        F.lit(0).cast("long").alias("packet_no"),
        F.lit(_SETTLED).alias("order_no"),
        F.lit("prefetch").alias("event"),
        F.col("prefetch_count").alias("change"),
        F.col("prefetch_count").alias("_set"),
    )


def link_states(tables: dict[str, DataFrame], places: DataFrame) -> DataFrame:
    """Every change on every link with the state after it; the internal form of the timeline."""
    links = links_of(places)
    is_settling = F.col("unsettled_change") < 0
    changes = unsettled_changes(tables["transfers"].where(F.col("link_id").isNotNull())).select(
        "*",
        F.when(is_settling, "settle").otherwise("arrive").alias("event"),
        F.when(is_settling, F.lit(1).cast("long")).alias("change"),
    )
    events = (
        stated(tables["credits"])
        .unionByName(sends(tables["frames"]), allowMissingColumns=True)
        .unionByName(limits(links), allowMissingColumns=True)
        .unionByName(changes, allowMissingColumns=True)
    )
    known = links.select(
        *LINK,
        F.when(F.col("kind") == "consumer", F.col("prefetch_count")).alias("prefetch_count"),
        is_09().alias("_is_09"),
        "sender_side",
        "established_ts_ns",
        "last_ts_ns",
    )
    return _with_state(events.join(known, on=list(LINK), how="inner"))


def _with_state(events: DataFrame) -> DataFrame:
    """Running credit and unsettled count. An arrival is no row of the timeline: its send is."""
    # Only 0-9 gives credit back by settling; in 1.0 a flow does.
    used = (
        F.when(F.col("event") == "send", 1)
        .when((F.col("event") == "settle") & F.col("_is_09"), -1)
        .otherwise(0)
    )
    window = so_far(LINK)
    counted = events.select(
        "*",
        F.sum(used).over(window).alias("_used"),
        F.sum(F.coalesce("unsettled_change", F.lit(0))).over(window).alias("unsettled"),
    )
    base = F.last(F.col("_set") + F.col("_used"), ignorenulls=True).over(window)
    return counted.select(
        *LINK, *ORDER, "capture", "event",
        F.when((F.col("event") != "settle") | F.col("_is_09"), F.col("change")).alias("change"),
        (base - F.col("_used")).alias("credit"),
        "unsettled", "available", "prefetch_count", "sender_side", "established_ts_ns",
        "last_ts_ns",
    )  # fmt: skip


def credit_timeline(states: DataFrame) -> DataFrame:
    return conform(states.where(F.col("event") != "arrive"), CREDIT_TIMELINE.table)
