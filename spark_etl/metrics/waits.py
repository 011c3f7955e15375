"""Waits: every spell in which a sender was not allowed to send, by cause, needed or not.

The points at which each way is closed and opened again become spells, all causes at once;
`all_waits` then finds what went on afterwards and tells which of them held something up. The two
causes of silence are in `silence`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.options import MetricOptions
from spark_etl.metrics.shape import LINK, sending_side, with_place
from spark_etl.metrics.spells import ORDER, as_of, closed_spells, of_these, so_far
from spark_etl.metrics.timeline import SENDING_FRAMES, awaits_settlement

# Causes that stop the sender by decree: stalls even where nothing is known to wait.
DECREES = ("channel-flow", "connection-blocked", "tcp-window")
# 1.0 §2.6.7: no wait, but a spell like the others: from a drain with credit left until the credit
# is used up or given up.
DRAIN = "drain"
# What a spell concerns: a link, a session (link null) or a connection (both null).
SCOPE = (*LINK, "stalled_side")
_KEYS = ("cause", *SCOPE)
_COLUMNS = (
    *LINK, "cause", "stalled_side", "capture", "start_ts_ns", "start_packet_no", "end_ts_ns",
    "end_packet_no", "resumed_ts_ns", "resumed_packet_no", "credit_left", "limit", "what",
)  # fmt: skip


def all_spells(tables: dict[str, DataFrame], states: DataFrame) -> DataFrame:
    """Every spell of every cause, and drains: who could not go on, from when to when."""
    stated = _stated(tables["credits"])
    points = (
        _of_states(states)
        .unionByName(stated, allowMissingColumns=True)
        .unionByName(_settled(tables["transfers"], stated), allowMissingColumns=True)
    )
    # When the sender last said that it had messages: a stall if that was during the spell.
    said = F.last(F.when(F.col("available") > 0, F.col("ts_ns")), ignorenulls=True)
    points = points.withColumn("said_ns", said.over(so_far(_KEYS)))
    return closed_spells(points, _KEYS, kept=("limit", "what"), at_end=("said_ns",))


def _of_states(states: DataFrame) -> DataFrame:
    """Link credit (1.0 §2.6.7; 0-9 consumers have their own cause, prefetch), and drains."""
    # Before both attaches are there nobody could send, with credit or without.
    is_established = F.col("ts_ns") >= F.coalesce("established_ts_ns", "ts_ns")
    is_counted = F.col("prefetch_count").isNull() & (F.col("event") != "arrive") & is_established
    is_ask = (F.col("event") == "drain") & (F.col("credit") > 0)
    is_draining = F.when(is_ask, F.lit(True)).when(F.col("credit") <= 0, F.lit(False))
    points = F.array(
        _point("link-credit", F.when(is_counted, F.col("credit") <= 0), is_counted),
        _point(DRAIN, is_draining, is_draining.isNotNull()),
    )
    return states.select(
        *LINK, F.col("sender_side").alias("stalled_side"), *ORDER, "capture", "available",
        F.inline(points),
    ).where("is_point").drop("is_point")  # fmt: skip


def _point(cause: str, is_closed: Column, is_point: Column) -> Column:
    return F.struct(
        F.lit(cause).alias("cause"), is_closed.alias("is_closed"), is_point.alias("is_point")
    )


def _stated(credits: DataFrame) -> DataFrame:
    """What closes and opens the way in so many words."""
    event = F.col("event")
    of_session, of_link = F.col("session_id"), F.col("link_id")
    no_id, no_text = F.lit(None).cast("long"), F.lit(None).cast("string")
    # Who must wait when somebody says "stop": the other one.
    stopped = F.when(F.col("direction") == "c2s", "server").when(
        F.col("direction") == "s2c", "client"
    )

    def point(
        cause: str,
        when: Column,
        is_closed: Column,
        side: Column,
        session: Column,
        link: Column = no_id,
        limit: Column = no_id,
        what: Column = no_text,
    ) -> Column:
        return F.struct(
            F.lit(cause).alias("cause"), when.alias("is_point"), is_closed.alias("is_closed"),
            side.alias("stalled_side"), session.alias("session_id"), link.alias("link_id"),
            limit.alias("limit"), what.alias("what"),
        )  # fmt: skip

    def window(name: str, sender: str) -> Column:
        is_point = of_session.isNotNull() & F.col(name).isNotNull()
        return point("session-window", is_point, F.col(name) <= 0, F.lit(sender), of_session)

    points = F.array(
        # 1.0 §2.5.6: the receiver's incoming-window is used up, for each direction
        window("client_incoming_window", "server"),
        window("server_incoming_window", "client"),
        # 0-9-1 channel.flow active=false until active=true
        point("channel-flow", event == "channel-flow", ~F.col("is_active"), stopped, of_session),
        # RabbitMQ connection.blocked until connection.unblocked
        point("connection-blocked", event.isin("blocked", "unblocked"), event == "blocked",
              F.lit("client"), no_id, what=F.col("reason")),
        # RFC 9293 §3.8.6: a receive window of zero, until it is opened
        point("tcp-window", event.isin("tcp-zero-window", "tcp-window-open"),
              event == "tcp-zero-window", stopped, no_id),
        # 0-9 basic.qos: as many unacknowledged messages as allowed, of a consumer or a channel
        point("prefetch", (event == "credit-exhausted") & F.col("prefetch_count").isNotNull(),
              F.lit(True), F.lit("server"), of_session, of_link, F.col("prefetch_count")),
    )  # fmt: skip
    return credits.select(
        "connection_id", "ts_ns", "packet_no", F.lit(1).alias("order_no"), "frame_no", "capture",
        F.inline(points),
    ).where("is_point").drop("is_point")  # fmt: skip


def _settled(transfers: DataFrame, stated: DataFrame) -> DataFrame:
    """What opens a full prefetch, of the consumer or of its whole channel: the next settlement."""
    scopes = F.array(F.col("link_id"), F.lit(None).cast("long"))
    settled = transfers.where(
        awaits_settlement() & F.col("kind").isin("deliver", "get")
        & F.col("settled_ts_ns").isNotNull()
    ).select(
        "connection_id", "session_id", F.explode(scopes).alias("link_id"),
        F.col("settled_ts_ns").alias("ts_ns"),
        F.coalesce("settled_packet_no", "last_packet_no").alias("packet_no"),
        F.lit(0).alias("order_no"), "capture", F.lit("prefetch").alias("cause"),
        F.lit("server").alias("stalled_side"), F.lit(False).alias("is_closed"),
    )  # fmt: skip
    return of_these(settled, stated.where(F.col("cause") == "prefetch"), LINK)


def all_waits(
    tables: dict[str, DataFrame],
    places: DataFrame,
    states: DataFrame,
    spells: DataFrame,
    options: MetricOptions,
) -> DataFrame:
    """One row per spell of any cause but silence, with `is_needed` (null: not known)."""
    waits = spells.where(F.col("cause") != DRAIN)
    resumed = _with_resumption(waits, tables["frames"])
    return _with_need(_with_credit_left(resumed, states), places, options)


def _with_resumption(waits: DataFrame, frames: DataFrame) -> DataFrame:
    """The first send of the same link, session or connection at or after each spell's end (null:
    none, or no end)."""
    no_id = F.lit(None).cast("long")

    def scope(session: Column, link: Column) -> Column:
        return F.struct(session.alias("session_id"), link.alias("link_id"))

    scopes = F.array(
        scope(F.col("session_id"), F.col("link_id")),
        scope(F.col("session_id"), no_id),
        scope(no_id, no_id),
    )
    sends = frames.where(F.col("name").isin(*SENDING_FRAMES)).select(
        "connection_id", sending_side("direction").alias("stalled_side"), F.inline(scopes),
        F.col("ts_ns").alias("_at"), F.col("ts_ns").alias("resumed_ts_ns"),
        F.col("packet_no").alias("resumed_packet_no"), F.col("link_id").alias("resumed_link_id"),
    )  # fmt: skip
    return as_of(
        waits, F.col("end_ts_ns"), of_these(sends, waits, SCOPE),
        ("resumed_ts_ns", "resumed_packet_no", "resumed_link_id"), SCOPE,
        F.col("_at").desc_nulls_first(), F.col("_rank"), F.col("resumed_packet_no").desc(),
    )  # fmt: skip


def _with_credit_left(waits: DataFrame, states: DataFrame) -> DataFrame:
    """The credit, at the start of the spell, of the link that could not go on.

    For wider causes that is the link that went on first.
    """
    waits = waits.withColumn("link_id", F.coalesce("link_id", "resumed_link_id"))
    known = states.where(F.col("credit").isNotNull()).select(
        "connection_id", "link_id", F.col("ts_ns").alias("_at"), *ORDER[1:],
        F.col("credit").alias("credit_left"),
    )  # fmt: skip
    keys = ("connection_id", "link_id")
    return as_of(
        waits.drop("resumed_link_id"), F.col("start_ts_ns"), of_these(known, waits, keys),
        ("credit_left",), keys, F.col("_at"), F.col("_rank"), *map(F.col, ORDER[1:]),
    )  # fmt: skip


def _with_need(waits: DataFrame, places: DataFrame, options: MetricOptions) -> DataFrame:
    """Whether something waited, how we know, and how long it took.

    A spell that nothing ended is over with its link, if that ended; the capture's end cuts off
    the others. A session window that is used up by a link without credit stalls nobody.
    """
    joined = with_place(
        waits, places, F.col("last_ts_ns").alias("_last_ns"), F.col("is_open").alias("_is_there"),
        F.col("tcp_end").alias("_tcp_end"), F.col("rtt_ns").alias("_rtt_ns"),
    )  # fmt: skip
    reaction_ns = F.lit(options.reaction_ns) + 2 * F.col("_rtt_ns")
    is_prompt = F.col("resumed_ts_ns") - F.col("end_ts_ns") <= reaction_ns
    is_cut = (
        F.col("end_ts_ns").isNull()
        & F.col("_is_there")
        & (F.coalesce(F.col("_tcp_end"), F.lit("open")) == "open")
    )
    known_by = (
        F.when(is_prompt, "sent-at-once")
        .when(F.col("said_ns") >= F.col("start_ts_ns"), "available")
        .when(F.col("cause").isin(*DECREES), "stated")
        .when(is_cut, "unknown")
    )
    over = F.coalesce("end_ts_ns", "_last_ns")
    is_no_credit = (F.col("cause") == "session-window") & (F.col("credit_left") <= 0)
    return joined.select(
        *_COLUMNS, F.when(~F.coalesce(is_no_credit, F.lit(False)), known_by).alias("known_by"),
        is_cut.alias("is_open"),
        F.greatest(over - F.col("start_ts_ns"), F.lit(0)).cast("long").alias("length_ns"),
    ).withColumn("is_needed", F.col("known_by").isNotNull())  # fmt: skip
