"""Transactions (1.0 §4): declared and discharged over a coordinator link.

What is sent or settled inside a transaction takes effect at its discharge: such deliveries wait
here and are written with the transaction's fate. Only what the wire says is used; how a broker
undoes its work is not known.
"""

from __future__ import annotations

from typing import Any

from dissectors.core.rows import NULL_CELL
from dissectors.core.words import word

from .composites import STANDARD
from .message import decode_message

#: Deliveries held for open transactions; beyond it they are written as `open`.
MAX_HELD = 262_144
#: Transactions remembered, open or done.
MAX_TRANSACTIONS = 65_536

COMMITTED = "committed"
ROLLED_BACK = "rolled-back"
OPEN = "open"


class Transaction:
    """One transaction: its session, the control link that declared it if that was seen, its
    fate once known, and what waits for it."""

    __slots__ = ("fate", "held", "link", "session")

    def __init__(self, session: Any) -> None:
        self.session = session
        self.link: Any = None
        self.fate = OPEN
        self.held: list[Any] = []


class Transactions:
    """The transactions of one connection, by txn-id."""

    def __init__(self, state: Any) -> None:
        self._state = state
        self._by_id: dict[bytes, Transaction] = {}
        # What was asked on the coordinator link, by transfer: ("discharge", txn-id, fail).
        self._asked: dict[int, tuple[str, bytes | None, bool]] = {}
        self._held_count = 0

    def asked(self, delivery: Any, payload: bytes) -> None:
        """A whole message on a coordinator link: a declare or a discharge (1.0 §4.2, §4.3)."""
        message = decode_message(STANDARD, payload, [])
        section = message.section("amqp-value")
        request = None if section is None else STANDARD.decode(section.value.data, [])
        if request is None or request.name not in ("declare", "discharge"):
            self._state.problem(
                "state10.bad_coordination", "neither declare nor discharge", delivery.side
            )
            return
        if request.name == "declare":
            self._asked[delivery.transfer_id] = ("declare", None, False)
            return
        fail = bool(request["fail"])
        self._asked[delivery.transfer_id] = ("discharge", request["txn-id"], fail)
        if delivery.is_presettled:
            self._discharge(request["txn-id"], COMMITTED if not fail else ROLLED_BACK)

    def answered(self, delivery: Any, state: Any) -> None:
        """The coordinator's outcome for what was asked."""
        request, txn_id, fail = self._asked.pop(delivery.transfer_id, (None, None, False))
        if state.declared_txn is not None:
            self._transaction(state.declared_txn, delivery.session).link = delivery.link
        elif request == "discharge" and txn_id is not None:
            # 1.0 §4.3: a discharge that is not accepted means that the work was rolled back.
            is_done = state.outcome == "accepted" and not fail
            self._discharge(txn_id, COMMITTED if is_done else ROLLED_BACK)

    def hold(self, delivery: Any) -> bool:
        """Keep a settled delivery until its transaction is discharged; False if it need not."""
        if delivery.txn_outcome != NULL_CELL:
            return False
        transaction = self._transaction(delivery.txn_id, delivery.session)
        if transaction.fate != OPEN or self._held_count >= MAX_HELD:
            self._decide(delivery, transaction.fate)
            return False
        transaction.held.append(delivery)
        self._held_count += 1
        return True

    def judge(self, delivery: Any) -> None:
        """What is known of the fate of a delivery that nobody settled."""
        if delivery.txn_outcome == NULL_CELL:
            self._decide(delivery, self._transaction(delivery.txn_id, delivery.session).fate)

    def leave(self, delivery: Any) -> None:
        """A state outside of transactions: once its transaction is discharged, this one stands
        whatever became of the other (1.0 §4.4.2)."""
        fate = self._transaction(delivery.txn_id, delivery.session).fate
        if fate != OPEN:
            delivery.txn_outcome = word(fate)

    def abandon(self, link: Any) -> None:
        """A control link is gone: what it declared and nobody discharged is rolled back."""
        for txn_id, transaction in list(self._by_id.items()):
            if transaction.link is link and transaction.fate == OPEN:
                self._discharge(txn_id, ROLLED_BACK)

    def finish(self) -> None:
        """The connection is over: what still waits has no outcome."""
        for transaction in self._by_id.values():
            self._write_held(transaction)

    def _transaction(self, txn_id: bytes, session: Any) -> Transaction:
        found = self._by_id.get(txn_id)
        if found is None:
            if len(self._by_id) >= MAX_TRANSACTIONS:
                oldest = next(iter(self._by_id))
                self._write_held(self._by_id.pop(oldest))
            found = self._by_id[txn_id] = Transaction(session)
        return found

    def _discharge(self, txn_id: bytes, fate: str) -> None:
        transaction = self._by_id.get(txn_id)
        if transaction is None:
            if not self._state.is_partial:
                detail = f"transaction {txn_id.hex()} was not declared"
                self._state.problem("state10.unknown_transaction", detail, None)
            return
        transaction.fate = fate
        if fate == COMMITTED:
            transaction.session.commit_count += 1
        else:
            transaction.session.rollback_count += 1
        self._write_held(transaction)

    def _write_held(self, transaction: Transaction) -> None:
        for delivery in transaction.held:
            self._decide(delivery, transaction.fate)
            if transaction.fate != OPEN:
                delivery.settled_ts = self._state.ts_ns
                delivery.settled_packet = self._state.packet_no
            self._state.transfers.write(delivery)
        self._held_count -= len(transaction.held)
        transaction.held = []

    @staticmethod
    def _decide(delivery: Any, fate: str) -> None:
        delivery.txn_outcome = word(fate)
        if fate != COMMITTED:
            delivery.outcome = None
