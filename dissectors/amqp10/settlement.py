"""Settlement on one connection (1.0 §2.6.12, §2.7.6, §3.4): who stated which outcome for which
deliveries, and when a delivery's row can be written."""

from typing import Optional

import cython

from dissectors.amqp10.delivery import Delivery, DeliveryState
from dissectors.amqp10.emit import TransferWriter
from dissectors.amqp10.flow_control import FlowControl
from dissectors.amqp10.head import HeadReader
from dissectors.amqp10.link import Link
from dissectors.amqp10.serial import serial_add, serial_diff
from dissectors.amqp10.session import Endpoint, Session
from dissectors.amqp10.transactions import Transactions
from dissectors.amqp10.unsettled import Unsettled
from dissectors.core.connection import Connection
from dissectors.core.rows import NULL_CELL
from dissectors.core.words import word

NULL = cython.declare(cython.longlong, NULL_CELL)
W_SINGLE = cython.declare(cython.longlong, word("single"))
W_RANGE = cython.declare(cython.longlong, word("range"))
W_SENDER = cython.declare(cython.longlong, word("sender"))
W_RECEIVER = cython.declare(cython.longlong, word("receiver"))


class Settlement(FlowControl):
    """States and settlement of the deliveries that each side of a session has sent."""

    def __init__(self, conn: Connection) -> None:
        FlowControl.__init__(self, conn)
        self.transfers = TransferWriter(conn, HeadReader())
        self.transactions = Transactions(self)
        # Reads whole messages in another format than the standard's; None: they are standard.
        self.reader = None
        # Deliveries of detached links by (name, sender) and tag, until they are resumed.
        self.suspended: dict = {}
        self.suspended_count = 0
        # Octets of messages in the making.
        self.held_bytes = 0

    def disposition(
        self,
        session: Session,
        side: cython.int,
        is_receiver: cython.int,
        first: cython.longlong,
        last: cython.longlong,
        settled: cython.int,
        state: Optional[DeliveryState],  # noqa: UP045  (Cython reads it)
    ) -> Delivery:
        """1.0 §2.7.6: state and settlement of a range of delivery-ids, stated by one side.
        The first delivery concerned, or None if none is known."""
        owner: Endpoint
        count: cython.longlong
        i: cython.longlong
        step: cython.longlong
        steps: list = None
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
        if count > 1:
            kind = W_RANGE
        if count > 2 * owner.unsettled.count + 64:
            # A range made to hurt is not walked.
            steps = _known_steps(owner.unsettled, first, count)
            count = len(steps)
        for i in range(count):
            step = i if steps is None else steps[i]
            delivery = owner.unsettled.get(serial_add(first, step))
            if delivery is not None:
                found = delivery if found is None else found
                self._dispose(delivery, by, kind, settled, state)
        if found is None:
            self._unknown_delivery(owner, first, side)
        return found

    def _dispose(
        self,
        delivery: Delivery,
        by: cython.longlong,
        kind: cython.longlong,
        settled: cython.int,
        state: Optional[DeliveryState],  # noqa: UP045  (Cython reads it)
    ) -> cython.int:
        """What a disposition says, for one of the deliveries in its range."""
        if state is not None:
            self.apply_state(delivery, state)
        if settled == 1:
            if delivery.outcome is None and delivery.txn_id is None:
                delivery.outcome = delivery.link.default_outcome
            self.settle(delivery, by, kind)
        return 0

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

    def apply_state(self, delivery: Delivery, state: DeliveryState) -> cython.int:
        """A delivery state that one side stated, settled or not."""
        link: Link = delivery.link
        if state.txn_id is not None:
            delivery.txn_id = state.txn_id
            delivery.txn_outcome = NULL
        elif delivery.txn_id is not None and state.is_terminal:
            self.transactions.leave(delivery)
        if state.is_terminal:
            delivery.outcome = state.outcome
            delivery.condition = state.condition
            if delivery.outcome_ts == NULL:
                delivery.outcome_ts = self.ts_ns
            if link.is_coordinator:
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
        link: Link = delivery.link
        endpoint: Endpoint = session.end_1 if delivery.side else session.end_0
        link.unsettled_count -= 1
        if delivery.delivery_id != NULL:
            endpoint.unsettled.drop(delivery.delivery_id)
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
            self.drop_parts(delivery)
            if delivery.is_settled:
                self.release(delivery)
            elif delivery.delivery_id == NULL:
                self.forget(delivery)
        return 0

    def drop_parts(self, delivery: Delivery) -> cython.int:
        """What was kept of an unfinished message is not needed any more."""
        self.held_bytes -= delivery.held_bytes
        delivery.held_bytes = 0
        delivery.parts = None
        return 0

    def forget(self, delivery: Delivery) -> cython.int:
        """Write an unsettled delivery as it stands: nothing will be learnt of it any more."""
        delivery.is_done = True
        self._drop_unsettled(delivery)
        delivery.link.unsettled_count += 1
        if delivery.txn_id is not None:
            self.transactions.judge(delivery)
        return self.transfers.write(delivery)


def _known_steps(unsettled: Unsettled, first: cython.longlong, count: cython.longlong) -> list:
    """How far from the first of a range the known delivery-ids in it are, in order."""
    steps = [serial_diff(d.delivery_id, first) for d in unsettled.deliveries()]
    return sorted([step for step in steps if 0 <= step < count])
