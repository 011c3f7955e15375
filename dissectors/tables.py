"""THE table definitions: every table, column, type and meaning, once.

Arrow schemas, CSV headers, Spark types, ``docs/tables.md`` and the row buffers all derive from
this file. It knows names and meanings only: how a cell is stored is the row buffers' business
(``core/rows.py``), how a value is found is the dissectors'.

Identifiers are numbered within their connection: (connection_id, session_id),
(connection_id, link_id) and (connection_id, transfer_id) are the keys. Absent is null.
"""

from __future__ import annotations

from typing import NamedTuple

SCHEMA_VERSION = 1

# How a column's values are kept and what they become in Arrow:
#   int64/int32 whole numbers · bool · ratio 0..1 (float64)
#   word        a string out of our own vocabulary (dictionary)
#   text        a string off the wire that repeats (dictionary)
#   string      a string off the wire that is mostly unique
#   hash        a 64-bit xxh3 digest, shown as 16 hex digits
#   bytes       raw octets
KINDS = ("int64", "int32", "bool", "ratio", "word", "text", "string", "hash", "bytes")


class Column(NamedTuple):
    name: str
    kind: str
    doc: str
    is_nullable: bool = True


class Table:
    def __init__(self, name: str, doc: str, columns: tuple[Column, ...]) -> None:
        self.name = name
        self.doc = doc
        self.columns = columns
        self._places = {column.name: place for place, column in enumerate(columns)}

    def __repr__(self) -> str:
        return f"Table({self.name!r})"

    def index(self, column: str) -> int:
        """Position of a column by name; an unknown name is a bug and raises."""
        return self._places[column]

    def names(self) -> tuple[str, ...]:
        return tuple(self._places)


def _table(name: str, doc: str, *columns: tuple[str, str, str]) -> Table:
    """Column kinds may end in ``!``: such a column is never null."""
    return Table(
        name,
        doc,
        tuple(Column(n, k.rstrip("!"), d, not k.endswith("!")) for n, k, d in columns),
    )


CONNECTION_ID = ("connection_id", "text!", "the connection's identifier, stable for the same input")

