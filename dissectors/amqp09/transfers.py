# cython: wraparound=False
"""Messages on their way: one `Transfer` per publish, deliver, get-ok or return, and its row.

A transfer is filled by the frames that carry it, settled by the frames that acknowledge it, and
written once, when both are done or can no longer happen. Rules of settlement are the channel's.
"""

import cython
from xxhash import xxh3_64

from dissectors.amqp09 import codes
from dissectors.amqp09.arguments import Arguments
from dissectors.amqp09.properties import Properties
from dissectors.core.connection import Connection
from dissectors.core.digest import digest
from dissectors.core.rows import NULL_CELL, RowBuffer, cell_of, signed_int64
from dissectors.core.words import word
from dissectors.tables import TRANSFERS

if not cython.compiled:
    from dissectors.amqp09.wire import cut

# A body is kept whole for the payloads table up to this size.
MAX_PAYLOAD_BYTES = 32 * 1024 * 1024

BASIC_CLASS = cython.declare(cython.longlong, 60)
NONE = cython.declare(cython.longlong, codes.NONE)

W_BINARY = cython.declare(cython.longlong, word("binary"))

T_SESSION = cython.declare(cython.int, cell_of(TRANSFERS, "session_id"))
T_LINK = cython.declare(cython.int, cell_of(TRANSFERS, "link_id"))
T_ID = cython.declare(cython.int, cell_of(TRANSFERS, "transfer_id"))
T_KIND = cython.declare(cython.int, cell_of(TRANSFERS, "kind"))
T_DIRECTION = cython.declare(cython.int, cell_of(TRANSFERS, "direction"))
T_ADDRESS = cython.declare(cython.int, cell_of(TRANSFERS, "address"))
T_EXCHANGE = cython.declare(cython.int, cell_of(TRANSFERS, "exchange"))
T_KEY = cython.declare(cython.int, cell_of(TRANSFERS, "routing_key"))
T_QUEUE = cython.declare(cython.int, cell_of(TRANSFERS, "queue"))
T_DELIVERY_ID = cython.declare(cython.int, cell_of(TRANSFERS, "delivery_id"))
T_TAG = cython.declare(cython.int, cell_of(TRANSFERS, "delivery_tag"))
T_CAPTURE = cython.declare(cython.int, cell_of(TRANSFERS, "capture"))
T_FIRST_PACKET = cython.declare(cython.int, cell_of(TRANSFERS, "first_packet_no"))
T_LAST_PACKET = cython.declare(cython.int, cell_of(TRANSFERS, "last_packet_no"))
T_FIRST_TS = cython.declare(cython.int, cell_of(TRANSFERS, "first_ts_ns"))
T_LAST_TS = cython.declare(cython.int, cell_of(TRANSFERS, "last_ts_ns"))
T_FRAMES = cython.declare(cython.int, cell_of(TRANSFERS, "frame_count"))
T_BODY = cython.declare(cython.int, cell_of(TRANSFERS, "body_bytes"))
T_MESSAGE = cython.declare(cython.int, cell_of(TRANSFERS, "message_bytes"))
T_BODY_KIND = cython.declare(cython.int, cell_of(TRANSFERS, "body_kind"))
T_HASH = cython.declare(cython.int, cell_of(TRANSFERS, "body_hash"))
T_MESSAGE_ID = cython.declare(cython.int, cell_of(TRANSFERS, "message_id"))
T_CORRELATION = cython.declare(cython.int, cell_of(TRANSFERS, "correlation_id"))
T_PRIORITY = cython.declare(cython.int, cell_of(TRANSFERS, "priority"))
T_TTL = cython.declare(cython.int, cell_of(TRANSFERS, "ttl_ms"))
T_DURABLE = cython.declare(cython.int, cell_of(TRANSFERS, "is_durable"))
T_CREATED = cython.declare(cython.int, cell_of(TRANSFERS, "created_ts_ms"))
T_PROPERTIES = cython.declare(cython.int, cell_of(TRANSFERS, "properties"))
T_PRESETTLED = cython.declare(cython.int, cell_of(TRANSFERS, "is_presettled"))
T_REDELIVERED = cython.declare(cython.int, cell_of(TRANSFERS, "is_redelivered"))
T_COMPLETE = cython.declare(cython.int, cell_of(TRANSFERS, "is_complete"))
T_ABORTED = cython.declare(cython.int, cell_of(TRANSFERS, "is_aborted"))
T_RESUMED = cython.declare(cython.int, cell_of(TRANSFERS, "is_resumed"))
T_OUTCOME = cython.declare(cython.int, cell_of(TRANSFERS, "outcome"))
T_CONDITION = cython.declare(cython.int, cell_of(TRANSFERS, "outcome_condition"))
T_OUTCOME_TS = cython.declare(cython.int, cell_of(TRANSFERS, "outcome_ts_ns"))
T_SETTLED_TS = cython.declare(cython.int, cell_of(TRANSFERS, "settled_ts_ns"))
T_SETTLED_PACKET = cython.declare(cython.int, cell_of(TRANSFERS, "settled_packet_no"))
T_SETTLED_BY = cython.declare(cython.int, cell_of(TRANSFERS, "settled_by"))
T_SETTLE_KIND = cython.declare(cython.int, cell_of(TRANSFERS, "settle_kind"))
T_REPLY_CODE = cython.declare(cython.int, cell_of(TRANSFERS, "reply_code"))
T_TXN = cython.declare(cython.int, cell_of(TRANSFERS, "transaction_id"))
T_TXN_OUTCOME = cython.declare(cython.int, cell_of(TRANSFERS, "transaction_outcome"))
T_RELATED = cython.declare(cython.int, cell_of(TRANSFERS, "related_transfer_id"))
T_RELATION = cython.declare(cython.int, cell_of(TRANSFERS, "relation"))
MAX_INT64 = cython.declare(cython.ulonglong, 0x7FFFFFFFFFFFFFFF)


