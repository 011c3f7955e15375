"""What the methods that are not hot do to the state, one file per subject.

A handler gets (state, channel, side, decoded method, fields of the frame around it) and returns
the `Effect` that its frame's row shows, or None. It writes no frame row and judges no octets: both
are done by `rare`. Methods without a row here change nothing that the tables keep.
"""

from __future__ import annotations

from . import basic, channels, connection, files, message, queues, transactions
from .shape import Handler

HANDLERS: dict[str, Handler] = {
    **connection.HANDLERS,
    **channels.HANDLERS,
    **queues.HANDLERS,
    **basic.HANDLERS,
    **files.HANDLERS,
    **message.HANDLERS,
    **transactions.HANDLERS,
}
