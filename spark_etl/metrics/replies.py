"""Which reply answers which request: protocol methods by order, messages by correlation."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from spark_etl.metrics.shape import LINK
from spark_etl.metrics.spells import as_of, so_far

# Replies that are not named after their request with -ok.
_OTHER_REPLIES = {"basic.get-empty": "basic.get"}
# 0-9 requests that a -ok answers (0-9-1 §2.2.1 synchronous methods); both dialects of names.
REQUESTS = (
    "connection.open", "connection.close", "channel.open", "channel.close", "channel.flow",
    "exchange.declare", "exchange.delete", "exchange.bind", "exchange.unbind",
    "queue.declare", "queue.bind", "queue.unbind", "queue.purge", "queue.delete",
    "basic.qos", "basic.consume", "basic.cancel", "basic.get", "basic.recover",
    "tx.select", "tx.commit", "tx.rollback", "confirm.select", "access.request",
)  # fmt: skip
_DIRECTIONS = ("c2s", "s2c", "unknown")
# 1.0 performatives that the same performative answers (1.0 §2.4.1, §2.5.1, §2.6.1 and the ends).
MIRRORED = ("open", "begin", "attach", "detach", "end", "close")


def all_replies(frames: DataFrame) -> DataFrame:
    """Requests of both dialects with the time of their reply; null where none came."""
    return method_replies(frames).unionByName(mirrored_replies(frames))


def method_replies(frames: DataFrame) -> DataFrame:
    """Requests of 0-9 with the time of their reply; null where none came.

    On a channel the k-th reply of a kind answers the k-th request of it. Replies to requests that
    the capture does not hold are passed over; requests with no-wait have none.
    """
    reply_to = F.regexp_replace("name", "-ok$", "")
    for reply, request in _OTHER_REPLIES.items():
        reply_to = F.when(F.col("name") == reply, request).otherwise(reply_to)
    names = [*REQUESTS, *(f"{n}-ok" for n in REQUESTS), *_OTHER_REPLIES]
    no_wait = F.coalesce(
        F.get_json_object("fields", "$.nowait"), F.get_json_object("fields", "$.no-wait")
    )
    rows = frames.where(
        (F.col("frame_type") == "method")
        & F.col("name").isin(*names)
        & (F.coalesce(no_wait, F.lit("false")) != "true")
    ).select(
        *LINK, "direction", "ts_ns", "capture", "packet_no", "frame_no",
        F.col("channel").cast("long").alias("channel"),
        reply_to.alias("what"), F.col("name").isin(*REQUESTS).alias("is_request"),
    )  # fmt: skip
    keys = ["connection_id", "channel", "session_id", "what"]
    window = so_far(keys, "frame_no")
    # Replies less requests so far; its running peak is the number of replies without a request.
    surplus = F.sum(F.when(F.col("is_request"), -1).otherwise(1)).over(window)
    peak = F.greatest(F.max("_surplus").over(window), F.lit(0))
    peak_before = F.max("_surplus").over(window.rowsBetween(Window.unboundedPreceding, -1))
    asked = F.sum(F.col("is_request").cast("int")).over(window)
    counted = (
        rows.withColumn("_surplus", surplus)
        .withColumn("_is_stray", F.col("_surplus") > F.greatest(peak_before, F.lit(0)))
        .withColumn(
            "_no", asked + F.when(F.col("is_request"), 0).otherwise(F.col("_surplus") - peak)
        )
    )
    answer = F.when(~F.col("is_request") & ~F.col("_is_stray"), F.struct("ts_ns", "packet_no"))
    return (
        counted.withColumn("_answer", F.max(answer).over(Window.partitionBy(*keys, "_no")))
        .where("is_request")
        .select(
            *LINK, "direction", "what", "ts_ns", "capture", "packet_no",
            F.col("_answer.ts_ns").alias("reply_ts_ns"),
            F.col("_answer.packet_no").alias("reply_packet_no"),
        )
    )  # fmt: skip


def mirrored_replies(frames: DataFrame) -> DataFrame:
    """1.0: the first frame of a name in each direction, the earlier one asking."""
    rows = frames.where((F.col("frame_type") == "amqp") & F.col("name").isin(*MIRRORED))
    keys = [*LINK, "name"]
    first = rows.groupBy(*keys, "direction").agg(
        F.min_by(F.struct("ts_ns", "packet_no", "capture", "frame_no"), "frame_no").alias("at")
    )
    window = Window.partitionBy(*keys).orderBy("at.frame_no")
    return (
        first.withColumn("answer", F.lead("at").over(window))
        .withColumn("_no", F.row_number().over(window))
        .where(F.col("_no") == 1)
        .select(
            *LINK, "direction", F.col("name").alias("what"), "at.ts_ns", "at.capture",
            "at.packet_no", F.col("answer.ts_ns").alias("reply_ts_ns"),
            F.col("answer.packet_no").alias("reply_packet_no"),
        )
    )  # fmt: skip


def message_replies(transfers: DataFrame) -> DataFrame:
    """A message with reply-to, and the first later one to its sender with its correlation-id.

    The reply carries the request's correlation-id, or its message-id where it had none
    (1.0 §3.2.4; the same custom in 0-9).
    """
    key = F.coalesce("correlation_id", "message_id")
    requests = transfers.where(F.col("reply_to").isNotNull() & key.isNotNull()).select(
        *LINK, "direction", key.alias("_key"), F.col("first_ts_ns").alias("ts_ns")
    )
    # A reply may answer whatever did not go its own way.
    answered = F.array_except(F.array(*map(F.lit, _DIRECTIONS)), F.array("direction"))
    replies = transfers.where(
        F.col("correlation_id").isNotNull() & F.col("reply_to").isNull()
    ).select(
        "connection_id", F.explode(answered).alias("direction"),
        F.col("correlation_id").alias("_key"), F.col("last_ts_ns").alias("_at"),
        F.col("last_ts_ns").alias("reply_ts_ns"),
    )  # fmt: skip
    keys = ("connection_id", "_key", "direction")
    # Backwards in time: the last reply seen is the first after the request.
    return as_of(
        requests, F.col("ts_ns"), replies, ("reply_ts_ns",), keys,
        F.col("_at").desc(), F.col("_rank"),
    )  # fmt: skip
