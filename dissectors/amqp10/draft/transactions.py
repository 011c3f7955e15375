"""Transactions of the draft (Book V). Declare and discharge are answered with a transfer-state:
the txn-id is in that of the declare's answer and in that of the discharge itself."""

from __future__ import annotations

from typing import Any

from ..composites import Composite
from ..transactions import COMMITTED, ROLLED_BACK, Transactions


class DraftTransactions(Transactions):
    """The transactions of one connection, by txn-id."""

    def asked(self, delivery: Any, request: Any) -> None:
        """What a whole message on a coordinator link asks for (Book V §2.2, §2.3)."""
        if not isinstance(request, Composite) or request.name not in ("declare", "discharge"):
            detail = "neither declare nor discharge"
            self._state.problem("state10.bad_coordination", detail, delivery.side)
            return
        # The id says which transaction is discharged; the request is no part of it.
        txn_id, delivery.txn_id = delivery.txn_id, None
        fail = request.name == "discharge" and bool(request["fail"])
        self._asked[delivery.transfer_id] = (request.name, txn_id, fail)
        if request.name == "discharge" and delivery.is_presettled and txn_id is not None:
            self._discharge(txn_id, ROLLED_BACK if fail else COMMITTED)

    def answered(self, delivery: Any, state: Any) -> None:
        request, txn_id, fail = self._asked.pop(delivery.transfer_id, (None, None, False))
        is_accepted = state.outcome == "accepted"
        if request == "declare" and is_accepted and state.declared_txn is not None:
            self._transaction(state.declared_txn, delivery.session).link = delivery.link
        elif request == "discharge" and txn_id is not None:
            self._discharge(txn_id, COMMITTED if is_accepted and not fail else ROLLED_BACK)
