"""Deliveries → rows of `transfers`: the message's own properties are read here, at the end,
straight into the row. Decides nothing about settlement; that has happened before."""

import cython

from dissectors.amqp10.delivery import Delivery
from dissectors.amqp10.head import HeadReader
from dissectors.amqp10.link import Link
from dissectors.amqp10.session import Session
from dissectors.core.connection import Connection
from dissectors.core.rows import NULL_CELL, RowBuffer, cell_of
from dissectors.core.words import word
from dissectors.tables import TRANSFERS

NULL = cython.declare(cython.longlong, NULL_CELL)
KIND = cython.declare(cython.longlong, word("transfer"))
T_SESSION = cython.declare(cython.int, cell_of(TRANSFERS, "session_id"))
T_LINK = cython.declare(cython.int, cell_of(TRANSFERS, "link_id"))
T_TRANSFER = cython.declare(cython.int, cell_of(TRANSFERS, "transfer_id"))
T_KIND = cython.declare(cython.int, cell_of(TRANSFERS, "kind"))
T_DIRECTION = cython.declare(cython.int, cell_of(TRANSFERS, "direction"))
T_ADDRESS = cython.declare(cython.int, cell_of(TRANSFERS, "address"))
T_DELIVERY_ID = cython.declare(cython.int, cell_of(TRANSFERS, "delivery_id"))
T_TAG = cython.declare(cython.int, cell_of(TRANSFERS, "delivery_tag"))
T_CAPTURE = cython.declare(cython.int, cell_of(TRANSFERS, "capture"))
T_FIRST_PACKET = cython.declare(cython.int, cell_of(TRANSFERS, "first_packet_no"))
T_LAST_PACKET = cython.declare(cython.int, cell_of(TRANSFERS, "last_packet_no"))
T_FIRST_TS = cython.declare(cython.int, cell_of(TRANSFERS, "first_ts_ns"))
T_LAST_TS = cython.declare(cython.int, cell_of(TRANSFERS, "last_ts_ns"))
T_FRAMES = cython.declare(cython.int, cell_of(TRANSFERS, "frame_count"))
T_BODY_BYTES = cython.declare(cython.int, cell_of(TRANSFERS, "body_bytes"))
T_MESSAGE_BYTES = cython.declare(cython.int, cell_of(TRANSFERS, "message_bytes"))
T_BODY_KIND = cython.declare(cython.int, cell_of(TRANSFERS, "body_kind"))
T_BODY_HASH = cython.declare(cython.int, cell_of(TRANSFERS, "body_hash"))
T_PRESETTLED = cython.declare(cython.int, cell_of(TRANSFERS, "is_presettled"))
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
T_TXN = cython.declare(cython.int, cell_of(TRANSFERS, "transaction_id"))
T_TXN_OUTCOME = cython.declare(cython.int, cell_of(TRANSFERS, "transaction_outcome"))
T_RELATED = cython.declare(cython.int, cell_of(TRANSFERS, "related_transfer_id"))
T_RELATION = cython.declare(cython.int, cell_of(TRANSFERS, "relation"))

#: 1.0 §3.4: what can become of a message. A coordinator's `declared` (§4.5.5) is an answer to a
#: request and stays with the frame.
OUTCOMES = cython.declare(
    dict, {name: word(name) for name in ("accepted", "rejected", "released", "modified")}
)


class TransferWriter:
    """Writes the transfers of one connection."""

    def __init__(self, conn: Connection, head_reader: HeadReader) -> None:
        self.conn = conn
        self.head_reader = head_reader
        # The capture's code in the present batch: nearly all deliveries begin in the same file.
        self.capture: str | None = None
        self.capture_batch = -1
        self.capture_code = 0
        # The last outcome and its code.
        self.outcome: str | None = None
        self.outcome_code = NULL_CELL

    def write(self, delivery: Delivery) -> cython.int:
        """The one row of a delivery."""
        rows: RowBuffer = self.conn.transfers
        base: cython.Py_ssize_t = self.conn.transfer_row()
        link: Link = delivery.link
        session: Session = delivery.session
        rows.cells[base + T_TRANSFER] = delivery.transfer_id
        rows.cells[base + T_KIND] = KIND
        rows.cells[base + T_DIRECTION] = self.conn.direction(delivery.side)
        if link is not None:
            rows.cells[base + T_LINK] = link.link_id
            if link.address is not None:
                if link.address_batch != rows.batch_no:
                    link.address_batch = rows.batch_no
                    link.address_code = rows.text(link.address)
                rows.cells[base + T_ADDRESS] = link.address_code
        if session is not None:
            rows.cells[base + T_SESSION] = session.session_id
        rows.cells[base + T_DELIVERY_ID] = delivery.delivery_id
        if delivery.tag is not None:
            rows.put_hex(base, T_TAG, delivery.tag)
        if self.capture is not delivery.capture or self.capture_batch != rows.batch_no:
            self.capture = delivery.capture
            self.capture_batch = rows.batch_no
            self.capture_code = rows.text(delivery.capture or "")
        rows.cells[base + T_CAPTURE] = self.capture_code
        rows.cells[base + T_FIRST_PACKET] = delivery.first_packet
        rows.cells[base + T_LAST_PACKET] = delivery.last_packet
        rows.cells[base + T_FIRST_TS] = delivery.first_ts
        rows.cells[base + T_LAST_TS] = delivery.last_ts
        rows.cells[base + T_FRAMES] = delivery.frame_count
        rows.cells[base + T_BODY_BYTES] = delivery.body_bytes
        rows.cells[base + T_MESSAGE_BYTES] = delivery.message_bytes
        rows.cells[base + T_BODY_KIND] = delivery.body_kind
        rows.cells[base + T_BODY_HASH] = delivery.body_hash
        rows.cells[base + T_PRESETTLED] = delivery.is_presettled
        rows.cells[base + T_COMPLETE] = delivery.is_complete
        rows.cells[base + T_ABORTED] = delivery.is_aborted
        rows.cells[base + T_RESUMED] = delivery.is_resumed
        if delivery.outcome is not None and delivery.is_settled:
            rows.cells[base + T_OUTCOME] = self._outcome_code(delivery.outcome)
        if delivery.condition is not None:
            rows.cells[base + T_CONDITION] = rows.text(delivery.condition)
        rows.cells[base + T_OUTCOME_TS] = delivery.outcome_ts
        rows.cells[base + T_SETTLED_TS] = delivery.settled_ts
        rows.cells[base + T_SETTLED_PACKET] = delivery.settled_packet
        rows.cells[base + T_SETTLED_BY] = delivery.settled_by
        rows.cells[base + T_SETTLE_KIND] = delivery.settle_kind
        if delivery.txn_id is not None:
            rows.cells[base + T_TXN] = rows.text(delivery.txn_id.hex())
            rows.cells[base + T_TXN_OUTCOME] = delivery.txn_outcome
        if delivery.related != NULL:
            rows.cells[base + T_RELATED] = delivery.related
            rows.cells[base + T_RELATION] = delivery.relation
        if delivery.is_complete:
            self.head_reader.read(rows, base, delivery.head)
        return 0

    def _outcome_code(self, outcome: str) -> cython.longlong:
        if outcome is not self.outcome:
            self.outcome_code = OUTCOMES.get(outcome, NULL_CELL)
            self.outcome = outcome
        return self.outcome_code
