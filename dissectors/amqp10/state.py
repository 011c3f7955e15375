"""The state of one connection (1.0 §2.4 to §2.7): sessions, links, deliveries, credit.

One model for every feeder: the quick frame path, the table-driven one, and other versions of
the protocol call the same methods with plain values (-1 for a number that was not there, -1 for
a boolean that was not there). How frames are encoded is not known here. It is built in steps:
`registry.py` knows who is who, `flow_control.py` windows and credit, `settlement.py` outcomes,
and this file joins transfers to deliveries. The rare changes (begin, attach, detach, end) are
in `lifecycle.py`, transactions in `transactions.py`.
"""

from typing import Optional

import cython

from dissectors.amqp10.assembly import finish_message
from dissectors.amqp10.delivery import Delivery, DeliveryState, new_delivery
from dissectors.amqp10.link import Link
from dissectors.amqp10.session import Endpoint, Session
from dissectors.amqp10.settlement import Settlement
from dissectors.amqp10.unsettled import Unsettled
from dissectors.core.connection import Connection
from dissectors.core.rows import NULL_CELL
from dissectors.core.words import word

#: Octets of one message kept while its transfers are joined.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
#: Octets of all unfinished messages of one connection together.
MAX_HELD_BYTES = 128 * 1024 * 1024

#: Format codes that a descriptor comes in: smallulong, ulong, sym8 and sym32 (1.0 §1.6).
DESCRIPTORS = (0x53, 0x80, 0xA3, 0xB3)

NULL = cython.declare(cython.longlong, NULL_CELL)
W_PRESETTLED = cython.declare(cython.longlong, word("presettled"))
W_IMPLICIT = cython.declare(cython.longlong, word("implicit"))
W_SENDER = cython.declare(cython.longlong, word("sender"))
W_RESUME_OF = cython.declare(cython.longlong, word("resume-of"))


class ConnectionState(Settlement):
    """Everything that is known of one connection at the present frame."""

    def __init__(self, conn: Connection) -> None:
        Settlement.__init__(self, conn)

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
        state: Optional[DeliveryState],  # noqa: UP045  (Cython reads it)
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> Delivery:
        """One transfer frame (1.0 §2.7.5) with its part of the message in buf[start:end]."""
        endpoint: Endpoint = session.end_1 if side else session.end_0
        delivery: Delivery = link.current
        self.count_frame(session, endpoint, side)
        if link.sender != side:
            self.turn_link(link, side)
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
            if self.is_partial and message_format <= 0 and self.is_torn(buf, start, end):
                delivery.is_whole = False
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
            self.drop_parts(delivery)
            finish_message(self, delivery, whole, 0, len(whole))
        else:
            finish_message(self, delivery, buf, start, end)
        self._complete(session, endpoint, link, delivery)
        return delivery

    def is_torn(self, buf: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Whether a delivery begins with a later part of its message: no section begins there
        (1.0 §3.2). Peers may repeat the delivery-id and the tag with each part."""
        return (
            self.reader is None
            and end - start >= 2
            and (buf[start] != 0 or buf[start + 1] not in DESCRIPTORS)
        )

    def _begin_delivery(
        self,
        session: Session,
        endpoint: Endpoint,
        link: Link,
        side: cython.int,
        delivery_id: cython.longlong,
        tag,
    ) -> Delivery:
        delivery: Delivery = new_delivery(self.conn.next_transfer(), side)
        unsettled: Unsettled = endpoint.unsettled
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
            old: Delivery = unsettled.get(delivery_id)
            if old is not None:
                self.abandon(old)
                self.forget(old)
            unsettled.add(delivery)
            if unsettled.count > unsettled.limit:
                self.limit_reached(f"more than {unsettled.limit} unsettled deliveries")
                self.forget(unsettled.oldest())
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
        if not delivery.is_whole:
            return 0
        if (
            delivery.message_bytes <= MAX_MESSAGE_BYTES
            and self.held_bytes + end - start <= MAX_HELD_BYTES
        ):
            delivery.parts.append(buf[start:end])
            delivery.held_bytes += end - start
            self.held_bytes += end - start
        else:
            delivery.is_whole = False
            self.drop_parts(delivery)
            delivery.parts = []
            detail = f"{delivery.message_bytes} bytes of a message, {self.held_bytes} of others"
            self.problem("message10.too_large", detail, side)
        return 0

    def _complete(
        self, session: Session, endpoint: Endpoint, link: Link, delivery: Delivery
    ) -> cython.int:
        """The last transfer of a delivery came: count it, use its credit, settle if it said so."""
        delivery.is_done = True
        delivery.is_complete = delivery.is_whole
        link.body_bytes += delivery.body_bytes
        self.use_credit(session, link, delivery.side)
        if delivery.is_settled:
            self.release(delivery)
        elif delivery.is_presettled:
            if delivery.outcome is None:
                delivery.outcome = "accepted"
            self.settle(delivery, W_SENDER, W_PRESETTLED)
        elif delivery.delivery_id == NULL:
            # Nobody can refer to it any more.
            self.forget(delivery)
        return 0

    def _abort(self, delivery: Delivery, endpoint: Endpoint) -> cython.int:
        """1.0 §2.7.5: an aborted delivery is implicitly settled and its content is void."""
        link: Link = delivery.link
        link.current = None
        delivery.is_aborted = True
        delivery.is_done = True
        self.drop_parts(delivery)
        delivery.outcome = None
        self.use_credit(delivery.session, link, delivery.side)
        self.settle(delivery, W_IMPLICIT, W_IMPLICIT)
        return 0

    def lose_place(self, side: cython.int, ts_ns: cython.longlong) -> None:
        """Bytes of one side are missing: the deliveries in the making there have a hole."""
        self.is_partial = self.has_losses = True
        if side:
            self.lost_ts_1 = ts_ns
        else:
            self.lost_ts_0 = ts_ns
        for link in self.links.values():
            if link.current is not None and link.current.side == side:
                link.current.is_whole = False
