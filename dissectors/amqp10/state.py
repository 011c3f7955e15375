"""The state of one connection (1.0 §2.4 to §2.7): sessions, links, deliveries, credit.

One model for every feeder: the quick frame path, the table-driven one, and other versions of
the protocol call the same methods with plain values (-1 for a number that was not there, -1 for
a boolean that was not there). How frames are encoded is not known here. The rare changes
(begin, attach, detach, end) are in `lifecycle.py`, transactions in `transactions.py`.
"""

import cython

from dissectors.amqp10.assembly import finish_message
from dissectors.amqp10.credit import CreditWriter
from dissectors.amqp10.delivery import Delivery
from dissectors.amqp10.emit import TransferWriter
from dissectors.amqp10.head import HeadReader
from dissectors.amqp10.link import Link
from dissectors.amqp10.serial import serial_add, serial_diff
from dissectors.amqp10.session import Endpoint, Session
from dissectors.amqp10.transactions import Transactions
from dissectors.core.connection import Connection
from dissectors.core.rows import NULL_CELL
from dissectors.core.words import word

#: Unsettled deliveries remembered for one side of a session; the oldest is written beyond it.
MAX_UNSETTLED = 262_144
#: Octets of one message kept while its transfers are joined.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
#: Links and sessions of one connection, open or not.
MAX_LINKS = 65_536
MAX_SESSIONS = 65_536

NULL = cython.declare(cython.longlong, NULL_CELL)
W_SINGLE = cython.declare(cython.longlong, word("single"))
W_RANGE = cython.declare(cython.longlong, word("range"))
W_PRESETTLED = cython.declare(cython.longlong, word("presettled"))
W_IMPLICIT = cython.declare(cython.longlong, word("implicit"))
W_SENDER = cython.declare(cython.longlong, word("sender"))
W_RECEIVER = cython.declare(cython.longlong, word("receiver"))
W_FLOW = cython.declare(cython.longlong, word("flow"))
W_CREDIT_EXHAUSTED = cython.declare(cython.longlong, word("credit-exhausted"))
W_WINDOW_EXHAUSTED = cython.declare(cython.longlong, word("window-exhausted"))
W_RESUME_OF = cython.declare(cython.longlong, word("resume-of"))


