"""One delivery (1.0 §2.6.12): what was seen of it, from its first transfer to its settlement.

Only holds what the state model and the row writers share; who may change what is in `state.py`.
"""

import cython

from dissectors.core.rows import NULL_CELL
from dissectors.core.words import word

NULL = cython.declare(cython.longlong, NULL_CELL)


class DeliveryState:
    """A delivery state off the wire in plain words (1.0 §3.4, §4.5.5, §4.5.6).

    `outcome` is the name that the tables use; a transactional state has the outcome that it
    makes provisional, or None.
    """

    def __init__(
        self,
        name: str,
        outcome: str | None = None,
        condition: str | None = None,
        txn_id: bytes | None = None,
        declared_txn: bytes | None = None,
    ) -> None:
        self.name = name
        self.outcome = outcome
        self.condition = condition
        self.txn_id = txn_id
        self.declared_txn = declared_txn
        self.is_terminal = outcome is not None
        self.word = word(name)


# The compiler heeds this here only, not in the .pxd.
@cython.freelist(256)
@cython.cclass
class Delivery:
    """A delivery in the making. Numbers that are not known are NULL."""

    def begin(self, transfer_id: cython.longlong, side: cython.int) -> cython.int:
        """There is no __init__: calling the class boxes what it is given."""
        if not cython.compiled:
            self._clear()
        self.transfer_id = transfer_id
        self.side = side
        self.delivery_id = NULL
        self.head = b""
        self.body_kind = NULL
        self.body_hash = NULL
        self.is_whole = True
        self.outcome_ts = NULL
        self.settled_ts = NULL
        self.settled_packet = NULL
        self.settled_by = NULL
        self.settle_kind = NULL
        self.txn_outcome = NULL
        self.related = NULL
        self.relation = NULL
        return 0

    def _clear(self) -> None:
        """What a fresh compiled object holds anyway."""
        self.tag = None
        self.link = None
        self.session = None
        self.capture = None
        self.first_ts = 0
        self.last_ts = 0
        self.first_packet = 0
        self.last_packet = 0
        self.frame_count = 0
        self.parts = None
        self.held_bytes = 0
        self.message_bytes = 0
        self.message_format = 0
        self.body_bytes = 0
        self.is_done = False
        self.is_complete = False
        self.is_aborted = False
        self.is_resumed = False
        self.is_presettled = False
        self.is_settled = False
        self.outcome = None
        self.condition = None
        self.txn_id = None


def new_delivery(transfer_id: cython.longlong, side: cython.int) -> Delivery:
    delivery: Delivery = Delivery.__new__(Delivery)
    delivery.begin(transfer_id, side)
    return delivery
