"""Waits: every spell in which a sender was not allowed to send, by cause, needed or not.

One function per cause gives spells with the side that had to wait; `with_need` then tells which
of them held something up. The two causes of silence are in `silence`.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.options import MetricOptions
from spark_etl.metrics.shape import CONNECTION, LINK, SESSION, identities, sending_side
from spark_etl.metrics.spells import closed_spells, so_far, with_resumption
from spark_etl.metrics.timeline import SENDING_FRAMES, awaits_settlement

# Causes that stop the sender by decree: stalls even where nothing is known to wait.
DECREES = ("channel-flow", "connection-blocked", "tcp-window")


def all_waits(tables: dict[str, DataFrame], states: DataFrame, options: MetricOptions) -> DataFrame:
    """One row per spell of any cause but silence, with `is_needed` (null: not known)."""
    credits, progress = tables["credits"], _sends(tables["frames"])
    of_links = _together(link_credit(states), prefetch(tables, LINK))
    of_sessions = _together(
        prefetch(tables, SESSION), session_window(credits), channel_flow(credits)
    )
    of_connections = _together(blocked(credits), tcp_window(credits))
    waits = _together(
        with_resumption(of_links, progress, [*LINK, "stalled_side"]),
        with_resumption(of_sessions, progress, [*SESSION, "stalled_side"]),
        with_resumption(of_connections, progress, [*CONNECTION, "stalled_side"]),
    )
    return with_need(_with_credit_left(_alike(waits), states), tables, options)


def _together(*spells: DataFrame) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), spells)


def _stopped() -> Column:
    """Who must wait when somebody says "stop": the other one."""
    return F.when(F.col("direction") == "c2s", "server").when(F.col("direction") == "s2c", "client")


def _sends(frames: DataFrame) -> DataFrame:
    return frames.where(F.col("name").isin(*SENDING_FRAMES)).select(
        *LINK, "ts_ns", "packet_no", sending_side("direction").alias("stalled_side")
    )


def _alike(waits: DataFrame) -> DataFrame:
    return waits.select(
        *LINK, "cause", "stalled_side", "capture", "start_ts_ns", "start_packet_no", "end_ts_ns",
        "end_packet_no", "resumed_ts_ns", "resumed_packet_no", "resumed_link_id", "limit", "what",
        "is_said",
    )  # fmt: skip


def link_credit(states: DataFrame) -> DataFrame:
    """1.0 §2.6.7: no link credit left. 0-9 consumers have their own cause, prefetch."""
    # Before both attaches are there nobody could send, with credit or without.
    is_established = F.col("ts_ns") >= F.coalesce("established_ts_ns", "ts_ns")
    points = states.where(
        F.col("prefetch_count").isNull() & (F.col("event") != "arrive") & is_established
    )
    points = points.withColumn("is_closed", F.col("credit") <= 0)
    points = points.withColumn("stalled_side", F.col("sender_side"))
    # When the sender last said that it had messages: a stall if that was during the spell.
    said = F.last(F.when(F.col("available") > 0, F.col("ts_ns")), ignorenulls=True)
    order = ("ts_ns", "packet_no", "order_no", "frame_no")
    points = points.withColumn("_said_ns", said.over(so_far(LINK, *order)))
    spells = closed_spells(points, LINK, "stalled_side", at_end=["_said_ns"])
    return (
        spells.withColumn("cause", F.lit("link-credit"))
        .withColumn("is_said", F.col("_said_ns") >= F.col("start_ts_ns"))
        .drop("_said_ns")
    )


def prefetch(tables: dict[str, DataFrame], keys: tuple[str, ...]) -> DataFrame:
    """0-9 basic.qos: as many unacknowledged messages as allowed, per consumer or per channel.

    Opened by the next settlement, or by a new limit.
    """
    is_here = F.col("link_id").isNotNull() if keys == LINK else F.col("link_id").isNull()
    credits = tables["credits"]
    full = credits.where(
        (F.col("event") == "credit-exhausted") & F.col("prefetch_count").isNotNull() & is_here
    ).select(
        *keys, "ts_ns", "packet_no", "capture", F.lit(1).alias("order_no"),
        F.lit(True).alias("is_closed"), F.col("prefetch_count").alias("limit"),
    )  # fmt: skip
    settled = tables["transfers"].where(
        awaits_settlement() & F.col("kind").isin("deliver", "get")
        & F.col("settled_ts_ns").isNotNull()
    ).select(
        *keys, F.col("settled_ts_ns").alias("ts_ns"),
        F.coalesce("settled_packet_no", "last_packet_no").alias("packet_no"), "capture",
        F.lit(0).alias("order_no"), F.lit(False).alias("is_closed"),
        F.lit(None).cast("long").alias("limit"),
    )  # fmt: skip
    spells = closed_spells(full.unionByName(settled), keys, "limit")
    return spells.withColumn("cause", F.lit("prefetch")).withColumn("stalled_side", F.lit("server"))


def session_window(credits: DataFrame) -> DataFrame:
    """1.0 §2.5.6: the receiver's incoming-window is used up, for each direction."""

    def points(window: str, sender: str) -> DataFrame:
        return credits.where(F.col("session_id").isNotNull() & F.col(window).isNotNull()).select(
            *SESSION, F.lit(sender).alias("stalled_side"), "ts_ns", "packet_no", "capture",
            F.col("frame_no").alias("order_no"), (F.col(window) <= 0).alias("is_closed"),
        )  # fmt: skip

    both = points("client_incoming_window", "server").unionByName(
        points("server_incoming_window", "client")
    )
    return closed_spells(both, [*SESSION, "stalled_side"]).withColumn(
        "cause", F.lit("session-window")
    )


