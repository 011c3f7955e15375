"""Transactions of a connection: work that takes effect when it commits.

Mixed into `ConnectionState`. A channel's own transactions (tx) end with it; the branches of
distributed ones (dtx) outlive channels and end with the connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissectors.amqp09.channel import MAX_IN_TRANSACTION, Channel, Transaction
from dissectors.amqp09.codes import OPEN
from dissectors.amqp09.transfers import Transfer, emit_transfer

if TYPE_CHECKING:
    from dissectors.amqp09.decoder import Decoder09
    from dissectors.core.connection import Connection

# Branches of distributed transactions that are not decided.
MAX_BRANCHES = 4096
# A channel's transactions whose commit or rollback is not answered, in `Channel.pending`.
ENDING = "ending"


class TransactionState:
    """The transactions of all channels of a connection."""

    dec: Decoder09
    conn: Connection

    def __init__(self) -> None:
        self.branches: dict[str, Transaction] = {}

    def begin_transaction(self, channel: Channel) -> None:
        channel.transaction_no += 1
        channel.transaction = Transaction(str(channel.transaction_no))

    def branch(self, xid: str) -> Transaction:
        """The branch of that name, begun when it is new."""
        found = self.branches.get(xid)
        if found is None:
            if len(self.branches) >= MAX_BRANCHES:
                self._abandon(self.branches.pop(next(iter(self.branches))))
            found = self.branches[xid] = Transaction(xid)
        return found

    def add_to_transaction(self, channel: Channel, t: Transfer, dec: Decoder09) -> None:
        """A publish."""
        t.is_held = True
        self._add(channel, t)

    def add_ack_to_transaction(self, channel: Channel, t: Transfer, dec: Decoder09) -> None:
        self._add(channel, t)

    def _add(self, channel: Channel, t: Transfer) -> None:
        transaction: Transaction = channel.transaction
        t.transaction_id = transaction.transaction_id
        t.transaction_outcome = OPEN
        transaction.work.append((channel, t))
        if len(transaction.work) >= MAX_IN_TRANSACTION:
            self.problem(
                "limit09.transaction",
                f"more than {MAX_IN_TRANSACTION} messages in one transaction",
                t.side,
            )
            oldest = Transaction(transaction.transaction_id)
            oldest.work = transaction.work[: MAX_IN_TRANSACTION // 2]
            del transaction.work[: MAX_IN_TRANSACTION // 2]
            self._abandon(oldest)

    def finish_transaction(self, transaction: Transaction, is_committed: bool) -> None:
        """commit-ok or rollback-ok came."""
        for channel, t in transaction.work:
            is_open = self.dec.channels.get(channel.number) is channel
            channel.decide(t, is_committed, is_open, self.dec)

    def end_transactions(self, channel: Channel) -> None:
        """The channel is over: what it did not commit has no effect."""
        for transaction in channel.pending.pop(ENDING, []):
            self._abandon(transaction)
        transaction = channel.transaction
        channel.transaction = None
        if transaction is not None and transaction.transaction_id not in self.branches:
            self._abandon(transaction)

    def end_branches(self) -> None:
        """The connection is over, and nobody decided these."""
        for transaction in self.branches.values():
            self._abandon(transaction)
        self.branches.clear()

    def _abandon(self, transaction: Transaction) -> None:
        """Written undecided; an ack that was not committed is no outcome."""
        for channel, t in transaction.work:
            if t.is_pending:
                channel.undo_ack(t)
                t.transaction_id = transaction.transaction_id
                t.transaction_outcome = OPEN
            if t.is_assembled or t.is_gapped:
                emit_transfer(self.conn, t)
            else:
                t.is_held = False
