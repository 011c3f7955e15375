"""One link (1.0 §2.6): its identity on both sides, its credit, and the delivery being sent."""

import cython

from dissectors.core.rows import NULL_CELL

NULL = cython.declare(cython.longlong, NULL_CELL)


class Link:
    """A link between two handles of one session. `sender` is the side that sends on it.

    Credit is kept as the receiver's limit: `delivery-count + link-credit` as it last stated
    them (1.0 §2.6.7); what the sender has left is the limit less its own delivery-count.
    """

    def __init__(self, link_id: cython.longlong, session: object, sender: cython.int) -> None:
        self.link_id = link_id
        self.session = session
        self.sender = sender
        self.name: str | None = None
        self.kind = "link"
        self.address: str | None = None
        self.address_batch = -1
        self.address_code = 0
        self.fields_batch = -1
        self.fields_key = -1
        self.fields_code = 0
        self.is_secret = False
        self.is_coordinator = False
        self.is_inferred = True
        # What each side said in its attach (a dict), None until it did.
        self.attach_0: dict | None = None
        self.attach_1: dict | None = None
        self.handle_0 = NULL
        self.handle_1 = NULL
        # Sides that have detached, and the one that did so first.
        self.is_detached_0 = False
        self.is_detached_1 = False
        self.detached_by = -1
        self.begin_ts = NULL
        self.established_ts = NULL
        self.end_ts = NULL
        self.end_kind: str | None = None
        self.end_condition: str | None = None
        self.end_reason: str | None = None
        self.resumes: int | None = None
        self.current = None
        self.last_head: bytes | None = None
        self.delivery_count = NULL
        self.limit = NULL
        self.receiver_credit = NULL
        self.initial_credit = NULL
        self.initial_delivery_count = NULL
        self.available = NULL
        self.is_draining = False
        self.transfer_count = 0
        self.body_bytes = 0
        self.unsettled_count = 0
        self.default_outcome: str | None = None