class Link:
    """A consumer, a getter or a publisher: what its messages have in common."""

    def __init__(self, link_id, session_id, kind: str) -> None:
        self.link_id = link_id
        self.session_id = session_id
        self.kind = kind
        self.queue = None
        self.is_no_ack = False
        self.prefetch = 0
        self.transfer_count = 0
        self.body_bytes = 0
        self.unsettled_count = 0
        self.is_ended = False
        # Columns of the links row that only rare frames fill.
        self.row: dict = {}


# Nothing that it refers to refers back: no cycle can hold it.
@cython.no_gc
@cython.freelist(256)
@cython.cclass
class Transfer:
    """One message, from its first frame to its settlement; made by `new_transfer`."""

    def add_body(self, buf: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Octets of the body; the digest of a one-frame body needs no running state."""
        size: cython.Py_ssize_t = end - start
        if self.hasher is None:
            if self.body_bytes == 0 and size == self.body_size:
                self.digest = digest(buf, start, end)
                self.has_digest = True
            else:
                self.hasher = xxh3_64(cut(buf, start, end))
        else:
            self.hasher.update(cut(buf, start, end))
        self.body_bytes += size
        if self.payload is not None:
            if self.body_bytes <= MAX_PAYLOAD_BYTES:
                self.payload += buf[start:end]
            else:
                self.payload = None
        return 0

    def final_digest(self):
        """xxh3-64 of the whole body, or None when part of it was not seen."""
        if not self.is_complete:
            return None
        if self.has_digest:
            return self.digest
        if self.hasher is not None:
            return self.hasher.intdigest()
        return EMPTY_DIGEST


EMPTY_DIGEST = digest(b"", 0, 0)

if not cython.compiled:
    # What C gives for free: absent values without a store per transfer.
    _ABSENT = dict.fromkeys(
        (
            "session_id",
            "first_ts",
            "last_ts",
            "first_packet",
            "last_packet",
            "frame_count",
            "body_bytes",
            "body_size",
            "missing_bytes",
            "tag",
            "outcome_ts",
            "settled_ts",
            "settled_packet",
            "reply_code",
            "transaction_outcome",
            "related_id",
            "relation",
            "children_left",
            "digest",
        ),
        0,
    )
    _ABSENT |= dict.fromkeys(
        (
            "has_tag",
            "is_presettled",
            "is_redelivered",
            "has_redelivered",
            "has_header",
            "is_complete",
            "is_assembled",
            "is_gapped",
            "is_settled",
            "is_emitted",
            "is_held",
            "has_reply_code",
            "is_mandatory",
            "is_pending",
            "has_digest",
        ),
        False,
    )
    _ABSENT |= dict.fromkeys(
        (
            "link",
            "exchange",
            "routing_key",
            "queue",
            "capture",
            "condition",
            "transaction_id",
            "arguments",
            "hasher",
            "payload",
            "properties",
            "parent",
        )
    )
    for _name, _value in _ABSENT.items():
        setattr(Transfer, _name, _value)


def new_transfer(transfer_id: cython.longlong, kind: cython.longlong, side: cython.int) -> Transfer:
    """A transfer of which only this is known yet."""
    t: Transfer = Transfer.__new__(Transfer)
    t.transfer_id = transfer_id
    t.kind = kind
    t.side = side
    t.class_id = BASIC_CLASS
    t.outcome = NONE
    t.settled_by = NONE
    t.settle_kind = NONE
    return t


def signed_digest(t: Transfer) -> cython.longlong:
    """The digest of a complete body as a cell: the same bits, signed."""
    found: cython.ulonglong = t.digest if t.has_digest else t.final_digest()
    if cython.compiled:
        return cython.cast(cython.longlong, found)
    return signed_int64(found)


def emit_transfer(conn: Connection, t: Transfer) -> cython.int:
    """Write the row of a transfer, once."""
    rows: RowBuffer
    base: cython.Py_ssize_t
    p: Properties
    known: Arguments
    if t.is_emitted:
        return 0
    t.is_emitted = True
    rows = conn.transfers
    base = conn.transfer_row()
    cells = rows.cells
    cells[base + T_SESSION] = t.session_id
    if t.link is not None:
        cells[base + T_LINK] = t.link.link_id
    cells[base + T_ID] = t.transfer_id
    cells[base + T_KIND] = t.kind
    cells[base + T_DIRECTION] = conn.direction_1 if t.side else conn.direction_0
    known = t.arguments
    if known is None or known.exchange is not t.exchange or known.routing_key is not t.routing_key:
        known = Arguments(None, t.exchange, t.routing_key, False, None)
    if (
        known.address_batch != rows.batch_no
        or known.queue is not t.queue
        or known.capture is not t.capture
    ):
        known.code_address(rows, t.queue, t.capture)
    cells[base + T_ADDRESS] = known.address_code
    cells[base + T_EXCHANGE] = known.exchange_code
    cells[base + T_KEY] = known.key_code
    cells[base + T_QUEUE] = known.queue_code
    cells[base + T_CAPTURE] = known.capture_code
    if t.has_tag:
        rows.put_number(base, T_TAG, t.tag)
        cells[base + T_DELIVERY_ID] = t.tag if t.tag < MAX_INT64 else MAX_INT64
    cells[base + T_FIRST_PACKET] = t.first_packet
    cells[base + T_LAST_PACKET] = t.last_packet
    cells[base + T_FIRST_TS] = t.first_ts
    cells[base + T_LAST_TS] = t.last_ts
    cells[base + T_FRAMES] = t.frame_count
    cells[base + T_BODY] = t.body_bytes
    cells[base + T_BODY_KIND] = W_BINARY
    if t.is_complete:
        cells[base + T_HASH] = signed_digest(t)
    p = t.properties
    if p is not None:
        cells[base + T_MESSAGE] = t.body_bytes + p.octets
        emit_properties(rows, base, p)
    cells[base + T_PRESETTLED] = t.is_presettled
    if t.has_redelivered:
        cells[base + T_REDELIVERED] = t.is_redelivered
    cells[base + T_COMPLETE] = t.is_complete
    cells[base + T_ABORTED] = 0
    cells[base + T_RESUMED] = 0
    if t.outcome != NONE:
        cells[base + T_OUTCOME] = t.outcome
        cells[base + T_OUTCOME_TS] = t.outcome_ts
    if t.is_settled:
        cells[base + T_SETTLED_TS] = t.settled_ts
        cells[base + T_SETTLED_PACKET] = t.settled_packet
        cells[base + T_SETTLED_BY] = t.settled_by
        cells[base + T_SETTLE_KIND] = t.settle_kind
    if t.condition is not None:
        cells[base + T_CONDITION] = rows.text(t.condition)
    if t.has_reply_code:
        cells[base + T_REPLY_CODE] = t.reply_code
    if t.transaction_id is not None:
        cells[base + T_TXN] = rows.text(t.transaction_id)
        cells[base + T_TXN_OUTCOME] = t.transaction_outcome
    if t.related_id:
        cells[base + T_RELATED] = t.related_id
        cells[base + T_RELATION] = t.relation
    if t.payload is not None and t.is_complete:
        conn.sink.payloads.append(
            {
                "connection_id": conn.connection_id,
                "transfer_id": t.transfer_id,
                "body": bytes(t.payload),
            }
        )
    t.payload = None
    t.hasher = None
    return 0


def emit_properties(rows: RowBuffer, base: cython.Py_ssize_t, p: Properties) -> cython.int:
    """The message properties' columns of a transfer's row."""
    i: cython.Py_ssize_t
    shared: Properties = p if p.alike is None else p.alike
    cells = rows.cells
    if shared.columns_batch != rows.batch_no:
        code_properties(rows, shared)
    for i in range(shared.column_count):
        cells[base + shared.columns[i]] = shared.column_codes[i]
    if p.message_id is not None:
        rows.put_slice(base, T_MESSAGE_ID, p.message_id, 0, len(p.message_id))
    if p.correlation_id is not None:
        rows.put_slice(base, T_CORRELATION, p.correlation_id, 0, len(p.correlation_id))
    if p.priority >= 0:
        cells[base + T_PRIORITY] = p.priority
    if p.ttl_ms >= 0:
        cells[base + T_TTL] = p.ttl_ms
    if p.durable >= 0:
        cells[base + T_DURABLE] = p.durable
    if p.created_ms >= 0:
        cells[base + T_CREATED] = p.created_ms
    cells[base + T_PROPERTIES] = shared.rest_code
    return 0


def code_properties(rows: RowBuffer, p: Properties) -> cython.int:
    """The codes of its texts in this batch of transfers: most lists are shared by many."""
    p.columns_batch = rows.batch_no
    p.column_count = 0
    for column, text in p.text_columns:
        p.columns[p.column_count] = column
        p.column_codes[p.column_count] = rows.text(text)
        p.column_count += 1
    p.rest_code = NULL_CELL if p.rest_json is None else rows.text(p.rest_json)
    return 0
