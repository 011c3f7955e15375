"""Transfer frames in their usual encodings (1.0 §2.7.5), read where they stand.

What is odd about one is left to the tables in `rare.py`.
"""

import cython

from dissectors.amqp10.delivery import Delivery, DeliveryState
from dissectors.amqp10.frame_texts import FrameTexts
from dissectors.amqp10.hot_outcome import UNREAD, plain_outcome
from dissectors.amqp10.link import Link
from dissectors.amqp10.octets import (
    after_code,
    cut,
    list_count,
    list_items,
    skip_value,
    take_boolean,
    take_uint,
)
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
STRANGE = cython.declare(object, UNREAD)


def take_transfer(
    state: ConnectionState,
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
    at: cython.Py_ssize_t = after_code(buf, body)
    payload: cython.Py_ssize_t = skip_value(buf, at, end, 0)
    stop: cython.Py_ssize_t
    base: cython.Py_ssize_t
    count: cython.longlong = list_count(buf, at, payload)
    i: cython.longlong
    taken: cython.longlong
    handle: cython.longlong = -1
    delivery_id: cython.longlong = -1
    message_format: cython.longlong = -1
    mode: cython.longlong = -1
    settled: cython.int = -1
    more: cython.int = -1
    resume: cython.int = -1
    aborted: cython.int = -1
    batchable: cython.int = -1
    key: cython.longlong
    session: Session
    link: Link
    delivery: Delivery
    tag: bytes = None
    outcome: DeliveryState = None
    if count < 1 or count > 11:
        return 0
    at = list_items(buf, at)
    for i in range(count):
        if i == 2 or i == 6 or i == 7:
            stop = skip_value(buf, at, payload, 0)
            if stop < 0:
                return 0
            if i == 7:
                outcome = plain_outcome(buf, at, stop)
                if outcome is STRANGE:
                    return 0
            elif i == 2 and buf[at] == 0xA0:
                tag = cut(buf, at + 2, stop)
            elif i == 6 and buf[at] == 0x50:
                mode = buf[at + 1]
            elif buf[at] != 0x40:
                return 0
            at = stop
            continue
        taken = take_uint(buf, at, payload) if i < 4 else take_boolean(buf, at, payload)
        if taken == 0:
            return 0
        at += taken & 7
        taken >>= 3
        if i == 0:
            handle = taken
        elif i == 1:
            delivery_id = taken
        elif i == 3:
            message_format = taken
        elif i == 4:
            settled = taken
        elif i == 5:
            more = taken
        elif i == 8:
            resume = taken
        elif i == 9:
            aborted = taken
        else:
            batchable = taken
    if at != payload or handle < 0 or message_format > 0 or mode > 1:
        return 0
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