CONNECTIONS = _table(
    "connections",
    "one row per TCP connection that carried AMQP, or was meant to",
    CONNECTION_ID,
    ("capture", "text!", "capture file of its first packet"),
    ("client", "text!", "client endpoint, address:port"),
    ("server", "text!", "server endpoint, address:port"),
    ("client_known_by", "word!", "syn | protocol-header | method | port | unknown"),
    ("transport", "word!", "tcp | tls | websocket | websocket+tls"),
    ("dialect", "word", "0-8 | 0-9 | 0-9-draft | 0-9-1 | 0-10 | 1.0 | 1.0-draft | http | tls"),
    ("dialect_confidence", "ratio", "how sure the dialect is"),
    ("dialect_known_by", "word", "protocol-header | frame-shape | port | forced"),
    ("first_ts_ns", "int64!", "time of the first packet, ns since 1970 UTC"),
    ("last_ts_ns", "int64!", "time of the last packet"),
    ("first_packet_no", "int64!", "number of the first packet in its capture file"),
    ("last_packet_no", "int64!", "number of the last packet in its capture file"),
    ("bytes_c2s", "int64!", "stream bytes client to server, by sequence number, gaps included"),
    ("bytes_s2c", "int64!", "stream bytes server to client, by sequence number, gaps included"),
    ("decoded_bytes", "int64!", "stream bytes that became frames"),
    ("skipped_bytes", "int64!", "stream bytes that were seen but belong to no frame"),
    ("missing_bytes", "int64!", "stream bytes that the capture does not hold"),
    ("leftover_bytes", "int64!", "stream bytes of a frame not complete when the capture ended"),
    ("frame_count", "int64!", "rows of this connection in frames"),
    ("client_product", "text", "product that the client announces"),
    ("client_version", "text", "its version"),
    ("server_product", "text", "product that the server announces"),
    ("server_version", "text", "its version"),
    ("client_container", "text", "1.0: container-id of the client's open"),
    ("server_container", "text", "1.0: container-id of the server's open"),
    ("vhost", "text", "0-9: virtual host; 1.0: hostname of the client's open"),
    ("mechanism", "text", "SASL mechanism chosen by the client"),
    ("auth_outcome", "word", "ok | auth | sys | sys-perm | sys-temp | refused"),
    ("locale", "text", "0-9: locale chosen"),
    ("field_table_types", "word", "0-9: reading of field tables used"),
    ("frame_max", "int64", "largest frame agreed, octets; null = no limit known"),
    ("channel_max", "int64", "highest channel agreed"),
    ("heartbeat_ms", "int64", "0-9 and the 1.0 draft: heartbeat agreed"),
    ("client_idle_timeout_ms", "int64", "1.0: idle-time-out in the client's open"),
    ("server_idle_timeout_ms", "int64", "1.0: idle-time-out in the server's open"),
    ("tls_version", "text", "TLS version"),
    ("tls_sni", "text", "server name that the client asked for"),
    ("opened_ts_ns", "int64", "time of connection.open-ok, or of the second open"),
    ("closed_ts_ns", "int64", "time of the AMQP close"),
    ("close_initiator", "word", "client | server"),
    ("close_code", "int64", "0-9: reply-code of connection.close"),
    ("close_condition", "text", "1.0: error condition of close"),
    ("close_reason", "text", "why it ended, in words; null while open"),
    ("close_method", "text", "0-9: class.method that the close blames"),
    ("tcp_end", "word", "fin | rst | reused | open"),
    ("reset_by", "word", "client | server: who sent the first RST"),
    ("handshake_rtt_ns", "int64", "SYN to final ACK"),
    ("rtt_min_ns", "int64", "least time from data to its ACK"),
    ("rtt_mean_ns", "int64", "mean time from data to its ACK"),
    ("rtt_max_ns", "int64", "most time from data to its ACK"),
    (
        "retransmit_count",
        "int64!",
        "packets with data sent again: seen before, or late beyond a round trip",
    ),
    ("retransmit_bytes", "int64!", "octets sent again"),
    ("out_of_order_count", "int64!", "packets that were overtaken by later ones on their way"),
    ("keepalive_count", "int64!", "TCP keep-alives"),
    ("zero_window_count", "int64!", "spells of zero receive window"),
    ("zero_window_ns", "int64!", "time spent in them"),
    ("reset_count", "int64!", "RST packets"),
    ("gap_count", "int64!", "gaps in the stream"),
    ("details", "text", "what else the peers announced, JSON"),
)

SESSIONS = _table(
    "sessions",
    "one row per 1.0 session or 0-9 channel",
    CONNECTION_ID,
    ("session_id", "int64!", "number of the session in its connection"),
    ("channel", "int64!", "channel number used by the side that began it"),
    ("remote_channel", "int64", "1.0: channel number used by the other side"),
    ("begun_by", "word", "client | server; null if not seen"),
    ("begin_ts_ns", "int64", "time of open or begin; of the first frame where inferred"),
    ("established_ts_ns", "int64", "time of open-ok, or of the answering begin"),
    ("end_ts_ns", "int64", "time of close or end"),
    ("end_initiator", "word", "client | server"),
    ("end_code", "int64", "0-9: reply-code"),
    ("end_condition", "text", "1.0: error condition"),
    ("end_reason", "text", "reply-text or error description; how it ended if not by a frame"),
    ("end_method", "text", "0-9: class.method that the close blames"),
    ("is_inferred", "bool!", "its begin is not in the capture"),
    ("is_confirming", "bool", "0-9: confirm.select was seen"),
    ("is_transactional", "bool", "0-9: tx.select or dtx.select was seen"),
    ("commit_count", "int64", "transactions committed (0-9: tx.commit; 1.0: discharge fail=false)"),
    ("rollback_count", "int64", "transactions rolled back"),
    ("client_incoming_window", "int64", "1.0: initial incoming-window of the client"),
    ("client_outgoing_window", "int64", "1.0: initial outgoing-window of the client"),
    ("server_incoming_window", "int64", "1.0: initial incoming-window of the server"),
    ("server_outgoing_window", "int64", "1.0: initial outgoing-window of the server"),
    ("client_handle_max", "int64", "1.0: handle-max of the client"),
    ("server_handle_max", "int64", "1.0: handle-max of the server"),
    ("transfer_count", "int64!", "messages in this session"),
    ("details", "text", "what else was said, JSON"),
)

