"""Transfer frames in their usual encodings (1.0 §2.7.5), read where they stand.

What is odd about one is left to the tables in `rare.py`.
"""

import cython

from dissectors.amqp10.delivery import Delivery, DeliveryState
from dissectors.amqp10.fields import Fields, layout
from dissectors.amqp10.frame_texts import FrameTexts
from dissectors.amqp10.hot_outcome import plain_outcome
from dissectors.amqp10.link import Link
from dissectors.amqp10.octets import after_code, cut
from dissectors.amqp10.session import Session
from dissectors.amqp10.state import ConnectionState
from dissectors.core.rows import RowBuffer, cell_of
from dissectors.core.words import word
from dissectors.tables import FRAMES

F_SESSION = cython.declare(cython.int, cell_of(FRAMES, "session_id"))
F_LINK = cython.declare(cython.int, cell_of(FRAMES, "link_id"))
F_TRANSFER = cython.declare(cython.int, cell_of(FRAMES, "transfer_id"))
F_TYPE = cython.declare(cython.int, cell_of(FRAMES, "frame_type"))
F_NAME = cython.declare(cython.int, cell_of(FRAMES, "name"))
F_STATUS = cython.declare(cython.int, cell_of(FRAMES, "status"))
F_DELIVERY_ID = cython.declare(cython.int, cell_of(FRAMES, "delivery_id"))
F_TAG = cython.declare(cython.int, cell_of(FRAMES, "delivery_tag"))
F_SETTLED = cython.declare(cython.int, cell_of(FRAMES, "is_settled"))
F_MORE = cython.declare(cython.int, cell_of(FRAMES, "is_more"))
F_OUTCOME = cython.declare(cython.int, cell_of(FRAMES, "outcome"))
F_BODY_BYTES = cython.declare(cython.int, cell_of(FRAMES, "body_bytes"))
F_FIELDS = cython.declare(cython.int, cell_of(FRAMES, "fields"))

W_AMQP = cython.declare(cython.longlong, word("amqp"))
W_OK = cython.declare(cython.longlong, word("ok"))
W_TRANSFER = cython.declare(cython.longlong, word("transfer"))
W_INCOMPLETE = cython.declare(cython.longlong, word("incomplete"))
#: handle, delivery-id, delivery-tag, message-format, settled, more, rcv-settle-mode, state, resume,
#: aborted, batchable.
LAYOUT = cython.declare(
    bytes,
    layout(
        "uint", "uint", "binary", "uint", "boolean", "boolean", "ubyte", "state", "boolean",
        "boolean", "boolean",
    ),
)  # fmt: skip


def take_transfer(
    state: ConnectionState,
    fields: Fields,
    texts: FrameTexts,
    side: cython.int,
    channel: cython.longlong,
    buf: bytes,
    start: cython.Py_ssize_t,
    body: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.int:
    """1 if taken; 0 if the tables must read it."""
    rows: RowBuffer = state.conn.frames
    payload: cython.Py_ssize_t = fields.read(buf, after_code(buf, body), end, LAYOUT)
    base: cython.Py_ssize_t
    key: cython.longlong
    session: Session
    link: Link
    delivery: Delivery
    tag: bytes = None
    outcome: DeliveryState = None
    if payload < 0:
        return 0
    handle: cython.longlong = fields.numbers[0]
    delivery_id: cython.longlong = fields.numbers[1]
    tag_at: cython.Py_ssize_t = fields.numbers[2]
    message_format: cython.longlong = fields.numbers[3]
    settled: cython.int = fields.numbers[4]
    more: cython.int = fields.numbers[5]
    mode: cython.longlong = fields.numbers[6]
    resume: cython.int = fields.numbers[8]
    aborted: cython.int = fields.numbers[9]
    batchable: cython.int = fields.numbers[10]
    if handle < 0 or message_format > 0 or mode > 1:
        return 0
    if tag_at >= 0:
        tag = cut(buf, tag_at, tag_at + buf[tag_at - 1])
    outcome = plain_outcome(fields.numbers[7])
    base = state.frame_row(side, channel, end - start)
    session = state.session_of(side, channel)
    link = state.link_of(session, side, handle, side)
    delivery = state.transfer(
        session, link, side, delivery_id, tag, message_format, settled, more, resume, aborted,
        outcome, buf, payload, end,
    )  # fmt: skip
    rows.cells[base + F_TYPE] = W_AMQP
    rows.cells[base + F_NAME] = W_TRANSFER
    rows.cells[base + F_STATUS] = W_INCOMPLETE if state.has_hole else W_OK
    rows.cells[base + F_SESSION] = session.session_id
    rows.cells[base + F_LINK] = link.link_id
    rows.cells[base + F_TRANSFER] = delivery.transfer_id
    if delivery_id >= 0:
        rows.cells[base + F_DELIVERY_ID] = delivery_id
    if tag is not None:
        rows.put_hex(base, F_TAG, tag)
    if settled >= 0:
        rows.cells[base + F_SETTLED] = settled
    rows.cells[base + F_MORE] = 1 if more == 1 else 0
    if outcome is not None:
        rows.cells[base + F_OUTCOME] = outcome.word
    rows.cells[base + F_BODY_BYTES] = end - payload
    key = (
        (((((handle * 2 + message_format + 1) * 3 + mode + 1) * 3 + resume + 1) * 3)
        + aborted + 1) * 3 + batchable + 1
    )  # fmt: skip
    if link.fields_key != key or link.fields_batch != rows.batch_no:
        link.fields_key = key
        link.fields_batch = rows.batch_no
        link.fields_code = rows.text(
            texts.transfer(key, handle, message_format, mode, resume, aborted, batchable)
        )
    rows.cells[base + F_FIELDS] = link.fields_code
    return 1
