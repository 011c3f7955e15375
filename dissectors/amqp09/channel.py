"""One channel from its open to its close: publishes and deliveries begin here.

Frames reach it through the decoder, the compiled path and the table-driven one alike. How a
content is put together is `contents`' matter, how it is settled `settling`'s.
"""

import cython

from dissectors.amqp09 import codes
from dissectors.amqp09.settling import MAX_UNSETTLED, Settling
from dissectors.amqp09.transfers import Link, Transfer, emit_transfer
from dissectors.amqp09.waiting import Waiting
from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder

# Mandatory publishes that wait for a possible basic.return.
MAX_MANDATORY = 1024
# Publishes and acks of one transaction that wait for its end.
MAX_IN_TRANSACTION = 1 << 18

UNSETTLED_LIMIT = cython.declare(cython.Py_ssize_t, MAX_UNSETTLED)
PUBLISH = cython.declare(cython.longlong, codes.PUBLISH)
DELIVER = cython.declare(cython.longlong, codes.DELIVER)


class Transaction:
    """A transaction's publishes and acknowledgements, which take effect when it commits."""

    def __init__(self, transaction_id: str) -> None:
        self.transaction_id = transaction_id
        # (channel, transfer), publishes and acknowledgements alike
        self.work: list = []


class Channel(Settling):
    """The state of one channel number."""

    def __init__(self, conn: Connection, number, state) -> None:
        super().__init__(conn, number, state)
        self.transaction_no = 0
        self.publishers: dict = {}
        self.consumers: dict = {}
        self.getters: dict = {}
        self.links: list = []
        self.pending: dict = {}
        self.staged: dict = {}
        self.references: dict = {}
        self.shared_prefetch = 0
        self.consumer_prefetch = 0
        self.has_global_limit = False
        self.prefetch_size = 0
        self.last_queue = None
        # A channel's sender mostly repeats its arguments.
        self.last_publish = None
        self.last_deliver = None
        self.is_closing = False
        self.row: dict = {"is_inferred": True}

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
            self.unconfirmed.put(t)
            if self.unconfirmed.count > UNSETTLED_LIMIT:
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

    def lost_publish(self, side, dec: StreamDecoder):
        """A publish whose method was lost: it has a number, but no address."""
        t: Transfer = self.begin(side, PUBLISH, None, dec)
        self._number(t, dec)
        return t

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
        for t in self.deliveries.transfers():
            self.state.requeued.remember(t)
            emit_transfer(self.conn, t)
        for t in self.unconfirmed.transfers():
            if t.link is not None:
                t.link.unsettled_count += 1
            emit_transfer(self.conn, t)
        for t in self.mandatory:
            emit_transfer(self.conn, t)
        self.deliveries = Waiting()
        self.unconfirmed = Waiting()
        self.mandatory.clear()
        self.transaction = None
