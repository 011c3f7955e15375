"""Flow frames in their usual encodings (1.0 §2.7.4), read where they stand.

What is odd about one is left to the tables in `rare.py`.
"""

import cython

from dissectors.amqp10.fields import Fields, layout
from dissectors.amqp10.frame_texts import flow_text
from dissectors.amqp10.link import Link
from dissectors.amqp10.octets import after_code
from dissectors.amqp10.registry import likely_sender
from dissectors.amqp10.session import Session
from dissectors.amqp10.state import ConnectionState
from dissectors.core.rows import RowBuffer, cell_of
from dissectors.core.words import word
from dissectors.tables import FRAMES

F_SESSION = cython.declare(cython.int, cell_of(FRAMES, "session_id"))
F_LINK = cython.declare(cython.int, cell_of(FRAMES, "link_id"))
F_TYPE = cython.declare(cython.int, cell_of(FRAMES, "frame_type"))
F_NAME = cython.declare(cython.int, cell_of(FRAMES, "name"))
F_STATUS = cython.declare(cython.int, cell_of(FRAMES, "status"))
F_LINK_CREDIT = cython.declare(cython.int, cell_of(FRAMES, "link_credit"))
F_DELIVERY_COUNT = cython.declare(cython.int, cell_of(FRAMES, "delivery_count"))
F_FIELDS = cython.declare(cython.int, cell_of(FRAMES, "fields"))

W_AMQP = cython.declare(cython.longlong, word("amqp"))
W_OK = cython.declare(cython.longlong, word("ok"))
W_FLOW = cython.declare(cython.longlong, word("flow"))
#: next-incoming-id, incoming-window, next-outgoing-id, outgoing-window, handle, delivery-count,
#: link-credit, available, drain, echo.
LAYOUT = cython.declare(bytes, layout(*["uint"] * 8, "boolean", "boolean"))


def take_flow(
    state: ConnectionState,
    fields: Fields,
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
    sender: cython.int
    session: Session
    link: Link = None
    if fields.read(buf, after_code(buf, body), end, LAYOUT) != end:
        return 0
    next_incoming_id: cython.longlong = fields.numbers[0]
    incoming_window: cython.longlong = fields.numbers[1]
    next_outgoing_id: cython.longlong = fields.numbers[2]
    outgoing_window: cython.longlong = fields.numbers[3]
    handle: cython.longlong = fields.numbers[4]
    delivery_count: cython.longlong = fields.numbers[5]
    link_credit: cython.longlong = fields.numbers[6]
    available: cython.longlong = fields.numbers[7]
    drain: cython.int = fields.numbers[8]
    echo: cython.int = fields.numbers[9]
    if incoming_window < 0 or next_outgoing_id < 0 or outgoing_window < 0:
        return 0
    base = state.frame_row(side, channel, end - start)
    session = state.session_of(side, channel)
    if handle >= 0:
        sender = likely_sender(side, link_credit, available, drain)
        link = state.link_of(session, side, handle, sender)
    state.flow(
        session, link, side, next_incoming_id, incoming_window, next_outgoing_id,
        outgoing_window, delivery_count, link_credit, available, drain, echo,
    )  # fmt: skip
    rows.cells[base + F_TYPE] = W_AMQP
    rows.cells[base + F_NAME] = W_FLOW
    rows.cells[base + F_STATUS] = W_OK
    rows.cells[base + F_SESSION] = session.session_id
    if link is not None:
        rows.cells[base + F_LINK] = link.link_id
    if link_credit >= 0:
        rows.cells[base + F_LINK_CREDIT] = link_credit
    if delivery_count >= 0:
        rows.cells[base + F_DELIVERY_COUNT] = delivery_count
    rows.cells[base + F_FIELDS] = rows.text(
        flow_text(
            next_incoming_id, incoming_window, next_outgoing_id, outgoing_window, handle,
            available, drain, echo,
        )
    )  # fmt: skip
    return 1
