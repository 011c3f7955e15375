"""Transactions: tx, dtx, and the dtx preview's branches (0-9-1 §1.9; 0-9, "dtx").

What is sent after a commit belongs to the next transaction, even before the commit is answered;
it takes effect when commit-ok comes, and is undone by rollback-ok.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..channel import Channel, Transaction
from ..methods import DecodedMethod
from ..transactions import ENDING
from .shape import Handler, Head, answered, wait

if TYPE_CHECKING:
    from ..state import ConnectionState
    from ..transfers import Transfer

# Branches whose commit or rollback is not answered.
DECIDING = "deciding"


def _select(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    channel.row["is_transactional"] = True
    if channel.transaction is None:
        # What came before is in no transaction, and a transactional channel has no confirms.
        channel.place_confirms(state.dec)
        channel.unplaced = None
        state.begin_transaction(channel)


def _end(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    channel.row["is_transactional"] = True
    if channel.transaction is None:
        # Its select was not seen: what was published since the capture began belongs to it.
        state.begin_transaction(channel)
        unplaced = channel.unplaced
        waiting: list[Transfer] = [] if unplaced is None else unplaced.publishes
        channel.unplaced = None
        for transfer in waiting:
            state.add_to_transaction(channel, transfer, state.dec)
    wait(channel, ENDING, channel.transaction)
    state.begin_transaction(channel)


def _ended(count: str, is_committed: bool) -> Handler:
    def handle(
        state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
    ) -> None:
        channel.row[count] = channel.row.get(count, 0) + 1
        transaction = answered(channel, ENDING)
        if transaction is not None:
            state.finish_transaction(transaction, is_committed)

    return handle


# -- distributed transactions -------------------------------------------------------------


def _dtx_select(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    channel.row["is_transactional"] = True


def _xid(decoded: DecodedMethod) -> str:
    """0-9 names a branch by a short string, the preview by octets."""
    name = decoded.get("dtx-identifier")
    return name if name is not None else decoded["xid"].hex()


def _dtx_start(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    """The channel works for this branch until it ends or another one starts."""
    channel.row["is_transactional"] = True
    channel.transaction = state.branch(_xid(decoded))


def _dtx_end(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    transaction: Transaction | None = channel.transaction
    if transaction is not None and transaction.transaction_id == _xid(decoded):
        channel.transaction = None


def _dtx_decide(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    wait(channel, DECIDING, _xid(decoded))


def _dtx_decided(count: str, is_committed: bool) -> Handler:
    def handle(
        state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
    ) -> None:
        channel.row[count] = channel.row.get(count, 0) + 1
        transaction = state.branches.pop(answered(channel, DECIDING), None)
        if transaction is not None:
            state.finish_transaction(transaction, is_committed)

    return handle


HANDLERS: dict[str, Handler] = {
    "tx.select": _select,
    "tx.commit": _end,
    "tx.rollback": _end,
    "tx.commit-ok": _ended("commit_count", True),
    "tx.rollback-ok": _ended("rollback_count", False),
    "dtx.select": _dtx_select,
    "dtx.start": _dtx_start,
    "dtx-demarcation.select": _dtx_select,
    "dtx-demarcation.start": _dtx_start,
    "dtx-demarcation.end": _dtx_end,
    "dtx-coordination.commit": _dtx_decide,
    "dtx-coordination.rollback": _dtx_decide,
    "dtx-coordination.commit-ok": _dtx_decided("commit_count", True),
    "dtx-coordination.rollback-ok": _dtx_decided("rollback_count", False),
}