class ConnectionState:
    """Everything that is known of one connection at the present frame.

    The feeder sets `ts_ns` and `packet_no` before each call: they are when and where the
    change was seen.
    """

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        self.ts_ns = 0
        self.packet_no = 0
        self.offset = 0
        self.transfers = TransferWriter(conn, HeadReader())
        self.credits = CreditWriter(conn)
        self.transactions = Transactions(self)
        # Reads whole messages in another format than the standard's; None: they are standard.
        self.reader = None
        self.channels_0: dict = {}
        self.channels_1: dict = {}
        self.sessions: list = []
        self.links: list = []
        # Deliveries of detached links by (name, sender) and tag, until they are resumed.
        self.suspended: dict = {}
        # A connection whose start or middle is missing: what is unknown is then inferred.
        self.is_partial = True
        self.is_limited = False
        # The present frame misses some of its octets.
        self.has_hole = False

    # -- finding --------------------------------------------------------------------------

    def session_of(self, side: cython.int, channel: cython.longlong) -> Session:
        """The session that a side's channel belongs to, inferred if its begin was not seen."""
        channels: dict = self.channels_1 if side else self.channels_0
        session = channels.get(channel)
        return self._infer_session(side, channel) if session is None else session

    def _infer_session(self, side: cython.int, channel: cython.longlong) -> Session:
        channels: dict = self.channels_1 if side else self.channels_0
        others: dict = self.channels_0 if side else self.channels_1
        if not self.is_partial:
            self.problem("state10.unknown_channel", f"channel {channel} has no session", side)
        # Peers nearly always answer on the number that they were called on.
        session: Session = others.get(channel)
        if session is None or self.end_of(session, side).channel != NULL:
            session = self.new_session()
            session.begin_ts = self.ts_ns
        self.end_of(session, side).channel = channel
        channels[channel] = session
        return session

    def new_session(self) -> Session:
        session: Session = Session(self.conn.next_session())
        if len(self.sessions) < MAX_SESSIONS:
            self.sessions.append(session)
        else:
            self.limit_reached(f"more than {MAX_SESSIONS} sessions")
        return session

    def end_of(self, session: Session, side: cython.int) -> Endpoint:
        return session.end_1 if side else session.end_0

    def link_of(
        self, session: Session, side: cython.int, handle: cython.longlong, sender: cython.int
    ) -> Link:
        """The link behind a side's handle, inferred (with this sender) if unknown."""
        end: Endpoint = session.end_1 if side else session.end_0
        if end.last_handle == handle and end.last_link is not None:
            return end.last_link
        link = end.links.get(handle)
        if link is None:
            link = self._infer_link(session, side, handle, sender)
        end.last_handle = handle
        end.last_link = link
        return link

    def _infer_link(
        self, session: Session, side: cython.int, handle: cython.longlong, sender: cython.int
    ) -> Link:
        if not self.is_partial:
            self.problem("state10.unattached_handle", f"handle {handle} has no link", side)
        other: Endpoint = session.end_0 if side else session.end_1
        link: Link = other.links.get(handle)
        is_free: cython.bint = False
        if link is not None:
            is_free = (link.handle_1 if side else link.handle_0) == NULL
        if link is None or not is_free or link.sender != sender or not link.is_inferred:
            link = self.new_link(session, sender)
            link.begin_ts = self.ts_ns
        self.bind_handle(session, link, side, handle)
        return link

    def new_link(self, session: Session, sender: cython.int) -> Link:
        link: Link = Link(self.conn.next_link(), session, sender)
        if len(self.links) < MAX_LINKS:
            self.links.append(link)
            session.links.append(link)
        else:
            self.limit_reached(f"more than {MAX_LINKS} links")
        return link

    def bind_handle(
        self, session: Session, link: Link, side: cython.int, handle: cython.longlong
    ) -> cython.int:
        """From here on a side's handle means this link."""
        end: Endpoint = session.end_1 if side else session.end_0
        if side:
            link.handle_1 = handle
        else:
            link.handle_0 = handle
        end.links[handle] = link
        end.last_link = None
        return 0

    # -- transfers ------------------------------------------------------------------------

    def transfer(
        self,
        session: Session,
        link: Link,
        side: cython.int,
        delivery_id: cython.longlong,
        tag,
        message_format: cython.longlong,
        settled: cython.int,
        more: cython.int,
        resume: cython.int,
        aborted: cython.int,
        state,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> Delivery:
        """One transfer frame (1.0 §2.7.5) with its part of the message in buf[start:end]."""
        endpoint: Endpoint = session.end_1 if side else session.end_0
        delivery: Delivery = link.current
        self._count_frame(session, endpoint, side)
        if delivery is not None and delivery_id >= 0 and delivery.delivery_id != delivery_id:
            detail = f"delivery {delivery.delivery_id} is followed before its last transfer"
            if not self.is_partial:
                self.problem("state10.unfinished_delivery", detail, side)
            self.abandon(delivery)
            delivery = None
        if delivery is None:
            delivery = self._begin_delivery(session, endpoint, link, side, delivery_id, tag)
            if resume == 1:
                self._resume(delivery, link)
        delivery.frame_count += 1
        delivery.last_ts = self.ts_ns
        delivery.last_packet = self.packet_no
        if self.has_hole:
            delivery.is_whole = False
        if message_format > 0:
            delivery.message_format = message_format
        if settled == 1:
            delivery.is_presettled = True
        if state is not None:
            self.apply_state(delivery, state)
        if aborted == 1:
            self._abort(delivery, endpoint)
            return delivery
        delivery.message_bytes += end - start
        if more == 1:
            link.current = delivery
            self._keep_part(delivery, buf, start, end, side)
            return delivery
        link.current = None
        if delivery.parts is not None:
            delivery.parts.append(buf[start:end])
            whole: bytes = b"".join(delivery.parts)
            delivery.parts = None
            finish_message(self, delivery, whole, 0, len(whole))
        else:
            finish_message(self, delivery, buf, start, end)
        self._complete(session, endpoint, link, delivery)
        return delivery

    def _count_frame(self, session: Session, endpoint: Endpoint, side: cython.int) -> cython.int:
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

    def _begin_delivery(
        self,
        session: Session,
        endpoint: Endpoint,
        link: Link,
        side: cython.int,
        delivery_id: cython.longlong,
        tag,
    ) -> Delivery:
        delivery: Delivery = Delivery(self.conn.next_transfer(), side)
        delivery.session = session
        delivery.link = link
        delivery.tag = tag
        delivery.capture = self.conn.sink.capture
        delivery.first_ts = self.ts_ns
        delivery.first_packet = self.packet_no
        session.transfer_count += 1
        link.transfer_count += 1
        link.unsettled_count += 1
        if delivery_id >= 0:
            delivery.delivery_id = delivery_id
            endpoint.highest_delivery_id = delivery_id
            old = endpoint.unsettled.get(delivery_id)
            if old is not None:
                self.abandon(old)
                self.forget(old)
            endpoint.unsettled[delivery_id] = delivery
            if len(endpoint.unsettled) > MAX_UNSETTLED:
                self.limit_reached(f"more than {MAX_UNSETTLED} unsettled deliveries")
                self.forget(next(iter(endpoint.unsettled.values())))
        else:
            # 1.0 §2.7.5: only a continuation may leave the delivery-id out.
            delivery.is_whole = False
            if not self.is_partial:
                self.problem("state10.missing_delivery_id", "first transfer without it", side)
        return delivery

    def _resume(self, delivery: Delivery, link: Link) -> cython.int:
        """1.0 §2.6.13: a resumed delivery is tied to its first attempt by link and tag."""
        delivery.is_resumed = True
        attempts = self.suspended.get((link.name, link.sender))
        first: Delivery = None if attempts is None else attempts.pop(delivery.tag, None)
        if first is not None:
            delivery.related = first.transfer_id
            delivery.relation = W_RESUME_OF
            self.transfers.write(first)
        return 0

    def _keep_part(
        self,
        delivery: Delivery,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        side: cython.int,
    ) -> cython.int:
        if delivery.parts is None:
            delivery.parts = []
        if delivery.message_bytes <= MAX_MESSAGE_BYTES:
            delivery.parts.append(buf[start:end])
        elif delivery.is_whole:
            delivery.is_whole = False
            delivery.parts = []
            detail = f"a message of more than {MAX_MESSAGE_BYTES} bytes"
            self.problem("message10.too_large", detail, side)
        return 0

    def _complete(
        self, session: Session, endpoint: Endpoint, link: Link, delivery: Delivery
    ) -> cython.int:
        """The last transfer of a delivery came: count it, use its credit, settle if it said so."""
        delivery.is_done = True
        delivery.is_complete = delivery.is_whole
        link.body_bytes += delivery.body_bytes
        self._use_credit(session, link, delivery.side)
        if delivery.is_presettled:
            if delivery.outcome is None:
                delivery.outcome = "accepted"
            if not delivery.is_settled:
                self.settle(delivery, W_SENDER, W_PRESETTLED)
        elif delivery.is_settled:
            self.release(delivery)
        elif delivery.delivery_id == NULL:
            # Nobody can refer to it any more.
            self.forget(delivery)
        return 0

    def _use_credit(self, session: Session, link: Link, side: cython.int) -> cython.int:
        if link.delivery_count == NULL:
            return 0
        link.delivery_count = serial_add(link.delivery_count, 1)
        if link.receiver_credit != NULL:
            link.receiver_credit -= 1
        if link.limit == link.delivery_count:
            self.credits.write(W_CREDIT_EXHAUSTED, session, link, side, self.ts_ns, self.packet_no)
        return 0

    def _abort(self, delivery: Delivery, endpoint: Endpoint) -> cython.int:
        """1.0 §2.7.5: an aborted delivery is implicitly settled and its content is void."""
        link: Link = delivery.link
        link.current = None
        delivery.is_aborted = True
        delivery.is_done = True
        delivery.parts = None
        delivery.outcome = None
        self._use_credit(delivery.session, link, delivery.side)
        self.settle(delivery, W_IMPLICIT, W_IMPLICIT)
        return 0

    # -- settlement -----------------------------------------------------------------------

    def disposition(
        self,
        session: Session,
        side: cython.int,
        is_receiver: cython.int,
        first: cython.longlong,
        last: cython.longlong,
        settled: cython.int,
        state,
    ) -> Delivery:
        """1.0 §2.7.6: state and settlement of a range of delivery-ids, stated by one side.
        The first delivery concerned, or None if none is known."""
        owner: Endpoint
        count: cython.longlong
        found: Delivery = None
        delivery: Delivery
        kind: cython.longlong = W_SINGLE
        by: cython.longlong = W_RECEIVER if is_receiver else W_SENDER
        if is_receiver:
            owner = session.end_0 if side else session.end_1
        else:
            owner = session.end_1 if side else session.end_0
        count = 1 if last < 0 else serial_diff(last, first) + 1
        if count < 1:
            self.problem("state10.bad_range", f"from {first} to {last}", side)
            return None
        if count == 1:
            ids = (first,)
        else:
            kind = W_RANGE
            ids = _ids_in_range(owner.unsettled, first, count)
        for delivery_id in ids:
            delivery = owner.unsettled.get(delivery_id)
            if delivery is None:
                continue
            if found is None:
                found = delivery
            if state is not None:
                self.apply_state(delivery, state)
            if settled == 1:
                if delivery.outcome is None and delivery.txn_id is None:
                    delivery.outcome = delivery.link.default_outcome
                self.settle(delivery, by, kind)
        if found is None:
            self._unknown_delivery(owner, first, side)
        return found

    def _unknown_delivery(
        self, owner: Endpoint, first: cython.longlong, side: cython.int
    ) -> cython.int:
        """A second settlement is usual; one of a delivery that was never sent is not."""
        if self.is_partial:
            return 0
        highest: cython.longlong = owner.highest_delivery_id
        if highest == NULL or serial_diff(first, highest) > 0:
            self.problem("state10.unknown_delivery", f"delivery {first} was not sent", side)
        return 0

    def apply_state(self, delivery: Delivery, state) -> cython.int:
        """A delivery state that one side stated, settled or not."""
        if state.txn_id is not None:
            delivery.txn_id = state.txn_id
        if state.is_terminal:
            delivery.outcome = state.outcome
            delivery.condition = state.condition
            if delivery.outcome_ts == NULL:
                delivery.outcome_ts = self.ts_ns
            if delivery.link.is_coordinator:
                self.transactions.answered(delivery, state)
        return 0

    def settle(self, delivery: Delivery, by: cython.longlong, kind: cython.longlong) -> cython.int:
        """The delivery is settled now; its row is written once all of it was seen."""
        delivery.is_settled = True
        delivery.settled_ts = self.ts_ns
        delivery.settled_packet = self.packet_no
        delivery.settled_by = by
        delivery.settle_kind = kind
        self._drop_unsettled(delivery)
        if delivery.is_done:
            self.release(delivery)
        return 0

    def _drop_unsettled(self, delivery: Delivery) -> cython.int:
        session: Session = delivery.session
        endpoint: Endpoint = session.end_1 if delivery.side else session.end_0
        delivery.link.unsettled_count -= 1
        if delivery.delivery_id != NULL:
            endpoint.unsettled.pop(delivery.delivery_id, None)
        return 0

    def release(self, delivery: Delivery) -> cython.int:
        """Write the row, unless a transaction decides about it first."""
        if delivery.txn_id is not None and self.transactions.hold(delivery):
            return 0
        return self.transfers.write(delivery)

    def abandon(self, delivery: Delivery) -> cython.int:
        """No more of this delivery will come."""
        link: Link = delivery.link
        if link.current is delivery:
            link.current = None
        if not delivery.is_done:
            delivery.is_done = True
            delivery.body_bytes = delivery.message_bytes
            delivery.parts = None
            if delivery.is_settled:
                self.release(delivery)
            elif delivery.delivery_id == NULL:
                self.forget(delivery)
        return 0

    def forget(self, delivery: Delivery) -> cython.int:
        """Write an unsettled delivery as it stands: nothing will be learnt of it any more."""
        delivery.is_done = True
        self._drop_unsettled(delivery)
        delivery.link.unsettled_count += 1
        return self.transfers.write(delivery)

    # -- flow -----------------------------------------------------------------------------

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
        link.receiver_credit -= advance
        return -advance

    # -- problems -------------------------------------------------------------------------

    def problem(self, code: str, detail: str, side) -> cython.int:
        self.conn.problem(code, detail, side, self.ts_ns, self.packet_no, self.offset)
        return 0

    def limit_reached(self, detail: str) -> cython.int:
        if not self.is_limited:
            self.is_limited = True
            self.problem("state10.limit", detail, None)
        return 0

    def lose_place(self, side: cython.int) -> None:
        """Bytes of one side are missing: the deliveries in the making there have a hole."""
        self.is_partial = True
        for link in self.links:
            if link.current is not None and link.current.side == side:
                link.current.is_whole = False


def _known(number: cython.longlong) -> cython.longlong:
    return NULL if number < 0 else number


def _ids_in_range(unsettled: dict, first: cython.longlong, count: cython.longlong) -> list:
    """The known delivery-ids in a range, in its order, without walking a range made to hurt."""
    if count <= 2 * len(unsettled) + 64:
        return [serial_add(first, step) for step in range(count)]
    inside = [i for i in unsettled if 0 <= serial_diff(i, first) < count]
    return sorted(inside, key=lambda i: serial_diff(i, first))
