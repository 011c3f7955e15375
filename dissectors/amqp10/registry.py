"""Who is who on one connection (1.0 §2.5, §2.6): sessions by channel and links by handle, each
way, also those whose beginning was not seen.

Knows the time and place of the present frame, because everything that is made or is wrong is
noted with it. What sessions and links carry is the business of the classes built on this one.
"""

import cython

from dissectors.amqp10.credit import CreditWriter
from dissectors.amqp10.link import Link
from dissectors.amqp10.report import write_link, write_session
from dissectors.amqp10.session import Endpoint, Session
from dissectors.core.connection import Connection
from dissectors.core.rows import NULL_CELL, cell_of
from dissectors.tables import FRAMES

#: Links and sessions of one connection that are not over; the oldest is written beyond it.
MAX_LINKS = 16_384
MAX_SESSIONS = 8_192

NULL = cython.declare(cython.longlong, NULL_CELL)
F_CHANNEL = cython.declare(cython.int, cell_of(FRAMES, "channel"))


class Registry:
    """Sessions and links that are not over, by their numbers on each side.

    The feeder sets `ts_ns`, `packet_no`, `first_packet_no` and `offset` before each call: they
    are when and where the change was seen.
    """

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        self.ts_ns = 0
        self.packet_no = 0
        self.first_packet_no = 0
        self.offset = 0
        self.credits = CreditWriter(conn)
        self.channels_0: dict = {}
        self.channels_1: dict = {}
        # The last of each side that was looked up: frames seldom change the channel.
        self.last_channel_0 = NULL
        self.last_channel_1 = NULL
        self.last_session_0 = None
        self.last_session_1 = None
        # By session_id and link_id, oldest first.
        self.sessions: dict = {}
        self.links: dict = {}
        # The link that last had a name, by (name, sender): 1.0 §2.6.1 allows only one.
        self.names: dict = {}
        # A connection whose start or middle is missing: what is unknown is then inferred.
        self.is_partial = True
        self.has_losses = False
        # When octets of each side were last missing.
        self.lost_ts_0 = NULL
        self.lost_ts_1 = NULL
        self.is_limited = False
        # The present frame misses some of its octets.
        self.has_hole = False

    def frame_row(
        self, side: cython.int, channel: cython.longlong, size: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """The row of the present frame, with its place and its channel filled in."""
        base: cython.Py_ssize_t = self.conn.frame_row(
            side, self.ts_ns, self.packet_no, self.first_packet_no, self.offset, size
        )
        self.conn.frames.cells[base + F_CHANNEL] = channel
        return base

    # -- sessions -------------------------------------------------------------------------

    def session_of(self, side: cython.int, channel: cython.longlong) -> Session:
        """The session that a side's channel belongs to, inferred if its begin was not seen."""
        if side:
            if self.last_channel_1 != channel:
                self.last_session_1 = self._find_session(side, channel)
                self.last_channel_1 = channel
            return self.last_session_1
        if self.last_channel_0 != channel:
            self.last_session_0 = self._find_session(side, channel)
            self.last_channel_0 = channel
        return self.last_session_0

    def _find_session(self, side: cython.int, channel: cython.longlong) -> Session:
        channels: dict = self.channels_1 if side else self.channels_0
        session = channels.get(channel)
        return self._infer_session(side, channel) if session is None else session

    def _infer_session(self, side: cython.int, channel: cython.longlong) -> Session:
        others: dict = self.channels_0 if side else self.channels_1
        if not self.is_partial:
            self.problem("state10.unknown_channel", f"channel {channel} has no session", side)
        # Peers nearly always answer on the number that they were called on.
        session: Session = others.get(channel)
        if session is None or self.end_of(session, side).channel != NULL:
            session = self.new_session()
            session.begin_ts = self.ts_ns
        self.bind_channel(session, side, channel)
        return session

    def bind_channel(
        self, session: Session, side: cython.int, channel: cython.longlong
    ) -> cython.int:
        """From here on a side's channel means this session."""
        self.end_of(session, side).channel = channel
        if side:
            self.channels_1[channel] = session
            self.last_channel_1 = NULL
        else:
            self.channels_0[channel] = session
            self.last_channel_0 = NULL
        return 0

    def free_channel(self, side: cython.int, channel: cython.longlong) -> Session:
        """A side's channel means nothing any more; None if it did not mean a session before."""
        if side:
            self.last_channel_1 = NULL
            return self.channels_1.pop(channel, None)
        self.last_channel_0 = NULL
        return self.channels_0.pop(channel, None)

    def new_session(self) -> Session:
        session: Session
        if len(self.sessions) >= MAX_SESSIONS:
            self.limit_reached(f"more than {MAX_SESSIONS} sessions")
            self.retire_session(next(iter(self.sessions.values())))
        session = Session(self.conn.next_session())
        self.sessions[session.session_id] = session
        return session

    def retire_session(self, session: Session) -> cython.int:
        """The session is over, or there are too many: write it and its links, and let go."""
        for link in list(session.links.values()):
            self.retire_link(link)
        if self.channels_0.get(session.end_0.channel) is session:
            self.free_channel(0, session.end_0.channel)
        if self.channels_1.get(session.end_1.channel) is session:
            self.free_channel(1, session.end_1.channel)
        self.sessions.pop(session.session_id, None)
        write_session(self.conn, session)
        return 0

    def end_of(self, session: Session, side: cython.int) -> Endpoint:
        return session.end_1 if side else session.end_0

    # -- links ----------------------------------------------------------------------------

    def link_of(
        self, session: Session, side: cython.int, handle: cython.longlong, sender: cython.int
    ) -> Link:
        """The link behind a side's handle, inferred (with this sender) if unknown."""
        end: Endpoint = session.end_1 if side else session.end_0
        if end.last_handle == handle and end.last_link is not None:
            return end.last_link
        link = end.links.get(handle)
        if link is None:
            link = self._infer_link(session, side, handle, sender)
        end.last_handle = handle
        end.last_link = link
        return link

    def _infer_link(
        self, session: Session, side: cython.int, handle: cython.longlong, sender: cython.int
    ) -> Link:
        if not self.is_partial:
            self.problem("state10.unattached_handle", f"handle {handle} has no link", side)
        other: Endpoint = session.end_0 if side else session.end_1
        link: Link = other.links.get(handle)
        is_free: cython.bint = False
        if link is not None:
            is_free = (link.handle_1 if side else link.handle_0) == NULL
        if link is None or not is_free or link.sender != sender or not link.is_inferred:
            link = self.new_link(session, sender)
            link.begin_ts = self.ts_ns
        self.bind_handle(session, link, side, handle)
        return link

    def new_link(self, session: Session, sender: cython.int) -> Link:
        link: Link
        if len(self.links) >= MAX_LINKS:
            self.limit_reached(f"more than {MAX_LINKS} links")
            self.retire_link(next(iter(self.links.values())))
        link = Link(self.conn.next_link(), session, sender)
        self.links[link.link_id] = link
        session.links[link.link_id] = link
        return link

    def bind_handle(
        self, session: Session, link: Link, side: cython.int, handle: cython.longlong
    ) -> cython.int:
        """From here on a side's handle means this link."""
        end: Endpoint = session.end_1 if side else session.end_0
        if side:
            link.handle_1 = handle
        else:
            link.handle_0 = handle
        end.links[handle] = link
        end.last_link = None
        return 0

    def retire_link(self, link: Link) -> cython.int:
        """The link is over, or there are too many: write it and let go."""
        session: Session = link.session
        key = (link.name, link.sender)
        for names in (self.names, session.names):
            if names.get(key) is link:
                del names[key]
        if session.end_0.links.get(link.handle_0) is link:
            del session.end_0.links[link.handle_0]
        if session.end_1.links.get(link.handle_1) is link:
            del session.end_1.links[link.handle_1]
        session.end_0.last_link = None
        session.end_1.last_link = None
        self.links.pop(link.link_id, None)
        session.links.pop(link.link_id, None)
        write_link(self.conn, link)
        return 0

    def turn_link(self, link: Link, side: cython.int) -> cython.int:
        """A transfer comes from the side that we took for the receiver. If that was a guess it
        was wrong, and what was counted on it is void; else the peer breaks 1.0 §2.6.1."""
        if not link.is_inferred:
            self.problem("state10.wrong_direction", f"link {link.name} sends backwards", side)
            return 0
        link.sender = side
        link.delivery_count = link.limit = link.receiver_credit = NULL
        return 0

    # -- problems -------------------------------------------------------------------------

    def problem(self, code: str, detail: str, side) -> cython.int:
        self.conn.problem(code, detail, side, self.ts_ns, self.packet_no, self.offset)
        return 0

    def limit_reached(self, detail: str) -> cython.int:
        if not self.is_limited:
            self.is_limited = True
            self.problem("state10.limit", detail, None)
        return 0


def likely_sender(
    side: cython.int,
    link_credit: cython.longlong,
    available: cython.longlong,
    drain: cython.int,
) -> cython.int:
    """Which side sends on a link of which only this flow was seen (1.0 §2.7.4).

    A flow that grants comes from the receiver. Who states no credit, knows what is available,
    or has none left to drain, is the sender.
    """
    if link_credit < 0 or available > 0 or (drain == 1 and link_credit == 0):
        return side
    return 1 - side
