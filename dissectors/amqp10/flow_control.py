"""Both flow controls of one connection (1.0 §2.5.6, §2.6.7): session windows, which count
transfer frames, and link credit, which counts deliveries. Every change is a row of `credits`."""

import cython

from dissectors.amqp10.link import Link
from dissectors.amqp10.registry import Registry
from dissectors.amqp10.serial import serial_add, serial_diff
from dissectors.amqp10.session import Endpoint, Session
from dissectors.core.connection import Connection
from dissectors.core.rows import NULL_CELL
from dissectors.core.words import word

NULL = cython.declare(cython.longlong, NULL_CELL)
W_FLOW = cython.declare(cython.longlong, word("flow"))
W_CREDIT_EXHAUSTED = cython.declare(cython.longlong, word("credit-exhausted"))
W_WINDOW_EXHAUSTED = cython.declare(cython.longlong, word("window-exhausted"))


class FlowControl(Registry):
    """Windows and credit of the sessions and links in the registry."""

    def __init__(self, conn: Connection) -> None:
        Registry.__init__(self, conn)

    def flow(
        self,
        session: Session,
        link,
        side: cython.int,
        next_incoming_id: cython.longlong,
        incoming_window: cython.longlong,
        next_outgoing_id: cython.longlong,
        outgoing_window: cython.longlong,
        delivery_count: cython.longlong,
        link_credit: cython.longlong,
        available: cython.longlong,
        drain: cython.int,
        echo: cython.int,
    ) -> cython.int:
        """1.0 §2.7.4: the session's windows as one side sees them and, with a link, its credit."""
        granted: cython.longlong = NULL
        base: cython.Py_ssize_t
        self.window(
            session, side, next_incoming_id, incoming_window, next_outgoing_id, outgoing_window
        )
        if link is not None:
            if side == link.sender:
                granted = self._sender_flow(link, delivery_count, available)
            elif link_credit >= 0:
                granted = self._receiver_flow(link, delivery_count, link_credit, drain)
        base = self.credits.write(W_FLOW, session, link, side, self.ts_ns, self.packet_no)
        self.credits.write_flow(
            base,
            _known(next_incoming_id),
            _known(incoming_window),
            _known(next_outgoing_id),
            _known(outgoing_window),
        )
        self.credits.write_echo(base, 1 if echo == 1 else 0)
        if link is not None:
            self.credits.write_link(
                base,
                _known(link_credit),
                _known(delivery_count),
                _known(available),
                1 if drain == 1 else 0,
                granted,
            )
        return 0

    def window(
        self,
        session: Session,
        side: cython.int,
        next_incoming_id: cython.longlong,
        incoming_window: cython.longlong,
        next_outgoing_id: cython.longlong,
        outgoing_window: cython.longlong,
    ) -> cython.int:
        """What one side says of its windows, and what that leaves the other side to send."""
        own: Endpoint = session.end_1 if side else session.end_0
        other: Endpoint = session.end_0 if side else session.end_1
        own.incoming_window = _known(incoming_window)
        own.outgoing_window = _known(outgoing_window)
        if next_outgoing_id >= 0:
            own.next_outgoing_id = next_outgoing_id
        if next_incoming_id < 0:
            next_incoming_id = other.initial_outgoing_id
        if other.next_outgoing_id == NULL:
            other.next_outgoing_id = next_incoming_id
        if incoming_window >= 0:
            other.remote_window = incoming_window
            if next_incoming_id >= 0:
                # 1.0 §2.5.6: frames on their way already use a part of the window.
                other.remote_window -= serial_diff(other.next_outgoing_id, next_incoming_id)
        return 0

    def _receiver_flow(
        self,
        link: Link,
        delivery_count: cython.longlong,
        link_credit: cython.longlong,
        drain: cython.int,
    ) -> cython.longlong:
        """The credit that this grant adds to what was granted before."""
        old: cython.longlong = link.limit
        if delivery_count < 0:
            # 1.0 §2.7.4: not known to the receiver yet, so it counts from the initial value.
            delivery_count = link.initial_delivery_count
            if delivery_count == NULL:
                delivery_count = link.delivery_count if link.delivery_count != NULL else 0
        if link.delivery_count == NULL or serial_diff(delivery_count, link.delivery_count) > 0:
            link.delivery_count = delivery_count
        if old == NULL:
            old = delivery_count
        link.limit = serial_add(delivery_count, link_credit)
        link.receiver_credit = link_credit
        link.is_draining = drain == 1
        if link.initial_credit == NULL:
            link.initial_credit = link_credit
        return serial_diff(link.limit, old)

    def _sender_flow(
        self, link: Link, delivery_count: cython.longlong, available: cython.longlong
    ) -> cython.longlong:
        """Minus the credit that the sender gave up: draining advances its delivery-count."""
        advance: cython.longlong = 0
        if available >= 0:
            link.available = available
        if delivery_count < 0:
            return NULL
        if link.delivery_count != NULL:
            advance = serial_diff(delivery_count, link.delivery_count)
        link.delivery_count = delivery_count
        if advance <= 0 or link.limit == NULL:
            return NULL
        if link.receiver_credit != NULL:
            link.receiver_credit -= advance
        return -advance

    def count_frame(self, session: Session, endpoint: Endpoint, side: cython.int) -> cython.int:
        """1.0 §2.5.6: each transfer frame uses one place of the session window."""
        if endpoint.next_outgoing_id != NULL:
            endpoint.next_outgoing_id = serial_add(endpoint.next_outgoing_id, 1)
        if endpoint.remote_window != NULL:
            endpoint.remote_window -= 1
            if endpoint.remote_window == 0:
                self.credits.write(
                    W_WINDOW_EXHAUSTED, session, None, side, self.ts_ns, self.packet_no
                )
        return 0

    def use_credit(self, session: Session, link: Link, side: cython.int) -> cython.int:
        if link.delivery_count == NULL:
            return 0
        link.delivery_count = serial_add(link.delivery_count, 1)
        if link.receiver_credit != NULL:
            link.receiver_credit -= 1
        if link.limit == link.delivery_count:
            self.credits.write(W_CREDIT_EXHAUSTED, session, link, side, self.ts_ns, self.packet_no)
        return 0


def _known(number: cython.longlong) -> cython.longlong:
    return NULL if number < 0 else number
