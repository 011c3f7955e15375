"""Rows of `credits`: every stated change of credit or window, and the moments when one is used
up, with the state after it on both sides (1.0 §2.5.6, §2.6.7)."""

from typing import Optional

import cython

from dissectors.amqp10.link import Link
from dissectors.amqp10.serial import serial_diff
from dissectors.amqp10.session import Session
from dissectors.core.connection import Connection
from dissectors.core.rows import NULL_CELL, RowBuffer, cell_of
from dissectors.tables import CREDITS

NULL = cython.declare(cython.longlong, NULL_CELL)
C_CONNECTION = cython.declare(cython.int, cell_of(CREDITS, "connection_id"))
C_SESSION = cython.declare(cython.int, cell_of(CREDITS, "session_id"))
C_LINK = cython.declare(cython.int, cell_of(CREDITS, "link_id"))
C_TS = cython.declare(cython.int, cell_of(CREDITS, "ts_ns"))
C_DIRECTION = cython.declare(cython.int, cell_of(CREDITS, "direction"))
C_PACKET = cython.declare(cython.int, cell_of(CREDITS, "packet_no"))
C_FRAME = cython.declare(cython.int, cell_of(CREDITS, "frame_no"))
C_EVENT = cython.declare(cython.int, cell_of(CREDITS, "event"))
C_LINK_CREDIT = cython.declare(cython.int, cell_of(CREDITS, "link_credit"))
C_DELIVERY_COUNT = cython.declare(cython.int, cell_of(CREDITS, "delivery_count"))
C_AVAILABLE = cython.declare(cython.int, cell_of(CREDITS, "available"))
C_DRAIN = cython.declare(cython.int, cell_of(CREDITS, "is_drain"))
C_ECHO = cython.declare(cython.int, cell_of(CREDITS, "is_echo"))
C_GRANTED = cython.declare(cython.int, cell_of(CREDITS, "granted"))
C_SENDER_CREDIT = cython.declare(cython.int, cell_of(CREDITS, "sender_credit"))
C_RECEIVER_CREDIT = cython.declare(cython.int, cell_of(CREDITS, "receiver_credit"))
C_UNSETTLED = cython.declare(cython.int, cell_of(CREDITS, "unsettled_count"))
C_CLIENT_WINDOW = cython.declare(cython.int, cell_of(CREDITS, "client_incoming_window"))
C_SERVER_WINDOW = cython.declare(cython.int, cell_of(CREDITS, "server_incoming_window"))
C_NEXT_INCOMING = cython.declare(cython.int, cell_of(CREDITS, "next_incoming_id"))
C_NEXT_OUTGOING = cython.declare(cython.int, cell_of(CREDITS, "next_outgoing_id"))
C_INCOMING = cython.declare(cython.int, cell_of(CREDITS, "incoming_window"))
C_OUTGOING = cython.declare(cython.int, cell_of(CREDITS, "outgoing_window"))


class CreditWriter:
    """Writes the credits of one connection."""

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        self.rows: RowBuffer = conn.sink.credits
        self.batch_no = -1
        self.connection_code = 0

    def write(
        self,
        event: cython.longlong,
        session: Session,
        link: Optional[Link],  # noqa: UP045  (Cython reads it)
        side: cython.int,
        ts_ns: cython.longlong,
        packet_no: cython.longlong,
    ) -> cython.Py_ssize_t:
        """A row with the state as it is now; the caller adds what the frame stated."""
        rows: RowBuffer = self.rows
        base: cython.Py_ssize_t = rows.new_row()
        cells = rows.cells
        if self.batch_no != rows.batch_no:
            self.batch_no = rows.batch_no
            self.connection_code = rows.text(self.conn.connection_id)
        cells[base + C_CONNECTION] = self.connection_code
        cells[base + C_SESSION] = session.session_id
        cells[base + C_TS] = ts_ns
        cells[base + C_DIRECTION] = self.conn.direction(side)
        cells[base + C_PACKET] = packet_no
        cells[base + C_FRAME] = self.conn.frame_no
        cells[base + C_EVENT] = event
        # What the server may still send is the room in the client's window, and the reverse.
        cells[base + C_CLIENT_WINDOW] = session.end_1.remote_window
        cells[base + C_SERVER_WINDOW] = session.end_0.remote_window
        if link is not None:
            cells[base + C_LINK] = link.link_id
            cells[base + C_SENDER_CREDIT] = sender_credit(link)
            cells[base + C_RECEIVER_CREDIT] = link.receiver_credit
            cells[base + C_UNSETTLED] = link.unsettled_count
        return base

    def write_flow(
        self,
        base: cython.Py_ssize_t,
        next_incoming_id: cython.longlong,
        incoming_window: cython.longlong,
        next_outgoing_id: cython.longlong,
        outgoing_window: cython.longlong,
    ) -> cython.int:
        """What a begin or flow stated about the session."""
        cells = self.rows.cells
        cells[base + C_NEXT_INCOMING] = next_incoming_id
        cells[base + C_INCOMING] = incoming_window
        cells[base + C_NEXT_OUTGOING] = next_outgoing_id
        cells[base + C_OUTGOING] = outgoing_window
        return 0

    def write_link(
        self,
        base: cython.Py_ssize_t,
        link_credit: cython.longlong,
        delivery_count: cython.longlong,
        available: cython.longlong,
        drain: cython.int,
        granted: cython.longlong,
    ) -> cython.int:
        """What a flow stated about a link, and what that added to its credit."""
        cells = self.rows.cells
        cells[base + C_LINK_CREDIT] = link_credit
        cells[base + C_DELIVERY_COUNT] = delivery_count
        cells[base + C_AVAILABLE] = available
        cells[base + C_DRAIN] = drain
        cells[base + C_GRANTED] = granted
        return 0

    def write_echo(self, base: cython.Py_ssize_t, echo: cython.int) -> cython.int:
        self.rows.cells[base + C_ECHO] = echo
        return 0


def sender_credit(link: Link) -> cython.longlong:
    """1.0 §2.6.7: delivery-count_rcv + link-credit_rcv - delivery-count_snd; NULL if unknown."""
    if link.limit == NULL or link.delivery_count == NULL:
        return NULL
    return serial_diff(link.limit, link.delivery_count)