LINKS = _table(
    "links",
    "one row per 1.0 link, or 0-9 consumer, getter (basic.get) or publisher (channel + exchange)",
    CONNECTION_ID,
    ("session_id", "int64!", "its session"),
    ("link_id", "int64!", "number of the link in its connection"),
    ("kind", "word!", "link | coordinator | consumer | getter | publisher"),
    ("name", "text", "1.0: link name; 0-9: consumer-tag"),
    ("role", "word", "what the client is on it: sender | receiver"),
    ("address", "text", "where messages come from or go to"),
    ("source_address", "text", "1.0: source address, authoritative side"),
    ("target_address", "text", "1.0: target address, authoritative side"),
    ("exchange", "text", "0-9: exchange published to"),
    ("queue", "text", "0-9: queue consumed from"),
    ("client_handle", "int64", "1.0: handle in the client's attach"),
    ("server_handle", "int64", "1.0: handle in the server's attach"),
    ("snd_settle_mode", "word", "unsettled | settled | mixed, as agreed"),
    ("rcv_settle_mode", "word", "first | second, as agreed"),
    ("is_no_ack", "bool", "0-9: consumer takes messages as settled"),
    ("is_exclusive", "bool", "0-9: exclusive consumer"),
    ("is_dynamic", "bool", "1.0: node made on request; 0-9: queue named by the server"),
    ("prefetch_count", "int64", "0-9: prefetch limit in force when it began"),
    ("initial_credit", "int64", "1.0: first link-credit granted"),
    ("initial_delivery_count", "int64", "1.0: the sender's first delivery-count"),
    ("max_message_size", "int64", "1.0: smaller of both sides' limits; null = none"),
    ("begin_ts_ns", "int64", "time of attach or consume; of the first use otherwise"),
    ("established_ts_ns", "int64", "time of the answering attach or consume-ok"),
    ("end_ts_ns", "int64", "time of detach or cancel"),
    ("end_kind", "word", "detached | closed | cancelled | session-end | connection-end | stolen"),
    ("end_initiator", "word", "client | server"),
    ("end_condition", "text", "1.0: error condition"),
    ("end_reason", "text", "error description"),
    ("is_inferred", "bool!", "its begin is not in the capture"),
    ("transfer_count", "int64!", "messages on this link (those returned are not counted)"),
    ("body_bytes", "int64!", "their body octets"),
    ("unsettled_count", "int64!", "messages unsettled when it ended"),
    ("details", "text", "arguments, terminus properties, filters, JSON"),
)

FRAMES = _table(
    "frames",
    "one row per frame, protocol headers included",
    CONNECTION_ID,
    ("frame_no", "int64!", "number of the frame in its connection, in causal order"),
    ("ts_ns", "int64!", "time of the packet that completed it"),
    ("direction", "word!", "c2s | s2c | unknown"),
    ("capture", "text!", "capture file of that packet"),
    ("packet_no", "int64!", "number of that packet in its capture file"),
    ("first_packet_no", "int64!", "number of the packet with its first octet"),
    ("stream_offset", "int64!", "place of its first octet in its direction's stream (inside TLS)"),
    ("size_bytes", "int64!", "octets on the wire, header and frame-end included"),
    ("channel", "int32", "channel number in the frame header"),
    ("session_id", "int64", "its session"),
    ("link_id", "int64", "its link"),
    ("transfer_id", "int64", "the message that it carries or settles (the first one of a range)"),
    ("frame_type", "word!", "protocol-header | method | header | body | heartbeat | amqp | sasl …"),
    ("name", "word!", "basic.publish, header, body, heartbeat, open, transfer, empty, sasl-init …"),
    ("status", "word!", "ok | malformed | incomplete | unknown"),
    ("delivery_id", "int64", "1.0: delivery-id or first of a range; 0-9: delivery-tag as a number"),
    ("delivery_last", "int64", "1.0: last of a disposition's range"),
    ("delivery_tag", "string", "1.0: hex of the tag; 0-9: the number as text"),
    ("is_settled", "bool", "1.0: settled"),
    ("is_more", "bool", "1.0: more transfer frames follow"),
    ("is_multiple", "bool", "0-9: multiple"),
    ("is_redelivered", "bool", "0-9: redelivered"),
    ("outcome", "word", "state carried: accepted | rejected | released | modified | received …"),
    ("reply_code", "int64", "0-9: reply-code"),
    ("link_credit", "int64", "1.0: link-credit of a flow"),
    ("delivery_count", "int64", "1.0: delivery-count of a flow; draft: transfer-count"),
    ("body_bytes", "int64", "body octets in this frame; 0-9 header: the size announced"),
    ("fields", "text", "the remaining fields, JSON; secrets never"),
)

