"""The content being put together on each side of a channel: method, header, bodies.

It knows messages and what they are made of; who settles them, and when, is `settling`'s. It reads
no octets but bodies.
"""

from collections import deque

import cython

from dissectors.amqp09 import codes
from dissectors.amqp09.memory import UnplacedConfirms
from dissectors.amqp09.properties import Properties
from dissectors.amqp09.transfers import Link, Transfer, emit_transfer, new_transfer
from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.core.words import word

RETURN = cython.declare(cython.longlong, codes.RETURN)
ACCEPTED = cython.declare(cython.longlong, codes.ACCEPTED)
SENDER = cython.declare(cython.longlong, word("sender"))
PRESETTLED = cython.declare(cython.longlong, word("presettled"))


class Contents:
    """What is in progress on a channel, and the publishes that may still be returned."""

    def __init__(self, conn: Connection, number, state) -> None:
        self.conn = conn
        self.number = number
        self.state = state
        self.session_id = conn.next_session()
        self.current_0 = None
        self.current_1 = None
        # After a gap, content frames without a beginning are no surprise on that side.
        self.is_lost_0 = False
        self.is_lost_1 = False
        self.publish_no = 0
        self.is_confirming = False
        self.unplaced = None
        self.mandatory: deque = deque()
        self.transfer_count = 0

    def begin(
        self, side: cython.int, kind: cython.longlong, link: Link | None, dec: StreamDecoder
    ) -> Transfer:
        """A method that carries content was sent: its header and bodies are to follow."""
        t: Transfer
        conn: Connection = self.conn
        if (self.current_1 if side else self.current_0) is not None:
            self.cut_short(side, dec)
        conn.transfer_count += 1
        t = new_transfer(conn.transfer_count, kind, side)
        t.session_id = self.session_id
        t.link = link
        t.capture = conn.sink.capture
        t.first_ts = t.last_ts = dec.ts_ns
        t.first_packet = dec.first_packet_no
        t.last_packet = dec.packet_no
        t.frame_count = 1
        if conn.has_payloads:
            t.payload = bytearray()
        if link is not None:
            link.transfer_count += 1
        self.transfer_count += 1
        if side:
            self.current_1 = t
            self.is_lost_1 = False
        else:
            self.current_0 = t
            self.is_lost_0 = False
        return t

    def header(
        self,
        side: cython.int,
        properties: Properties | None,
        body_size: cython.ulonglong,
        weight: cython.longlong,
        dec: StreamDecoder,
    ) -> Transfer:
        """A content header; the transfer that it belongs to, or None (said in problems)."""
        t: Transfer = self.current_1 if side else self.current_0
        if (
            t is not None
            and t.is_gapped
            and t.children_left <= 0
            and (t.has_header or t.body_bytes)
        ):
            # After a gap this is another message's, whose method was lost.
            self.cut_short(side, dec)
            t = None
        if t is None:
            if not (self.is_lost_1 if side else self.is_lost_0):
                self.note(
                    "content09.unexpected_header", "a content header without its method", side, dec
                )
                return None
            t = self.state.infer_content(self, side)
            if t is None:
                return None
        if t.has_header:
            if t.children_left <= 0:
                self.note(
                    "content09.unexpected_header",
                    f"a second header, {t.body_bytes} of {t.body_size} octets of the first seen",
                    side,
                    dec,
                )
                return t
            t = self._begin_child(side, t, dec)
        else:
            t.frame_count += 1
            t.last_ts = dec.ts_ns
            t.last_packet = dec.packet_no
        t.has_header = True
        t.properties = properties
        t.body_size = body_size
        t.children_left = weight
        if body_size == 0 and weight == 0:
            self.assembled(side, t, dec)
        return t

    def _begin_child(self, side: cython.int, parent: Transfer, dec: StreamDecoder) -> Transfer:
        """Structured content: the children come after the parent's header, before its body."""
        child: Transfer = new_transfer(self.conn.next_transfer(), parent.kind, side)
        child.session_id = parent.session_id
        child.link = parent.link
        child.capture = self.conn.sink.capture
        child.first_ts = child.last_ts = dec.ts_ns
        child.first_packet = dec.first_packet_no
        child.last_packet = dec.packet_no
        child.frame_count = 1
        child.exchange = parent.exchange
        child.routing_key = parent.routing_key
        child.queue = parent.queue
        child.parent = parent
        child.related_id = parent.transfer_id
        child.relation = codes.CHILD_OF
        if side:
            self.current_1 = child
        else:
            self.current_0 = child
        return child

    def body(
        self,
        side: cython.int,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        dec: StreamDecoder,
    ) -> Transfer:
        """Body octets; the transfer that they belong to, or None (said in problems)."""
        t: Transfer = self.current_1 if side else self.current_0
        if t is None or not t.has_header:
            return self._headless_body(side, t, buf, start, end, dec)
        if t.children_left > 0:
            self.note(
                "content09.wrong_weight", f"{t.children_left} child contents are missing", side, dec
            )
            t.children_left = 0
        t.frame_count += 1
        t.last_ts = dec.ts_ns
        t.last_packet = dec.packet_no
        t.add_body(buf, start, end)
        if t.link is not None:
            t.link.body_bytes += end - start
        if t.body_bytes >= t.body_size:
            if t.body_bytes > t.body_size:
                self.note(
                    "content09.body_too_long",
                    f"{t.body_bytes} octets of body, {t.body_size} announced",
                    side,
                    dec,
                )
            self.assembled(side, t, dec)
        return t

    def _headless_body(self, side, t, buf: bytes, start, end, dec: StreamDecoder):
        """After a gap a body may have lost its header: its message is there, but not complete."""
        if t is None:
            if not (self.is_lost_1 if side else self.is_lost_0):
                self.note("content09.unexpected_body", "a body without its method", side, dec)
                return None
            t = self.state.infer_content(self, side)
            if t is None:
                return None
        elif not t.is_gapped:
            self.note("content09.unexpected_body", "a body without its header", side, dec)
            return None
        t.frame_count += 1
        t.last_ts = dec.ts_ns
        t.last_packet = dec.packet_no
        t.body_bytes += end - start
        if t.link is not None:
            t.link.body_bytes += end - start
        return t

    def assembled(self, side: cython.int, t: Transfer, dec: StreamDecoder) -> cython.int:
        """All of a content was seen (or all that will be)."""
        if not t.is_gapped and t.has_header:
            t.is_complete = t.body_bytes == t.body_size
        t.is_assembled = True
        if side:
            self.current_1 = t.parent
        else:
            self.current_0 = t.parent
        if t.parent is not None:
            t.parent.children_left -= 1
            t.parent.frame_count += t.frame_count
            t.parent.last_ts = t.last_ts
            t.parent.last_packet = t.last_packet
            t.is_presettled = t.parent.is_presettled
            if t.parent.children_left == 0 and t.parent.body_size == 0:
                self.assembled(side, t.parent, dec)
        elif t.kind == RETURN:
            self._tie_return(t)
        elif t.is_redelivered and t.is_complete:
            found = self.state.requeued.find(t)
            if found is not None:
                t.related_id = found
                t.relation = codes.REDELIVERY_OF
        if t.is_presettled:
            self.presettle(t)
        if t.is_settled or not t.is_held:
            emit_transfer(self.conn, t)
        return 0

    def presettle(self, t: Transfer) -> cython.int:
        """The receiver takes it as settled: a no-ack consumer's or getter's."""
        t.is_presettled = True
        t.outcome = ACCEPTED
        t.outcome_ts = t.settled_ts = t.last_ts
        t.settled_packet = t.last_packet
        t.settled_by = SENDER
        t.settle_kind = PRESETTLED
        t.is_settled = True
        return 0

    def set_lost(self, side) -> None:
        """Content frames without a beginning are no surprise on this side from here on."""
        if side:
            self.is_lost_1 = True
        else:
            self.is_lost_0 = True

    def set_current(self, side, t: Transfer | None) -> None:
        """The content in progress on a side."""
        if side:
            self.current_1 = t
        else:
            self.current_0 = t

    def cut_short(self, side: cython.int, dec: StreamDecoder) -> cython.int:
        """The content in progress ends before its time."""
        t: Transfer = self.current_1 if side else self.current_0
        while t is not None:
            parent: Transfer = t.parent
            if not t.is_gapped:
                self.note(
                    "content09.incomplete",
                    f"content ends after {t.body_bytes} of {t.body_size} octets"
                    if t.has_header
                    else "a method that carries content has no header",
                    side,
                    dec,
                )
                t.is_gapped = True
            t.parent = None
            self.assembled(side, t, dec)
            t = parent
            if side:
                self.current_1 = None
            else:
                self.current_0 = None
        return 0

    def lose(self, side: cython.int) -> cython.int:
        """Bytes of this side are missing: what is in progress will not be complete."""
        t: Transfer = self.current_1 if side else self.current_0
        while t is not None:
            t.is_gapped = True
            t = t.parent
        self.set_lost(side)
        if self.is_confirming and self.unplaced is None and side == self.state.client_side:
            # Publishes may be among the missing: from here on their numbers are a guess.
            self.unplaced = UnplacedConfirms(self.publish_no)
        return 0

    def _tie_return(self, t: Transfer) -> None:
        """A returned message is the earliest waiting publish that looks the same."""
        digest = t.final_digest()
        for publish in self.mandatory:
            if (
                publish.exchange == t.exchange
                and publish.routing_key == t.routing_key
                and (digest is None or publish.final_digest() == digest)
            ):
                t.related_id = publish.transfer_id
                t.relation = codes.RETURN_OF
                t.link = publish.link
                self.mandatory.remove(publish)
                self._let_go(publish)
                return

    def _release_mandatory(self) -> None:
        self._let_go(self.mandatory.popleft())

    def _let_go(self, publish: Transfer) -> None:
        """A mandatory publish need not wait for a return any more; a confirm may still come."""
        publish.is_mandatory = False
        if self.is_confirming or self.unplaced is not None or publish.transaction_id is not None:
            return
        publish.is_held = False
        if publish.is_assembled:
            emit_transfer(self.conn, publish)

    def note(self, code: str, detail: str, side, dec: StreamDecoder) -> None:
        """A problem on this channel, at the frame in hand."""
        self.conn.problem(
            code, f"channel {self.number}: {detail}", side, dec.ts_ns, dec.packet_no, dec.offset
        )
