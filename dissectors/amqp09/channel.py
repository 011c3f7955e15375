"""One channel: the content being put together on each side, and what is not yet settled.

Frames reach it through the decoder, the compiled path and the table-driven one alike. It knows
messages, links, acknowledgements, confirms and transactions; it reads no octets but bodies.
"""

from collections import deque

import cython

from dissectors.amqp09 import codes
from dissectors.amqp09.memory import Confirm, UnplacedConfirms
from dissectors.amqp09.properties import Properties
from dissectors.amqp09.transfers import Link, Transfer, emit_transfer, new_transfer
from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.core.words import word

# Mandatory publishes that wait for a possible basic.return.
MAX_MANDATORY = 1024
# Messages of one channel that wait for their settlement.
MAX_UNSETTLED = 1 << 20
# Messages of one channel that are staged, or wait for an answer without tag.
MAX_HELD = 1 << 16
# Publishes and acks of one transaction that wait for its end.
MAX_IN_TRANSACTION = 1 << 18

MAX_UINT64 = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)

NONE = cython.declare(cython.longlong, codes.NONE)
PUBLISH = cython.declare(cython.longlong, codes.PUBLISH)
DELIVER = cython.declare(cython.longlong, codes.DELIVER)
RETURN = cython.declare(cython.longlong, codes.RETURN)
ACCEPTED = cython.declare(cython.longlong, codes.ACCEPTED)
RELEASED = cython.declare(cython.longlong, codes.RELEASED)
SENDER = cython.declare(cython.longlong, word("sender"))
RECEIVER = cython.declare(cython.longlong, word("receiver"))
SINGLE = cython.declare(cython.longlong, word("single"))
RANGE = cython.declare(cython.longlong, word("range"))
PRESETTLED = cython.declare(cython.longlong, word("presettled"))


class Transaction:
    """A transaction's publishes and acknowledgements, which take effect when it commits."""

    def __init__(self, transaction_id: str) -> None:
        self.transaction_id = transaction_id
        # (channel, transfer), publishes and acknowledgements alike
        self.work: list = []


