"""What a connection remembers beyond its channels: who is client, links, transactions, the end.

`Channel` calls back here for everything that is not hot. It writes the rows of links, sessions and
credits; frames are read elsewhere (`decoder`, `rare`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dissectors.amqp09.channel import MAX_IN_TRANSACTION, OPEN, Channel, Transaction
from dissectors.amqp09.dialects import load_dialect, vendor_of
from dissectors.amqp09.field_types import preferred_systems
from dissectors.amqp09.memory import Requeued, UnplacedConfirms
from dissectors.amqp09.transfers import GET, Link, Transfer, emit_transfer

if TYPE_CHECKING:
    from dissectors.amqp09.decoder import Decoder09

SERVER_SIDE = 1
# Links of one channel kept in memory: a publisher per exchange, a consumer per tag.
MAX_LINKS = 65_536


class ConnectionState:
    """The rare half of a connection's state."""

    def __init__(self, dec: Decoder09, dialect: str) -> None:
        self.dec = dec
        self.conn = dec.conn
        self.dialect_name = dialect
        self.vendor = ""
        self.dialect = load_dialect(dialect)
        self.systems = preferred_systems(dialect)
        self.client_side = 0
        self.is_midstream = False
        self.is_open = False
        self.is_closed = False
        self.has_dropped = False
        self.requeued = Requeued()
        self.branches: dict[str, Transaction] = {}
        self.details: dict[str, Any] = {}
        self.server_frame_max: int | None = None
        self.global_prefetch = 0
        # class of the method that a content in progress belongs to, where it is not basic
        self.content_classes: dict[int, int] = {}

    def set_vendor(self, product: str) -> None:
        """The server's product decides method tables and field-table types."""
        self.vendor = vendor_of(product)
        self.dialect = load_dialect(self.dialect_name, self.vendor)
        self.systems = preferred_systems(self.dialect_name, self.vendor)
        self.dec.memory.known.clear()

    def problem(self, code: str, detail: str, side: int, size: int | None = None,
                first_bytes: bytes = b"") -> None:
        """A problem at the frame in hand."""
        dec = self.dec
        self.conn.problem(
            code, detail, side, dec.ts_ns, dec.packet_no, dec.offset, size, first_bytes
        )

    # -- channels -------------------------------------------------------------------------

    def open_channel(self, number: int, side: int) -> Channel:
        """channel.open: a new session, even if the number was used before."""
        old = self.dec.channels.get(number)
        if old is not None:
            self.problem(
                "state09.channel_reopened", f"channel {number} is opened again", side
            )
            self.end_channel(old, {"end_reason": "opened again"})
        channel = self.new_channel(number)
        channel.row = {
            "is_inferred": False,
            "begun_by": self.conn.side_name(side),
            "begin_ts_ns": self.dec.ts_ns,
        }
        return channel

    def new_channel(self, number: int) -> Channel:
        channel = Channel(self.conn, number, self)
        self.dec.channels[number] = channel
        self.dec.last_channel = channel
        return channel

    def infer_channel(self, number: int, side: int) -> Channel:
        """A frame on a channel whose opening was not seen."""
        channel = self.new_channel(number)
        channel.row = {"is_inferred": True, "begin_ts_ns": self.dec.ts_ns}
        channel.is_lost_0 = channel.is_lost_1 = True
        if self.is_midstream:
            # Whether this channel is in confirm mode, and how far, shows only in confirms.
            channel.unplaced = UnplacedConfirms()
        else:
            self.problem(
                "state09.channel_not_open", f"channel {number} was not seen to open", side
            )
        return channel

    def end_channel(self, channel: Channel, how: dict[str, Any]) -> None:
        """The channel is over, by close-ok or with its connection."""
        channel.end(self.dec)
        for link in channel.links:
            self.end_link(link, {"end_kind": "session-end"})
        self.conn.sink.sessions.append(
            {
                "connection_id": self.conn.connection_id,
                "session_id": channel.session_id,
                "channel": channel.number,
                "is_confirming": channel.is_confirming,
                "is_transactional": bool(channel.transaction_no),
                "commit_count": 0,
                "rollback_count": 0,
                "transfer_count": channel.transfer_count,
                **how,
                **channel.row,
            }
        )
        if self.dec.channels.get(channel.number) is channel:
            del self.dec.channels[channel.number]
        self.dec.last_channel = None

    # -- links ----------------------------------------------------------------------------

    def new_link(self, channel: Channel, kind: str, row: dict[str, Any]) -> Link:
        link = Link(self.conn.next_link(), channel.session_id, kind)
        link.queue = row.get("queue")
        link.row = {"begin_ts_ns": self.dec.ts_ns, "is_inferred": False, **row}
        channel.links.append(link)
        if len(channel.links) > MAX_LINKS:
            self.end_link(channel.links.pop(0), {"end_reason": "forgotten: too many links"})
        return link

    def new_publisher(self, channel: Channel, exchange: str, dec: Decoder09) -> Link:
        link = self.new_link(
            channel, "publisher", {"exchange": exchange, "address": exchange, "role": "sender"}
        )
        channel.publishers[exchange] = link
        if len(channel.publishers) > MAX_LINKS:
            channel.publishers.pop(next(iter(channel.publishers)))
        return link

    def infer_consumer(self, channel: Channel, consumer_tag: str, dec: Decoder09) -> Link:
        """A delivery to a consumer that was not seen to begin."""
        pending = channel.pending.get("consume")
        if pending and pending[0].row.get("name") is None:
            # The server may deliver before it says which tag it gave.
            link: Link = pending[0]
            link.row["name"] = consumer_tag
        else:
            link = self.new_link(
                channel, "consumer", {"name": consumer_tag, "is_inferred": True, "role": "receiver"}
            )
        channel.consumers[consumer_tag] = link
        if len(channel.consumers) > MAX_LINKS:
            channel.consumers.pop(next(iter(channel.consumers)))
        return link

    def end_link(self, link: Link, how: dict[str, Any]) -> None:
        """Write a link's row, once."""
        if link.is_ended:
            return
        link.is_ended = True
        self.conn.sink.links.append(
            {
                "connection_id": self.conn.connection_id,
                "session_id": link.session_id,
                "link_id": link.link_id,
                "kind": link.kind,
                "transfer_count": link.transfer_count,
                "body_bytes": link.body_bytes,
                "unsettled_count": max(link.unsettled_count, 0),
                **how,
                **link.row,
            }
        )

    def get_ok(
        self, channel: Channel, side: int, tag: int, is_redelivered: bool, exchange: str,
        routing_key: str,
    ) -> Transfer:
        """basic.get-ok answers the oldest basic.get."""
        waiting = channel.pending.get("get")
        queue, is_no_ack = waiting.pop(0) if waiting else (None, False)
        t = channel.begin(side, GET, self.getter(channel, queue, is_no_ack), self.dec)
        t.exchange = exchange
        t.routing_key = routing_key
        t.queue = queue
        t.tag = tag
        t.has_tag = True
        t.is_redelivered = is_redelivered
        t.has_redelivered = True
        if is_no_ack:
            t.is_presettled = True
        else:
            channel.expect_settlement(t, self.dec)
        return t

    def getter(self, channel: Channel, queue: str | None, is_no_ack: bool) -> Link:
        link = channel.getters.get((queue, is_no_ack))
        if link is None:
            row = {
                "queue": queue, "address": queue, "is_no_ack": is_no_ack, "role": "receiver",
                "is_inferred": queue is None,
            }
            link = channel.getters[queue, is_no_ack] = self.new_link(channel, "getter", row)
        return link

    # -- credit ---------------------------------------------------------------------------

    def credit(self, event: str, side: int, channel: Channel | None = None,
               link: Link | None = None, **columns: Any) -> None:
        """One row in credits. The frame's own row is written after it."""
        dec = self.dec
        self.conn.sink.credits.append(
            {
                "connection_id": self.conn.connection_id,
                "session_id": channel.session_id if channel else None,
                "link_id": link.link_id if link else None,
                "ts_ns": dec.ts_ns,
                "direction": self.conn.direction_name(side),
                "packet_no": dec.packet_no,
                "frame_no": self.conn.frame_no + 1,
                "event": event,
                **columns,
            }
        )

    def credit_exhausted(
        self, channel: Channel, link: Link | None, limit: int, unsettled: int, dec: Decoder09
    ) -> None:
        """A consumer, or the channel, has all the unacknowledged messages that it may have."""
        self.credit(
            "credit-exhausted", 1 - self.client_side, channel, link, prefetch_count=limit,
            sender_credit=0, receiver_credit=0, unsettled_count=unsettled,
        )

    # -- transactions ---------------------------------------------------------------------

    def begin_transaction(self, channel: Channel, transaction_id: str | None = None) -> None:
        channel.transaction_no += 1
        channel.transaction = Transaction(transaction_id or str(channel.transaction_no))

    def add_to_transaction(self, channel: Channel, t: Transfer, dec: Decoder09) -> None:
        transaction = channel.transaction
        t.transaction_id = transaction.transaction_id
        t.transaction_outcome = OPEN
        t.is_held = True
        transaction.publishes.append(t)
        self._limit_transaction(transaction, t.side)

    def add_ack_to_transaction(self, channel: Channel, t: Transfer, dec: Decoder09) -> None:
        transaction = channel.transaction
        t.transaction_id = transaction.transaction_id
        t.transaction_outcome = OPEN
        transaction.acks.append(t)
        self._limit_transaction(transaction, t.side)

    def _limit_transaction(self, transaction: Transaction, side: int) -> None:
        if not transaction.is_full():
            return
        self.problem(
            "limit09.transaction", f"more than {MAX_IN_TRANSACTION} messages in one transaction",
            side,
        )
        for t in transaction.publishes[: MAX_IN_TRANSACTION // 2]:
            if t.is_assembled:
                emit_transfer(self.conn, t)
        del transaction.publishes[: MAX_IN_TRANSACTION // 2]
        for t in transaction.acks[: MAX_IN_TRANSACTION // 2]:
            emit_transfer(self.conn, t)
        del transaction.acks[: MAX_IN_TRANSACTION // 2]

    # -- loss and end ---------------------------------------------------------------------

    def lose(self, side: int) -> None:
        """Bytes of this side are missing."""
        for channel in self.dec.channels.values():
            channel.lose(side)

    def end(self, ts_ns: int, how: str) -> None:
        """The connection is over, or the capture is."""
        reason = "capture ended" if how == "open" and not self.is_closed else "connection ended"
        end_ts = None if how == "open" and not self.is_closed else ts_ns
        for channel in list(self.dec.channels.values()):
            for link in channel.links:
                link.row.setdefault(
                    "end_kind", None if end_ts is None else "connection-end"
                )
            self.end_channel(channel, {"end_reason": reason, "end_ts_ns": end_ts})
        if self.details:
            from dissectors.amqp09.jsonvalue import dumps

            self.conn.facts["details"] = dumps(self.details.items())