TRANSFERS = _table(
    "transfers",
    "one row per message transfer",
    CONNECTION_ID,
    ("session_id", "int64", "its session"),
    ("link_id", "int64", "its link"),
    ("transfer_id", "int64!", "number of the transfer in its connection"),
    ("kind", "word!", "publish | deliver | get | return | transfer"),
    ("direction", "word!", "c2s | s2c | unknown"),
    ("address", "text", "1.0: link address; 0-9: queue if known, else exchange/routing-key"),
    ("exchange", "text", "0-9: exchange ('' is the default one)"),
    ("routing_key", "text", "0-9: routing key"),
    ("queue", "text", "0-9: queue, where the capture tells"),
    (
        "delivery_id",
        "int64",
        "1.0: delivery-id; 0-9: delivery-tag, or publish number when confirming",
    ),
    ("delivery_tag", "string", "1.0: hex of the tag; 0-9: the number as text"),
    ("capture", "text!", "capture file of its first packet"),
    ("first_packet_no", "int64!", "packet of its first frame"),
    ("last_packet_no", "int64!", "packet of its last frame"),
    ("first_ts_ns", "int64!", "time of its first frame"),
    ("last_ts_ns", "int64!", "time of its last frame"),
    ("frame_count", "int64!", "frames that carried it"),
    ("body_bytes", "int64!", "body octets seen"),
    ("message_bytes", "int64", "1.0: encoded message with all sections; 0-9: properties and body"),
    ("body_kind", "word", "1.0: data | sequence | value; 0-9: binary"),
    ("body_hash", "hash", "xxh3-64 of the body; null if incomplete"),
    ("message_id", "string", "message-id"),
    ("correlation_id", "string", "correlation-id"),
    ("reply_to", "text", "reply-to"),
    ("to", "text", "1.0: to"),
    ("subject", "text", "1.0: subject; 0-9: type"),
    ("user_id", "text", "user-id that the message states"),
    ("app_id", "text", "0-9: app-id; 1.0: group-id"),
    ("content_type", "text", "content-type"),
    ("content_encoding", "text", "content-encoding"),
    ("priority", "int32", "priority"),
    ("ttl_ms", "int64", "ttl or expiration, ms"),
    ("is_durable", "bool", "durable, or delivery-mode 2"),
    ("created_ts_ms", "int64", "creation time that the message states"),
    ("properties", "text", "remaining properties, headers and annotations, JSON"),
    ("is_presettled", "bool!", "sent settled, or to a no-ack consumer"),
    ("is_redelivered", "bool", "0-9: redelivered; 1.0: delivery-count > 0 or not first-acquirer"),
    ("is_complete", "bool!", "all its frames were seen"),
    ("is_aborted", "bool!", "1.0: aborted by the sender"),
    ("is_resumed", "bool!", "1.0: a resumed delivery"),
    ("outcome", "word", "accepted | rejected | released | modified; null while unsettled"),
    ("outcome_condition", "text", "error condition, reply-text of a return"),
    ("outcome_ts_ns", "int64", "when the outcome was first stated, settled or not"),
    ("settled_ts_ns", "int64", "when it was settled"),
    ("settled_packet_no", "int64", "packet that settled it"),
    ("settled_by", "word", "sender | receiver | implicit"),
    ("settle_kind", "word", "single | range | presettled | implicit (draft: unsettled-lwm)"),
    ("reply_code", "int64", "0-9: reply-code of a return"),
    ("transaction_id", "text", "1.0: txn-id, hex; 0-9: number of the transaction in its channel"),
    ("transaction_outcome", "word", "committed | rolled-back | open"),
    ("related_transfer_id", "int64", "the earlier transfer that this one belongs to"),
    ("relation", "word", "return-of | redelivery-of | resume-of | child-of"),
)