def channel_flow(credits: DataFrame) -> DataFrame:
    """0-9-1 channel.flow active=false until active=true."""
    points = credits.where(F.col("event") == "channel-flow").select(
        *SESSION, _stopped().alias("stalled_side"), "ts_ns", "packet_no", "capture",
        F.col("frame_no").alias("order_no"), (~F.col("is_active")).alias("is_closed"),
    )  # fmt: skip
    return closed_spells(points, [*SESSION, "stalled_side"]).withColumn(
        "cause", F.lit("channel-flow")
    )


def blocked(credits: DataFrame) -> DataFrame:
    """RabbitMQ connection.blocked until connection.unblocked."""
    points = credits.where(F.col("event").isin("blocked", "unblocked")).select(
        *CONNECTION, F.lit("client").alias("stalled_side"), "ts_ns", "packet_no", "capture",
        F.col("frame_no").alias("order_no"), (F.col("event") == "blocked").alias("is_closed"),
        F.col("reason").alias("what"),
    )  # fmt: skip
    return closed_spells(points, [*CONNECTION, "stalled_side"], "what").withColumn(
        "cause", F.lit("connection-blocked")
    )


def tcp_window(credits: DataFrame) -> DataFrame:
    """RFC 9293 §3.8.6: a receive window of zero, until it is opened."""
    points = credits.where(F.col("event").isin("tcp-zero-window", "tcp-window-open")).select(
        *CONNECTION, _stopped().alias("stalled_side"), "ts_ns", "packet_no", "capture",
        F.col("packet_no").alias("order_no"),
        (F.col("event") == "tcp-zero-window").alias("is_closed"),
    )  # fmt: skip
    return closed_spells(points, [*CONNECTION, "stalled_side"]).withColumn(
        "cause", F.lit("tcp-window")
    )


def _with_credit_left(waits: DataFrame, states: DataFrame) -> DataFrame:
    """The credit, at the start of the spell, of the link that could not go on.

    For wider causes that is the link that went on first. As-of by union with the states.
    """
    own = F.coalesce("link_id", "resumed_link_id")
    keys = ("connection_id", "_link")
    extra = [c for c in waits.columns if c != "connection_id"]
    points = waits.select(
        "connection_id", own.alias("_link"), F.col("start_ts_ns").alias("_at"),
        F.lit(1).alias("_rank"), F.lit(None).cast("long").alias("_credit"),
        F.struct(*extra).alias("_wait"),
    )  # fmt: skip
    known = states.where(F.col("credit").isNotNull()).select(
        "connection_id", F.col("link_id").alias("_link"), F.col("ts_ns").alias("_at"),
        F.lit(0).alias("_rank"), F.col("credit").alias("_credit"),
        F.lit(None).cast(points.schema["_wait"].dataType).alias("_wait"),
        F.struct("packet_no", "order_no", "frame_no").alias("_tie"),
    )  # fmt: skip
    window = so_far(keys, "_at", "_rank", "_tie")
    return (
        points.unionByName(known, allowMissingColumns=True)
        .withColumn("_left", F.last("_credit", ignorenulls=True).over(window))
        .where(F.col("_rank") == 1)
        .select("connection_id", "_wait.*", "_left")
        .withColumn("credit_left", F.col("_left"))
        .withColumn("link_id", F.coalesce("link_id", "resumed_link_id"))
        .drop("_left", "resumed_link_id")
    )


def with_need(waits: DataFrame, tables: dict[str, DataFrame], options: MetricOptions) -> DataFrame:
    """Whether something waited, how we know, and how long it took.

    A spell that nothing ended is over with its link, if that ended; the capture's end cuts off
    the others. A session window that is used up by a link without credit stalls nobody.
    """
    connections = tables["connections"].select(
        "connection_id",
        F.col("last_ts_ns").alias("_last_ns"),
        F.col("tcp_end").alias("_tcp_end"),
        (
            F.lit(options.reaction_ns) + 2 * F.coalesce("rtt_mean_ns", "handshake_rtt_ns", F.lit(0))
        ).alias("_reaction_ns"),
    )
    ended = identities(tables).select(
        *LINK, F.col("last_ts_ns").alias("_link_end_ns"), F.col("is_open").alias("_link_open")
    )
    joined = waits.join(connections, on="connection_id", how="left").join(
        ended.drop("session_id"), on=["connection_id", "link_id"], how="left"
    )
    is_prompt = F.col("resumed_ts_ns") - F.col("end_ts_ns") <= F.col("_reaction_ns")
    is_cut = (
        F.col("end_ts_ns").isNull()
        & F.coalesce(F.col("_link_open"), F.lit(True))
        & (F.coalesce(F.col("_tcp_end"), F.lit("open")) == "open")
    )
    is_decree = F.col("cause").isin(*DECREES)
    known_by = (
        F.when(is_prompt, "sent-at-once")
        .when(F.col("is_said"), "available")
        .when(is_decree, "stated")
        .when(is_cut, "unknown")
    )
    over = F.coalesce("end_ts_ns", "_link_end_ns", "_last_ns")
    is_no_credit = (F.col("cause") == "session-window") & (F.col("credit_left") <= 0)
    return (
        joined.withColumn("known_by", F.when(~F.coalesce(is_no_credit, F.lit(False)), known_by))
        .withColumn("is_needed", F.col("known_by").isNotNull())
        .withColumn("is_open", is_cut)
        .withColumn("length_ns", F.greatest(over - F.col("start_ts_ns"), F.lit(0)).cast("long"))
        .drop("_last_ns", "_reaction_ns", "_link_end_ns", "_link_open", "_tcp_end", "is_said")
    )
