"""THE metric tables: every table, column, type and meaning, and how exact it is, once.

``docs/metrics.md`` and the final ``select`` of every metric derive from this file, as the
dissectors' own tables derive from ``dissectors.tables``.
"""

from __future__ import annotations

from dataclasses import dataclass

from dissectors.tables import Column, Table
from spark_etl.schema import SPARK_TYPES

# The kinds of dissectors.tables, and one of our own: a number that is not whole.
METRIC_TYPES: dict[str, str] = {**SPARK_TYPES, "number": "DOUBLE"}


def spark_type(kind: str) -> str:
    return METRIC_TYPES[kind]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric table with what its numbers rest on."""

    table: Table
    clauses: str
    exactness: str


Spec = tuple[str, str, str]


def _metric(name: str, doc: str, clauses: str, exactness: str, *columns: Spec) -> Metric:
    """Column kinds may end in ``!``: such a column is never null."""
    made = tuple(Column(n, k.rstrip("!"), d, not k.endswith("!")) for n, k, d in columns)
    return Metric(Table(name, doc, made), clauses, exactness)


_WHOSE: tuple[Spec, ...] = (
    ("connection_id", "text", "the connection; null where the grouping joins several"),
    ("session_id", "int64", "its session; null where the grouping joins several"),
    ("link_id", "int64", "its link; null where the grouping joins several, or none is concerned"),
    ("dialect", "word", "the connection's dialect"),
    ("client", "text", "client endpoint; its host where the grouping joins connections"),
    ("server", "text", "server endpoint; its host where the grouping joins connections"),
    ("vhost", "text", "virtual host or hostname"),
    ("kind", "word", "link | coordinator | consumer | getter | publisher"),
    ("address", "text", "the link's address"),
)
_SPREAD: tuple[Spec, ...] = (
    ("min_ns", "int64", "shortest"),
    ("mean_ns", "int64", "mean"),
    ("p50_ns", "int64", "median"),
    ("p90_ns", "int64", "90th percentile"),
    ("p99_ns", "int64", "99th percentile"),
    ("p999_ns", "int64", "99.9th percentile"),
    ("max_ns", "int64", "longest"),
    ("is_exact", "bool!", "percentiles are exact; else off by at most 1/100,000 of the ranks"),
)
_PERCENTILES = (
    "Counts, min, mean and max are exact. Percentiles are exact (linear between neighbours, "
    "rounded to ns) for groups of up to 1,000,000 values (`exact_limit`); for larger ones "
    "`is_exact` is false and each is a real value whose rank is off by at most 1/100,000 of the "
    "group's size."
)

FLOW_CONTROL = _metric(
    "flow_control",
    "one row per link: what it was allowed to send, what it sent, and how long it could not",
    "1.0 §2.6.7 link credit, §2.5.6 session windows; 0-9-1 basic.qos, channel.flow; RabbitMQ "
    "connection.blocked; RFC 9293 §3.8.6 zero window",
    "Exact for what the capture shows: credit and windows are those that the receiver has stated "
    "less what has been sent since, as seen at the capture point. Times in which the credit is not "
    "known (a link begun before the capture) count neither as with nor as without credit. Whether "
    "a sender had something to send is inferred, see stalls.",
    *_WHOSE,
    ("link_count", "int64!", "links in this row"),
    ("sender_side", "word", "client | server: who sends on it"),
    ("duration_ns", "int64!", "time from its begin to its end, or to the connection's last packet"),
    ("granted", "int64", "1.0: credit granted"),
    ("taken_back", "int64", "1.0: credit withdrawn by the receiver"),
    ("drained", "int64", "1.0: credit given up by the sender on drain"),
    ("used", "int64!", "messages sent"),
    ("outstanding", "int64", "credit left at the end (0-9: prefetch less unacknowledged)"),
    ("max_credit", "int64", "most credit at any time"),
    ("max_unsettled", "int64!", "most unsettled messages at any time"),
    ("no_credit_ns", "int64", "time with no credit at all, needed or not"),
    ("starved_ns", "int64!", "of it, time in which the sender had something to send"),
    ("starved_count", "int64!", "spells of that, those of a stall's length and more"),
    ("unused_credit_ns", "int64", "time with credit left"),
    ("top_up_count", "int64", "1.0: flows that raised the credit"),
    ("top_up_mean", "number", "1.0: credit that one of them added, mean"),
    ("top_up_min", "int64", "1.0: least"),
    ("top_up_max", "int64", "1.0: most"),
    ("top_up_rate", "number", "1.0: flows that raised the credit, per second of its duration"),
    ("prefetch_count", "int64", "0-9: prefetch limit in force; null = none"),
    ("saturated_ns", "int64!", "0-9: time with as many unacknowledged messages as the prefetch"),
    (
        "saturated_share",
        "ratio",
        "0-9: that, of the time from its first delivery to its last event",
    ),
    ("saturated_count", "int64!", "0-9: spells of that"),
    ("drain_count", "int64!", "1.0: drains asked for"),
    ("drain_answered_count", "int64!", "1.0: drains that ended (credit used up or given up)"),
    ("drain_mean_ns", "int64", "1.0: from the drain to its end, mean"),
    ("drain_max_ns", "int64", "1.0: the longest"),
    ("session_window_ns", "int64!", "1.0: time stalled by the session window with credit left"),
    ("tcp_window_ns", "int64!", "time in which the receiver's TCP window was closed"),
    ("flow_stopped_ns", "int64!", "0-9: time stopped by channel.flow"),
    ("blocked_ns", "int64!", "0-9: time stopped by connection.blocked"),
)

STALLS = _metric(
    "stalls",
    "one row per stall: who could not go on, because of whom, for how long",
    "as flow_control; 1.0 §2.6.12 settlement, 0-9-1 basic.ack and RabbitMQ confirms for silence",
    "Start and end are the packets that closed and opened the way; exact to the capture's clock. "
    "That the sender had something to send is inferred: it sent within `reaction_ns` (50 ms) and "
    "two round trips of being allowed to, or its flow stated `available` > 0. Spells after which "
    "it did not are no stalls. Stalls shorter than `min_stall_ns` (1 ms) are left out. A stall "
    "that the capture's end cuts off is kept, `is_open`.",
    ("connection_id", "text!", "the connection"),
    ("session_id", "int64", "its session; null if the whole connection is concerned"),
    (
        "link_id",
        "int64",
        "the link that could not go on; for wider causes the one that went on first",
    ),
    ("dialect", "word", "the connection's dialect"),
    ("client", "text", "client endpoint"),
    ("server", "text", "server endpoint"),
    ("address", "text", "the link's address"),
    (
        "cause",
        "word!",
        "link-credit | session-window | tcp-window | prefetch | channel-flow | "
        "connection-blocked | consumer-slow | broker-silent",
    ),
    ("stalled_side", "word", "client | server: who had to wait"),
    ("caused_by", "word", "client | server: who made it wait"),
    ("start_ts_ns", "int64!", "when it began"),
    ("end_ts_ns", "int64", "when it ended; null if it had not when the capture did"),
    ("length_ns", "int64!", "how long; to the connection's last packet if it did not end"),
    ("is_open", "bool!", "not ended when the capture did"),
    ("resumed_ts_ns", "int64", "when the stalled side went on"),
    (
        "known_by",
        "word!",
        "sent-at-once | available | stated | unsettled | unanswered | unknown: how we know that "
        "something waited",
    ),
    ("credit_left", "int64", "link credit that the sender had at the start"),
    ("limit", "int64", "the limit reached: prefetch, or unsettled messages waiting"),
    ("what", "text", "the method that waits for its reply, or the reason given"),
    ("capture", "text!", "capture file of the first packet of evidence"),
    ("start_packet_no", "int64!", "packet that closed the way"),
    ("end_packet_no", "int64", "packet that opened it again"),
    ("resumed_packet_no", "int64", "packet with which the stalled side went on"),
)

CREDIT_TIMELINE = _metric(
    "credit_timeline",
    "one row per change of a link's credit or unsettled messages, with the state after it",
    "1.0 §2.6.7; 0-9-1 basic.qos",
    "Exact. Within one packet, frames are in their order; settlements come before them.",
    ("connection_id", "text!", "the connection"),
    ("session_id", "int64", "its session"),
    ("link_id", "int64!", "its link"),
    ("ts_ns", "int64!", "when"),
    ("capture", "text!", "capture file"),
    ("packet_no", "int64!", "packet"),
    (
        "event",
        "word!",
        "attach | grant | take-back | drain | drained | stated | exhausted | prefetch | send | "
        "settle",
    ),
    ("change", "int64", "credit added (negative: used, taken back or drained)"),
    ("credit", "int64", "credit left to the sender; null while not known or not limited"),
    ("unsettled", "int64!", "messages sent and not settled"),
    ("prefetch_count", "int64", "0-9: prefetch limit of the consumer"),
)

SETTLEMENT = _metric(
    "settlement",
    "one row per link and outcome: how many, how fast, how batched, how often again",
    "1.0 §2.6.12, §3.4 delivery states; 0-9-1 basic.ack/nack/reject; RabbitMQ publisher confirms",
    _PERCENTILES + " Latency runs from a message's last frame to the frame that settled it; "
    "messages sent settled have none. The guarantee is what this capture shows, no promise.",
    *_WHOSE,
    ("direction", "word!", "c2s | s2c | unknown: who sent the messages"),
    ("outcome", "word", "accepted | rejected | released | modified | returned …; null = none"),
    ("count", "int64!", "messages"),
    ("body_bytes", "int64!", "their body octets"),
    ("presettled_count", "int64!", "sent settled"),
    ("single_count", "int64!", "settled one by one"),
    ("range_count", "int64!", "settled by a range or multiple"),
    ("implicit_count", "int64!", "settled by the end of their link, session or connection"),
    ("unsettled_count", "int64!", "not settled when the capture or their link ended"),
    ("settle_frame_count", "int64!", "frames (or commits) that settled the single and range ones"),
    ("batch_mean", "number", "messages per such frame"),
    ("redelivered_count", "int64!", "of the count, deliveries marked as redelivered"),
    ("latency_count", "int64!", "messages with a settlement latency"),
    *_SPREAD,
    (
        "guarantee",
        "word!",
        "of all the link's messages: at-most-once (settled when sent, or nobody was to answer) | "
        "at-least-once (settled by the receiver) | exactly-once (receiver settles second, after "
        "the sender knew the outcome; none redelivered) | mixed | unknown (none settled yet)",
    ),
)

BACKLOG = _metric(
    "backlog",
    "one row per link and time window with a change: messages waiting to be settled",
    "1.0 §2.6.12; 0-9-1 basic.ack, publisher confirms",
    "Exact. A window without a change has no row: the last row's `unsettled` still holds.",
    *_WHOSE,
    ("window_start_ns", "int64!", "start of the window"),
    ("arrived_count", "int64!", "messages sent unsettled in it"),
    ("settled_count", "int64!", "messages settled in it"),
    ("unsettled", "int64!", "unsettled at its end"),
    ("max_unsettled", "int64!", "most at any time in it"),
)

LATENCIES = _metric(
    "latencies",
    "one row per link, measure and time window (null: all of the time): how long things took",
    "1.0 §2.4.1, §2.5.1, §2.6.1 opening; §2.4.5 idle; 0-9-1 §2.2.4 connection set-up, §4.2.7 "
    "heartbeats; synchronous methods and their -ok",
    _PERCENTILES + " TCP round trips are kept per connection as min, mean and max: percentiles "
    "are null there. A value belongs to the window in which it began.",
    *_WHOSE,
    (
        "measure",
        "word!",
        "publish-confirm | deliver-settle | request-reply | method-reply | setup-… | rtt | "
        "heartbeat-gap",
    ),
    ("what", "text", "the method, the phase or the direction measured"),
    ("window_start_ns", "int64", "start of the window; null = the whole capture"),
    ("count", "int64", "values; null for rtt, where only the extremes are kept"),
    *_SPREAD,
)

END_TO_END = _metric(
    "end_to_end",
    "one row per message and destination, from its publisher's connection to its consumer's",
    "1.0 §3.2.4 message-id; 0-9-1 basic properties",
    "Inferred: `matched_by` says how, `confidence` how far to trust it. Messages with the same key "
    "are matched in order. Times are exact for the pair that was matched.",
    ("publish_connection_id", "text!", "the publisher's connection"),
    ("publish_link_id", "int64", "its link"),
    ("publish_transfer_id", "int64!", "its transfer"),
    ("publish_dialect", "word", "its dialect"),
    ("publish_address", "text", "where it was sent to"),
    ("publish_packet_no", "int64!", "packet of its first frame"),
    ("deliver_connection_id", "text!", "the consumer's connection"),
    ("deliver_link_id", "int64", "its link"),
    ("deliver_transfer_id", "int64!", "the first delivery's transfer"),
    ("deliver_dialect", "word", "its dialect"),
    ("deliver_address", "text", "where it was taken from"),
    ("deliver_packet_no", "int64!", "packet of its first frame"),
    ("message_id", "string", "message-id"),
    ("body_hash", "hash", "hash of the body"),
    ("body_bytes", "int64!", "octets of the body"),
    ("matched_by", "word!", "how: see the list below the table"),
    ("confidence", "ratio!", "1 = certain"),
    ("published_ts_ns", "int64!", "time of the first frame of the publish"),
    ("accepted_ts_ns", "int64", "when the broker settled it"),
    ("delivered_ts_ns", "int64!", "time of the last frame of the first delivery"),
    ("settled_ts_ns", "int64", "when the consumer settled the last delivery"),
    ("outcome", "word", "the last delivery's outcome"),
    ("residence_ns", "int64!", "in the broker: last frame published to first frame delivered"),
    ("total_ns", "int64!", "first frame published to last frame delivered"),
    ("delivery_count", "int64!", "deliveries of it to this destination"),
    ("redelivery_count", "int64!", "of them, after the first"),
    ("hop_no", "int64!", "1 for the first broker; more where a consumer passed it on"),
)

THROUGHPUT = _metric(
    "throughput",
    "one row per link, direction and time window: messages, octets, frames, overhead",
    "0-9-1 §2.3.5, 1.0 §2.3 frame layout",
    "Exact. Frames that belong to no link (heartbeats, session and connection frames) are in rows "
    "without one. A message counts in the window of its last frame, all of its body with it: where "
    "one spans windows, the overhead of the last may come out negative.",
    *_WHOSE,
    ("direction", "word!", "c2s | s2c | unknown"),
    ("window_start_ns", "int64!", "start of the window"),
    ("message_count", "int64!", "messages completed"),
    ("body_bytes", "int64!", "octets of their bodies"),
    ("frame_count", "int64!", "frames"),
    ("wire_bytes", "int64!", "octets of these frames"),
    ("overhead_bytes", "int64!", "octets that are no body"),
    ("overhead_per_message", "number", "of these, per message"),
    ("messages_per_second", "number!", "messages per second of the window"),
    ("body_bytes_per_second", "number!", "body octets per second of the window"),
)

METRICS: dict[str, Metric] = {
    m.table.name: m
    for m in (
        FLOW_CONTROL,
        STALLS,
        CREDIT_TIMELINE,
        SETTLEMENT,
        BACKLOG,
        LATENCIES,
        END_TO_END,
        THROUGHPUT,
    )
}
METRIC_TABLES: dict[str, Table] = {name: m.table for name, m in METRICS.items()}
