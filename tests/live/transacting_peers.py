"""A qpid-proton coordinator and a client that works in transactions (1.0 §4)."""

from __future__ import annotations

from proton import Delivery, Described, Event, Message, Terminus, symbol, ulong
from proton.handlers import TransactionHandler

from tests.live.unusual_peers import Calling, Listening

# Symbolic and numeric descriptors (1.0 §4.5).
DECLARE, DECLARED, TRANSACTIONAL, ACCEPTED = symbol("amqp:declare:list"), 0x33, 0x34, ulong(0x24)


class Coordinating(Listening):
    """Declares and discharges; sends two messages on each grant."""

    transactions = 0

    def on_link_opening(self, event: Event) -> None:
        super().on_link_opening(event)
        if event.link.remote_target.type == Terminus.COORDINATOR:
            event.link.target.type = Terminus.COORDINATOR

    def on_link_flow(self, event: Event) -> None:
        while event.link.is_sender and event.link.credit:
            event.link.send(Message(body="work"))

    def take(self, delivery: Delivery, octets: bytes) -> None:
        if delivery.link.remote_target.type == Terminus.COORDINATOR:
            request = Message()
            request.decode(octets)
            if request.body.descriptor == DECLARE:
                self.transactions += 1
                delivery.local.data = [b"%d" % self.transactions]
                delivery.update(DECLARED)
            else:
                delivery.update(Delivery.ACCEPTED)
        elif delivery.remote_state == TRANSACTIONAL:
            delivery.local.data = [delivery.remote.data[0], Described(ACCEPTED, [])]
            delivery.update(TRANSACTIONAL)
        delivery.settle()


class Transacting(Calling, TransactionHandler):
    """Three sent and two accepted in each of two transactions; the second is rolled back."""

    def begin(self) -> None:
        self.opened = self.accepted = 0
        self.ended: list[str] = []
        self.sender = self.container.create_sender(self.connection, "to")
        self.receiver = self.container.create_receiver(self.connection, "from")

    def on_link_opened(self, event: Event) -> None:
        self.opened += 1
        if self.opened == 2:
            self._declare()

    def _declare(self) -> None:
        self.container.declare_transaction(self.connection, handler=self)

    def on_transaction_declared(self, event: Event) -> None:
        self.transaction = event.transaction
        for _ in range(3):
            self.transaction.send(self.sender, Message(body="in a transaction"))
        self.receiver.flow(2)

    def on_message(self, event: Event) -> None:
        self.transaction.accept(event.delivery)
        self.accepted += 1
        if self.accepted == 2:
            self.transaction.commit()
        elif self.accepted == 4:
            self.transaction.abort()

    def on_transaction_committed(self, event: Event) -> None:
        self.ended.append("committed")
        self._declare()

    def on_transaction_aborted(self, event: Event) -> None:
        # proton releases what it had accepted, before the connection's end.
        self.ended.append("rolled-back")
        self.finish()
