"""What is not yet settled on a channel: deliveries by their tags, publishes by their numbers.

Acknowledgements, confirms and the ends of transactions come here; the frames that carry them are
read elsewhere.
"""

import cython

from dissectors.amqp09 import codes
from dissectors.amqp09.contents import Contents
from dissectors.amqp09.memory import Confirm, UnplacedConfirms
from dissectors.amqp09.transfers import Transfer, emit_transfer
from dissectors.amqp09.waiting import Waiting
from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.core.words import word

# Messages of one channel that wait for their settlement.
MAX_UNSETTLED = 1 << 20
# Messages of one channel that are staged, or wait for an answer without tag.
MAX_HELD = 1 << 16

UNSETTLED_LIMIT = cython.declare(cython.Py_ssize_t, MAX_UNSETTLED)

NONE = cython.declare(cython.longlong, codes.NONE)
PUBLISH = cython.declare(cython.longlong, codes.PUBLISH)
DELIVER = cython.declare(cython.longlong, codes.DELIVER)
RELEASED = cython.declare(cython.longlong, codes.RELEASED)
RECEIVER = cython.declare(cython.longlong, word("receiver"))
SINGLE = cython.declare(cython.longlong, word("single"))
RANGE = cython.declare(cython.longlong, word("range"))


class Settling(Contents):
    """What waits for an ack, a nack, a reject, a confirm or a commit."""

    def __init__(self, conn: Connection, number, state) -> None:
        super().__init__(conn, number, state)
        self.deliveries = Waiting()
        self.deliveries_low = 0
        self.deliveries_top = 0
        self.unconfirmed = Waiting()
        self.unconfirmed_low = 1
        self.transaction = None
        # Transfers that wait for something else than a tag: a file's publish, a message's answer.
        self.held: dict = {}
        self.consumer_unsettled = 0

    def expect_settlement(self, t: Transfer, dec: StreamDecoder) -> cython.int:
        """A delivery that an ack, nack or reject will name by its tag."""
        tag: cython.ulonglong = t.tag
        earlier: Transfer
        if tag > self.deliveries_top:
            self.deliveries_top = tag
        else:
            earlier = self.deliveries.get(tag)
            if earlier is not None:
                self.note(
                    "state09.tag_reused", f"delivery tag {tag} is still unsettled", t.side, dec
                )
                emit_transfer(self.conn, earlier)
        t.is_held = True
        self.deliveries.put(t)
        t.link.unsettled_count += 1
        if self.deliveries.count == 1 or tag < self.deliveries_low:
            self.deliveries_low = tag
        if self.deliveries.count > UNSETTLED_LIMIT:
            self._drop_oldest(self.deliveries, "unsettled deliveries", dec)
        return 0

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
            t = self.deliveries.take(tag)
            if t is None:
                self._unknown_tag(side, tag, dec)
                return None
            if tag == self.deliveries_low:
                self.deliveries_low = tag + 1
            self._settle_one(t, outcome, SINGLE, dec)
            return t
        if tag == 0:
            tag = self.deliveries_top
        elif self.state.is_void_ack and self.deliveries.get(tag) is None:
            self._unknown_tag(side, tag, dec)
            return None
        for t in self.deliveries.take_up_to(self.deliveries_low, tag):
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
            t = None if is_multiple else self.unconfirmed.take(tag)
            if t is not None:
                self._finish(t, outcome, RECEIVER, SINGLE, dec.ts_ns, dec.packet_no, dec.ts_ns)
                return t
            self.unplaced.add_confirm(Confirm(tag, is_multiple, outcome, dec.ts_ns, dec.packet_no))
            if self.unplaced.is_full:
                self.place_confirms(dec)
            return None
        if not is_multiple:
            t = self.unconfirmed.take(tag)
            if t is None:
                self._unknown_confirm(side, tag, dec)
                return None
            if tag == self.unconfirmed_low:
                self.unconfirmed_low = tag + 1
            self._finish(t, outcome, RECEIVER, SINGLE, dec.ts_ns, dec.packet_no, dec.ts_ns)
            return t
        if tag == 0:
            tag = self.publish_no
        for t in self.unconfirmed.take_up_to(self.unconfirmed_low, tag):
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
        waiting: Waiting = self.unconfirmed
        for number, t in unplaced.placed():
            t.tag = number
            t.has_tag = True
            waiting.put(t)
        tags = [t.tag for t in waiting.transfers()]
        low, last = min(tags, default=1), max(tags, default=0)
        for confirm in unplaced.confirms:
            settled = []
            if confirm.is_multiple:
                top = min(confirm.tag or last, last)
                if top >= low:
                    settled = waiting.take_up_to(low, top)
                    low = top + 1
            else:
                t = waiting.take(confirm.tag)
                settled = [] if t is None else [t]
            kind = RANGE if confirm.is_multiple else SINGLE
            for t in settled:
                self._finish(
                    t,
                    confirm.outcome,
                    RECEIVER,
                    kind,
                    confirm.ts_ns,
                    confirm.packet_no,
                    confirm.ts_ns,
                )
            if not settled:
                self._unknown_confirm(1 - self.state.client_side, confirm.tag, dec)
        self.publish_no = max(self.publish_no, unplaced.before + len(unplaced.publishes))
        tags = [t.tag for t in waiting.transfers()]
        self.unconfirmed_low = min(tags, default=self.publish_no + 1)
        self.unplaced = UnplacedConfirms(self.publish_no)

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
                self.deliveries.put(t)
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
        for t in self.deliveries.transfers():
            self._finish(t, RELEASED, RECEIVER, RANGE, dec.ts_ns, dec.packet_no, dec.ts_ns)
            count += 1
        self.deliveries = Waiting()
        return count

    def _drop_oldest(self, waiting: Waiting, what: str, dec: StreamDecoder) -> None:
        """Too many wait: the oldest is written as it is."""
        t: Transfer = waiting.take_oldest()
        if not self.state.has_dropped:
            self.state.has_dropped = True
            self.note("limit09.unsettled", f"more than {MAX_UNSETTLED} {what}", t.side, dec)
        t.is_held = False
        if t.is_assembled:
            emit_transfer(self.conn, t)