CREDITS = _table(
    "credits",
    "one row per change of credit or window, with the state after it",
    CONNECTION_ID,
    ("session_id", "int64", "its session; null for connection-wide events"),
    ("link_id", "int64", "its link; null for session-wide events"),
    ("ts_ns", "int64!", "when"),
    ("direction", "word!", "c2s | s2c | unknown: who said it"),
    ("capture", "text!", "capture file"),
    ("packet_no", "int64!", "packet"),
    ("frame_no", "int64!", "frame"),
    (
        "event",
        "word!",
        "begin | attach | flow | credit-exhausted | window-exhausted | "
        "qos | channel-flow | blocked | unblocked | credit | tcp-zero-window | tcp-window-open",
    ),
    ("link_credit", "int64", "1.0: link-credit stated"),
    ("delivery_count", "int64", "1.0: delivery-count stated; draft: transfer-count"),
    ("available", "int64", "1.0: available stated"),
    ("is_drain", "bool", "1.0: drain"),
    ("is_echo", "bool", "1.0: echo"),
    ("granted", "int64", "credit added by this change (negative: taken back or drained)"),
    ("sender_credit", "int64", "credit the sender has left after it"),
    ("receiver_credit", "int64", "credit outstanding as the receiver counts"),
    ("unsettled_count", "int64", "messages unsettled on the link (0-9: unacked) after it"),
    ("client_incoming_window", "int64", "1.0: transfer frames that the server may still send"),
    ("server_incoming_window", "int64", "1.0: transfer frames that the client may still send"),
    ("next_incoming_id", "int64", "1.0: next-incoming-id stated"),
    ("next_outgoing_id", "int64", "1.0: next-outgoing-id stated"),
    ("incoming_window", "int64", "1.0: incoming-window stated; draft: receiver's session-credit"),
    ("outgoing_window", "int64", "1.0: outgoing-window stated; draft: sender's session-credit"),
    ("prefetch_count", "int64", "0-9: prefetch-count in force"),
    ("prefetch_size", "int64", "0-9: prefetch-size in force"),
    ("is_global", "bool", "0-9: global"),
    ("is_active", "bool", "0-9: channel.flow active; connection not blocked; TCP window open"),
    ("reason", "text", "0-9: reason of connection.blocked"),
)

PROBLEMS = _table(
    "problems",
    "everything malformed, missing, truncated or skipped",
    ("connection_id", "text", "the connection; null for the capture file itself"),
    ("capture", "text", "capture file"),
    ("code", "word!", "what it is; docs/problems.md lists all"),
    ("layer", "word!", "capture | tcp | frame | type | content | state | limit …"),
    ("severity", "word!", "info | warning | error"),
    ("detail", "text", "in words"),
    ("ts_ns", "int64", "when"),
    ("packet_no", "int64", "packet"),
    ("direction", "word", "c2s | s2c | unknown"),
    ("stream_offset", "int64", "offset in the direction's stream"),
    ("bytes_affected", "int64", "octets concerned"),
    ("first_bytes", "string", "the first of them, hex"),
    ("recovery", "text", "what was done"),
)

PAYLOADS = _table(
    "payloads",
    "message bodies, only with --payloads",
    CONNECTION_ID,
    ("transfer_id", "int64!", "the transfer"),
    ("body", "bytes!", "body octets: 0-9 the content body; 1.0 the body sections' contents"),
)

TABLES: dict[str, Table] = {
    t.name: t
    for t in (CONNECTIONS, SESSIONS, LINKS, FRAMES, TRANSFERS, CREDITS, PROBLEMS, PAYLOADS)
}
# What every run writes, also when empty.
CORE_TABLES = ("connections", "sessions", "links", "frames", "transfers", "credits", "problems")