class Channel:
    """The state of one channel number from its open to its close."""

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
        self.deliveries: dict = {}
        self.deliveries_low = 0
        self.deliveries_top = 0
        self.unconfirmed: dict = {}
        self.unconfirmed_low = 1
        self.publish_no = 0
        self.is_confirming = False
        self.unplaced = None
        self.mandatory: deque = deque()
        self.transaction = None
        self.transaction_no = 0
        self.publishers: dict = {}
        self.consumers: dict = {}
        self.getters: dict = {}
        self.links: list = []
        self.pending: dict = {}
        # Transfers that wait for something else than a tag: a file's publish, a message's answer.
        self.held: dict = {}
        self.staged: dict = {}
        self.references: dict = {}
        self.shared_prefetch = 0
        self.consumer_prefetch = 0
        self.has_global_limit = False
        self.prefetch_size = 0
        self.consumer_unsettled = 0
        self.last_queue = None
        self.transfer_count = 0
        self.is_closing = False
        self.row: dict = {"is_inferred": True}

    # -- messages begin -------------------------------------------------------------------

    def begin(
        self, side: cython.int, kind: cython.longlong, link: Link | None, dec: StreamDecoder
    ) -> Transfer:
        """A method that carries content was sent: its header and bodies are to follow."""
        t: Transfer
        conn: Connection = self.conn
        if (self.current_1 if side else self.current_0) is not None:
            self.cut_short(side, dec)
        t = new_transfer(conn.next_transfer(), kind, side)
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

    def publish(
        self,
        side: cython.int,
        exchange: str,
        routing_key: str,
        is_mandatory: cython.bint,
        dec: StreamDecoder,
    ) -> Transfer:
        t: Transfer
        link: Link = self.publishers.get(exchange)
        if link is None:
            link = self.state.new_publisher(self, exchange, dec)
        t = self.begin(side, PUBLISH, link, dec)
        t.exchange = exchange
        t.routing_key = routing_key
        if exchange == "":
            # Every queue is bound to the default exchange by its name (0-9-1 §3.1.3.1).
            t.queue = routing_key
        t.is_mandatory = is_mandatory
        if is_mandatory:
            self.mandatory.append(t)
            t.is_held = True
            if len(self.mandatory) > MAX_MANDATORY:
                self._release_mandatory()
        self._number(t, dec)
        return t

    def _number(self, t: Transfer, dec: StreamDecoder) -> cython.int:
        """What a publish waits for: its confirm, by its number, or the end of its transaction."""
        if self.unplaced is not None:
            t.is_held = True
            self.unplaced.add_publish(t)
            if self.unplaced.is_full:
                self.place_confirms(dec)
        elif self.is_confirming:
            self.publish_no += 1
            t.tag = self.publish_no
            t.has_tag = True
            t.is_held = True
            self.unconfirmed[self.publish_no] = t
            if len(self.unconfirmed) > MAX_UNSETTLED:
                self._drop_oldest(self.unconfirmed, "unconfirmed publishes", dec)
        elif self.transaction is not None:
            self.state.add_to_transaction(self, t, dec)
        return 0

    def deliver(
        self,
        side: cython.int,
        tag: cython.ulonglong,
        is_redelivered: cython.bint,
        consumer_tag: str,
        exchange: str,
        routing_key: str | None,
        dec: StreamDecoder,
    ) -> Transfer:
        t: Transfer
        link: Link = self.consumers.get(consumer_tag)
        if link is None:
            link = self.state.infer_consumer(self, consumer_tag, dec)
        t = self.begin(side, DELIVER, link, dec)
        t.exchange = exchange
        t.routing_key = routing_key
        t.queue = link.queue
        t.tag = tag
        t.has_tag = True
        t.is_redelivered = is_redelivered
        t.has_redelivered = True
        if link.is_no_ack:
            t.is_presettled = True
        else:
            self.consumer_unsettled += 1
            self.expect_settlement(t, dec)
            if link.prefetch and link.unsettled_count == link.prefetch:
                self.state.credit_exhausted(self, link, link.prefetch, link.unsettled_count, dec)
            if self.shared_prefetch and self.consumer_unsettled == self.shared_prefetch:
                self.state.credit_exhausted(
                    self, None, self.shared_prefetch, self.consumer_unsettled, dec
                )
            if self.has_global_limit:
                self.state.check_global_limit(dec)
        return t

    def expect_settlement(self, t: Transfer, dec: StreamDecoder) -> cython.int:
        """A delivery that an ack, nack or reject will name by its tag."""
        tag: cython.ulonglong = t.tag
        if tag > self.deliveries_top:
            self.deliveries_top = tag
        elif tag in self.deliveries:
            self.note("state09.tag_reused", f"delivery tag {tag} is still unsettled", t.side, dec)
            emit_transfer(self.conn, self.deliveries[tag])
        t.is_held = True
        self.deliveries[tag] = t
        t.link.unsettled_count += 1
        if len(self.deliveries) == 1 or tag < self.deliveries_low:
            self.deliveries_low = tag
        if len(self.deliveries) > MAX_UNSETTLED:
            self._drop_oldest(self.deliveries, "unsettled deliveries", dec)
        return 0

    # -- content --------------------------------------------------------------------------

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

    def lost_publish(self, side, dec: StreamDecoder):
        """A publish whose method was lost: it has a number, but no address."""
        t: Transfer = self.begin(side, PUBLISH, None, dec)
        self._number(t, dec)
        return t

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

    def hold(self, t: Transfer) -> None:
        """Keep a transfer that no tag names until `answer`, `release` or the channel's end."""
        t.is_held = True
        self.held[t.transfer_id] = t
        if len(self.held) > MAX_HELD:
            self.release(next(iter(self.held.values())))

    def release(self, t: Transfer) -> None:
        """It waits no longer."""
        self.held.pop(t.transfer_id, None)
        t.is_held = False
        if t.is_assembled:
            emit_transfer(self.conn, t)

    def answer(self, t: Transfer, outcome, is_batch, dec: StreamDecoder) -> None:
        """An answer to a transfer of 0-9's message class."""
        self.held.pop(t.transfer_id, None)
        if t.is_emitted:
            return
        self._finish(
            t, outcome, RECEIVER, RANGE if is_batch else SINGLE, dec.ts_ns, dec.packet_no, dec.ts_ns
        )

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

    # -- settlement -----------------------------------------------------------------------

    def settle(
        self,
        side: cython.int,
        tag: cython.ulonglong,
        is_multiple: cython.bint,
        outcome: cython.longlong,
        dec: StreamDecoder,
    ) -> Transfer:
        """ack, nack or reject of deliveries; the first transfer concerned, or None."""
        t: Transfer
        first: Transfer = None
        if not is_multiple:
            t = self.deliveries.pop(tag, None)
            if t is None:
                self._unknown_tag(side, tag, dec)
                return None
            if tag == self.deliveries_low:
                self.deliveries_low = tag + 1
            self._settle_one(t, outcome, SINGLE, dec)
            return t
        if tag == 0:
            tag = self.deliveries_top
        for t in self._take_up_to(self.deliveries, self.deliveries_low, tag):
            if first is None:
                first = t
            self._settle_one(t, outcome, RANGE, dec)
        self.deliveries_low = tag + 1
        if first is None:
            self._unknown_tag(side, tag, dec)
        return first

    def _unknown_tag(self, side: cython.int, tag, dec: StreamDecoder) -> None:
        """An ack for a delivery that was not seen, or that is settled already."""
        self.note("state09.unknown_tag", f"nothing unsettled has delivery tag {tag}", side, dec)

    def confirm(
        self,
        side: cython.int,
        tag: cython.ulonglong,
        is_multiple: cython.bint,
        outcome: cython.longlong,
        dec: StreamDecoder,
    ) -> Transfer:
        """The broker's ack or nack of publishes; the first one concerned, or None."""
        t: Transfer
        first: Transfer = None
        if self.unplaced is not None:
            self.is_confirming = True
            if self.unconfirmed and tag in self.unconfirmed and not is_multiple:
                t = self.unconfirmed.pop(tag)
                self._finish(t, outcome, RECEIVER, SINGLE, dec.ts_ns, dec.packet_no, dec.ts_ns)
                return t
            self.unplaced.add_confirm(Confirm(tag, is_multiple, outcome, dec.ts_ns, dec.packet_no))
            if self.unplaced.is_full:
                self.place_confirms(dec)
            return None
        if not is_multiple:
            t = self.unconfirmed.pop(tag, None)
            if t is None:
                self._unknown_confirm(side, tag, dec)
                return None
            if tag == self.unconfirmed_low:
                self.unconfirmed_low = tag + 1
            self._finish(t, outcome, RECEIVER, SINGLE, dec.ts_ns, dec.packet_no, dec.ts_ns)
            return t
        if tag == 0:
            tag = self.publish_no
        for t in self._take_up_to(self.unconfirmed, self.unconfirmed_low, tag):
            if first is None:
                first = t
            self._finish(t, outcome, RECEIVER, RANGE, dec.ts_ns, dec.packet_no, dec.ts_ns)
        self.unconfirmed_low = tag + 1
        if first is None:
            self._unknown_confirm(side, tag, dec)
        return first

    def _unknown_confirm(self, side: cython.int, tag, dec: StreamDecoder) -> None:
        self.note("state09.unknown_confirm", f"no publish waits for confirm {tag}", side, dec)

    def place_confirms(self, dec: StreamDecoder) -> None:
        """Number the publishes whose place was not known, and settle them."""
        unplaced = self.unplaced
        if unplaced is None:
            return
        if not unplaced.confirms and not self.is_confirming:
            # No confirm came: this channel does not use them.
            for t in unplaced.publishes:
                t.is_held = t.is_mandatory
                if t.is_assembled and not t.is_held:
                    emit_transfer(self.conn, t)
            unplaced.publishes.clear()
            return
        waiting = dict(self.unconfirmed)
        for number, t in unplaced.placed():
            t.tag = number
            t.has_tag = True
            waiting[number] = t
        for confirm in unplaced.confirms:
            if confirm.is_multiple:
                tags = [n for n in waiting if n <= confirm.tag or confirm.tag == 0]
            else:
                tags = [confirm.tag] if confirm.tag in waiting else []
            kind = RANGE if confirm.is_multiple else SINGLE
            for number in tags:
                t = waiting.pop(number)
                self._finish(
                    t,
                    confirm.outcome,
                    RECEIVER,
                    kind,
                    confirm.ts_ns,
                    confirm.packet_no,
                    confirm.ts_ns,
                )
            if not tags:
                self._unknown_confirm(1 - self.state.client_side, confirm.tag, dec)
        self.publish_no = max(self.publish_no, unplaced.before + len(unplaced.publishes))
        self.unconfirmed = waiting
        self.unconfirmed_low = min(waiting, default=self.publish_no + 1)
        self.unplaced = UnplacedConfirms(self.publish_no)

    def _take_up_to(self, waiting: dict, low: cython.ulonglong, tag: cython.ulonglong) -> list:
        """Take out all with a tag up to this one; walk whichever is shorter, tags or dict."""
        n: cython.ulonglong
        near: cython.ulonglong = 2 * len(waiting) + 64
        taken: list = []
        if low <= tag < MAX_UINT64 and tag - low <= near:
            for n in range(low, tag + 1):
                t = waiting.pop(n, None)
                if t is not None:
                    taken.append(t)
            return taken
        for key in [key for key in waiting if key <= tag]:
            taken.append(waiting.pop(key))
        return taken

    def _settle_one(
        self, t: Transfer, outcome: cython.longlong, kind: cython.longlong, dec: StreamDecoder
    ) -> cython.int:
        if self.transaction is not None:
            t.is_pending = True
            t.outcome = outcome
            t.outcome_ts = dec.ts_ns
            t.settle_kind = kind
            self.state.add_ack_to_transaction(self, t, dec)
            return 0
        return self._finish(t, outcome, RECEIVER, kind, dec.ts_ns, dec.packet_no, dec.ts_ns)

    def _finish(
        self,
        t: Transfer,
        outcome: cython.longlong,
        by: cython.longlong,
        kind: cython.longlong,
        ts_ns: cython.longlong,
        packet_no: cython.longlong,
        outcome_ts: cython.longlong,
    ) -> cython.int:
        """This transfer is settled."""
        t.outcome = outcome
        t.outcome_ts = outcome_ts
        t.settled_ts = ts_ns
        t.settled_packet = packet_no
        t.settled_by = by
        t.settle_kind = kind
        t.is_settled = True
        t.is_held = False
        t.is_pending = False
        if t.kind != PUBLISH:
            t.link.unsettled_count -= 1
            if t.kind == DELIVER:
                self.consumer_unsettled -= 1
            if outcome == RELEASED:
                self.state.requeued.remember(t)
        elif t.is_mandatory:
            # A return comes before the confirm: none can come any more.
            t.is_mandatory = False
            if t in self.mandatory:
                self.mandatory.remove(t)
        if t.is_assembled:
            emit_transfer(self.conn, t)
        return 0

    def decide(self, t: Transfer, is_committed, is_open, dec: StreamDecoder) -> None:
        """A transaction's end for one of its publishes or acks; `is_open`: the channel is."""
        t.transaction_outcome = codes.COMMITTED if is_committed else codes.ROLLED_BACK
        if not t.is_pending:
            t.is_held = False
            if t.is_assembled:
                emit_transfer(self.conn, t)
        elif is_committed:
            self._finish(
                t, t.outcome, RECEIVER, t.settle_kind, dec.ts_ns, dec.packet_no, t.outcome_ts
            )
        else:
            self.undo_ack(t)
            if is_open:
                self.deliveries[t.tag] = t
                self.deliveries_low = min(self.deliveries_low, t.tag)
                self.deliveries_top = max(self.deliveries_top, t.tag)
            else:
                emit_transfer(self.conn, t)

    def undo_ack(self, t: Transfer) -> None:
        """An ack that was rolled back, or never committed, had no effect."""
        t.is_pending = False
        t.outcome = NONE
        t.settle_kind = NONE
        t.transaction_id = None

    def recover(self, dec: StreamDecoder) -> cython.longlong:
        """basic.recover: all that is unsettled goes back to be delivered again."""
        t: Transfer
        count: cython.longlong = 0
        for t in list(self.deliveries.values()):
            self._finish(t, RELEASED, RECEIVER, RANGE, dec.ts_ns, dec.packet_no, dec.ts_ns)
            count += 1
        self.deliveries.clear()
        return count

    def _drop_oldest(self, waiting: dict, what: str, dec: StreamDecoder) -> None:
        """Too many wait: the oldest is written as it is."""
        tag = next(iter(waiting))
        t: Transfer = waiting.pop(tag)
        if not self.state.has_dropped:
            self.state.has_dropped = True
            self.note("limit09.unsettled", f"more than {MAX_UNSETTLED} {what}", t.side, dec)
        t.is_held = False
        if t.is_assembled:
            emit_transfer(self.conn, t)

    # -- the end --------------------------------------------------------------------------

    def end(self, dec: StreamDecoder) -> None:
        """The channel is over: write all that waited, unsettled as it is."""
        t: Transfer
        for side in (0, 1):
            t = self.current_1 if side else self.current_0
            while t is not None:
                t.is_gapped = t.is_assembled = True
                if not t.is_held:
                    emit_transfer(self.conn, t)
                t = t.parent
        self.current_0 = self.current_1 = None
        self.place_confirms(dec)
        for t in self.held.values():
            t.is_assembled = True
            emit_transfer(self.conn, t)
        self.held = {}
        for t in self.deliveries.values():
            self.state.requeued.remember(t)
            emit_transfer(self.conn, t)
        for t in self.unconfirmed.values():
            if t.link is not None:
                t.link.unsettled_count += 1
            emit_transfer(self.conn, t)
        for t in self.mandatory:
            emit_transfer(self.conn, t)
        self.deliveries = {}
        self.unconfirmed = {}
        self.mandatory.clear()
        self.transaction = None

    def note(self, code: str, detail: str, side, dec: StreamDecoder) -> None:
        """A problem on this channel, at the frame in hand."""
        self.conn.problem(
            code, f"channel {self.number}: {detail}", side, dec.ts_ns, dec.packet_no, dec.offset
        )
