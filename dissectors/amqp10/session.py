"""One session (1.0 §2.5): a channel each way, links by handle each way, and the windows."""

import cython

from dissectors.amqp10.unsettled import Unsettled
from dissectors.core.rows import NULL_CELL

NULL = cython.declare(cython.longlong, NULL_CELL)


class Endpoint:
    """One side of a session: the channel it sends on and what it has said and sent.

    `next_outgoing_id` counts the transfer frames that this side sends; `remote_window` is how
    many more it may send (1.0 §2.5.6: next-incoming-id + incoming-window of the other side,
    less its own next-outgoing-id).
    """

    def __init__(self) -> None:
        self.channel = NULL
        self.links: dict = {}
        self.last_handle = NULL
        self.last_link = None
        self.unsettled = Unsettled()
        self.highest_delivery_id = NULL
        self.next_outgoing_id = NULL
        self.initial_outgoing_id = NULL
        self.remote_window = NULL
        self.incoming_window = NULL
        self.outgoing_window = NULL
        self.initial_incoming_window = NULL
        self.initial_outgoing_window = NULL
        self.handle_max = NULL
        self.has_begun = False
        self.has_ended = False


class Session:
    """A session; `end_0` is the client's side, `end_1` the server's."""

    def __init__(self, session_id: cython.longlong) -> None:
        self.session_id = session_id
        self.end_0 = Endpoint()
        self.end_1 = Endpoint()
        self.begun_by = -1
        self.begin_ts = NULL
        self.established_ts = NULL
        self.end_ts = NULL
        self.ended_by = -1
        self.end_condition: str | None = None
        self.end_reason: str | None = None
        self.is_inferred = True
        # Links that are not over by link_id, and by (name, sender) the last of that name.
        self.links: dict = {}
        self.names: dict = {}
        self.transfer_count = 0
        self.commit_count = 0
        self.rollback_count = 0
        self.details: dict = {}
