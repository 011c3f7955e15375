"""Disposition frames in their usual encodings (1.0 §2.7.6), read where they stand.

What is odd about one is left to the tables in `rare.py`.
"""

import cython

from dissectors.amqp10.delivery import Delivery, DeliveryState
from dissectors.amqp10.fields import Fields, layout
from dissectors.amqp10.frame_texts import FrameTexts
from dissectors.amqp10.hot_outcome import plain_outcome
from dissectors.amqp10.link import Link
from dissectors.amqp10.octets import after_code
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
F_DELIVERY_LAST = cython.declare(cython.int, cell_of(FRAMES, "delivery_last"))
F_SETTLED = cython.declare(cython.int, cell_of(FRAMES, "is_settled"))
F_OUTCOME = cython.declare(cython.int, cell_of(FRAMES, "outcome"))
F_FIELDS = cython.declare(cython.int, cell_of(FRAMES, "fields"))

W_AMQP = cython.declare(cython.longlong, word("amqp"))
W_OK = cython.declare(cython.longlong, word("ok"))
W_DISPOSITION = cython.declare(cython.longlong, word("disposition"))
#: role, first, last, settled, state, batchable.
LAYOUT = cython.declare(bytes, layout("boolean", "uint", "uint", "boolean", "state", "boolean"))


def take_disposition(
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
    base: cython.Py_ssize_t
    session: Session
    delivery: Delivery
    link: Link
    outcome: DeliveryState
    if fields.read(buf, after_code(buf, body), end, LAYOUT) != end:
        return 0
    role: cython.int = fields.numbers[0]
    first: cython.longlong = fields.numbers[1]
    last: cython.longlong = fields.numbers[2]
    settled: cython.int = fields.numbers[3]
    batchable: cython.int = fields.numbers[5]
    if role < 0 or first < 0:
        return 0
    outcome = plain_outcome(fields.numbers[4])
    base = state.frame_row(side, channel, end - start)
    session = state.session_of(side, channel)
    delivery = state.disposition(session, side, role, first, last, settled, outcome)
    rows.cells[base + F_TYPE] = W_AMQP
    rows.cells[base + F_NAME] = W_DISPOSITION
    rows.cells[base + F_STATUS] = W_OK
    rows.cells[base + F_SESSION] = session.session_id
    if delivery is not None:
        link = delivery.link
        rows.cells[base + F_LINK] = link.link_id
        rows.cells[base + F_TRANSFER] = delivery.transfer_id
    rows.cells[base + F_DELIVERY_ID] = first
    if last >= 0:
        rows.cells[base + F_DELIVERY_LAST] = last
    rows.cells[base + F_SETTLED] = 1 if settled == 1 else 0
    if outcome is not None:
        rows.cells[base + F_OUTCOME] = outcome.word
    rows.cells[base + F_FIELDS] = texts.disposition(rows, role, batchable)
    return 1
