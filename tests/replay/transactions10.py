"""A transaction coordinator (1.0 §4) and a client of it, both made with qpid-proton."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import Any

from proton import Condition, Delivery, Described, Event, Link, Message, Terminus, ulong
from proton.handlers import TransactionHandler
from proton.reactor import Container, Transaction

from tests.live.proton_client import Client
from tests.live.proton_peer import Peer

DECLARED, TRANSACTIONAL_STATE = 0x33, 0x34
ROLLED_BACK = "amqp:transaction:rollback"

#: What the client does in one transaction after the other: how, with how many messages, its end.
JOBS = (
    ("send", 3, "commit"),
    ("send", 2, "roll back"),
    ("receive", 2, "commit"),
    ("receive", 1, "roll back"),
    ("send", 1, "commit"),
)

#: (what, which transaction, detail): which = how many had been declared before it
Entry = tuple[str, "int | None", object]


def is_coordinator(link: Link) -> bool:
    return link.is_receiver and link.remote_target.type == Terminus.COORDINATOR


class Coordinator(Peer):
    """Also declares and discharges transactions, and keeps a journal of what was done in them.

    ``refused``: what it rejects: ("declare", number of the transaction) or ("discharge", number).
    """

    def __init__(self, refused: Collection[tuple[str, int | None]] = ()) -> None:
        super().__init__()
        self.txn_ids: list[bytes] = []
        self.journal: list[Entry] = []
        self._refused = refused
        self._accepted: dict[int | None, list[Delivery]] = {}

    def on_link_opening(self, event: Event) -> None:
        if is_coordinator(event.link):
            event.link.source.copy(event.link.remote_source)
            event.link.target.copy(event.link.remote_target)
        else:
            super().on_link_opening(event)

    def on_message(self, event: Event) -> None:
        delivery, body = event.delivery, event.message.body
        if is_coordinator(event.link):
            self._control(delivery, str(body.descriptor), body.value)
        elif delivery.remote_state == TRANSACTIONAL_STATE:
            (txn_id,) = delivery.remote.data
            self.journal.append(("message", self._number(txn_id), bytes(body)))
            outcome = Described(ulong(Delivery.ACCEPTED), [])
            answer(delivery, TRANSACTIONAL_STATE, [txn_id, outcome])
        else:
            super().on_message(event)

    def on_delivery(self, event: Event) -> None:
        delivery = event.delivery
        if event.link.is_sender and delivery.remote_state == TRANSACTIONAL_STATE:
            txn_id, outcome = delivery.remote.data
            number = self._number(txn_id)
            self.journal.append(("outcome", number, int(outcome.descriptor)))
            self._accepted.setdefault(number, []).append(delivery)
        else:
            super().on_delivery(event)

    def _control(self, delivery: Delivery, what: str, fields: list[Any]) -> None:
        if what == "amqp:declare:list":
            self.txn_ids.append(uuid.uuid4().bytes)
            number: int | None = len(self.txn_ids) - 1
            self.journal.append(("declare", number, None))
            if ("declare", number) in self._refused:
                refuse(delivery, "amqp:not-allowed")
            else:
                answer(delivery, DECLARED, [self.txn_ids[-1]])
            return
        txn_id, is_failed = fields
        number = self._number(txn_id)
        self.journal.append(("discharge", number, bool(is_failed)))
        held = self._accepted.pop(number, [])
        if ("discharge", number) in self._refused:
            refuse(delivery, ROLLED_BACK)
            return
        if not is_failed:
            for taken in held:
                taken.settle()
        answer(delivery, Delivery.ACCEPTED)

    def _number(self, txn_id: bytes) -> int | None:
        """None: an id that nobody was given here."""
        found = bytes(txn_id)
        return self.txn_ids.index(found) if found in self.txn_ids else None


def answer(delivery: Delivery, state: int, data: list[Any] | None = None) -> None:
    if data is not None:
        delivery.local.data = data
    delivery.update(state)
    delivery.settle()


def refuse(delivery: Delivery, condition: str) -> None:
    delivery.local.condition = Condition(condition, "not this one")
    answer(delivery, Delivery.REJECTED)


class Worker(Client, TransactionHandler):
    """Does its jobs, each in a transaction of its own."""

    def __init__(self, port: int) -> None:
        super().__init__(port, "in.accepted")
        self.jobs = list(JOBS)
        self.ended: list[str] = []

    def open_link(self, container: Container) -> None:
        self.container = container
        self.sender = container.create_sender(self.connection, self.address)
        self.receiver = container.create_receiver(self.connection, "out.3")
        self._begin()

    def _begin(self) -> None:
        if not self.jobs:
            self.finish()
            return
        self.kind, self.left, self.end = self.jobs.pop(0)
        self.container.declare_transaction(self.connection, handler=self)

    def on_transaction_declared(self, event: Event) -> None:
        self.transaction: Transaction = event.transaction
        if self.kind == "receive":
            self.receiver.flow(self.left)
            return
        for number in range(self.left):
            body = f"{number} of {self.left}, to {self.end}".encode()
            self.transaction.send(self.sender, Message(body=body, inferred=True))

    def on_message(self, event: Event) -> None:
        self.transaction.accept(event.delivery)
        self._done_one()

    def on_delivery(self, event: Event) -> None:
        if event.delivery.settled:
            event.delivery.settle()
            if event.link == self.sender:
                self._done_one()

    def _done_one(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.transaction.discharge(self.end == "roll back")

    def on_transaction_committed(self, event: Event) -> None:
        self._over("committed")

    def on_transaction_aborted(self, event: Event) -> None:
        self._over("rolled back")

    def on_transaction_commit_failed(self, event: Event) -> None:
        self._over("refused")

    def _over(self, how: str) -> None:
        self.ended.append(how)
        self._begin()
