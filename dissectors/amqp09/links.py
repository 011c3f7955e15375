"""Links and credit of a connection: consumers, getters, publishers, and how much they may hold.

Mixed into `ConnectionState`; it writes the rows of links and credits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dissectors.amqp09.channel import Channel
from dissectors.amqp09.codes import DELIVER, GET
from dissectors.amqp09.field_tables import FieldTable
from dissectors.amqp09.jsonvalue import dumps
from dissectors.amqp09.methods import DecodedMethod
from dissectors.amqp09.transfers import Link, Transfer

if TYPE_CHECKING:
    from dissectors.amqp09.decoder import Decoder09
    from dissectors.core.connection import Connection

# Links of one channel kept in memory: a publisher per exchange, a consumer per tag.
MAX_LINKS = 65_536
# Queue names made by the server that are remembered.
MAX_SERVER_NAMED = 65_536
# Before this version RabbitMQ's prefetch was the channel's, as the specification has it.
PREFETCH_PER_CONSUMER_SINCE = (3, 3)


class LinkState:
    """The links of all channels of a connection."""

    dec: Decoder09
    conn: Connection
    client_side: int
    dialect_name: str
    vendor: str

    def __init__(self) -> None:
        self.server_version = ""
        self.server_named: dict[str, None] = {}
        self.global_prefetch = 0

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
        self,
        channel: Channel,
        side: int,
        tag: int,
        is_redelivered: bool,
        exchange: str,
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
                "queue": queue,
                "address": queue,
                "is_no_ack": is_no_ack,
                "role": "receiver",
                "is_inferred": queue is None,
            }
            link = channel.getters[queue, is_no_ack] = self.new_link(channel, "getter", row)
            link.is_no_ack = is_no_ack
        return link

    def infer_content(self, channel: Channel, side: int) -> Transfer | None:
        """A content whose method was lost; None where nothing tells what it was.

        Clients send content only to publish. Servers send it to a getter that waits, else to a
        consumer; which of several consumers is not known.
        """
        if side == self.client_side:
            transfer = channel.lost_publish(side, self.dec)
        elif channel.pending.get("get"):
            queue, is_no_ack = channel.pending["get"].pop(0)
            transfer = channel.begin(side, GET, self.getter(channel, queue, is_no_ack), self.dec)
            transfer.queue = queue
        elif channel.consumers:
            one = next(iter(channel.consumers.values())) if len(channel.consumers) == 1 else None
            transfer = channel.begin(side, DELIVER, one, self.dec)
            transfer.queue = one.queue if one else None
        else:
            return None
        transfer.is_gapped = True
        transfer.is_presettled = transfer.link is not None and transfer.link.is_no_ack
        # More may have been lost: only a method says that all is well again.
        channel.set_lost(side)
        return transfer

    # -- credit ---------------------------------------------------------------------------

    def credit(
        self,
        event: str,
        side: int,
        channel: Channel | None = None,
        link: Link | None = None,
        **columns: Any,
    ) -> None:
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
        self, channel: Channel | None, link: Link | None, limit: int, unsettled: int, dec: Decoder09
    ) -> None:
        """A consumer, a channel or the connection has all the unacknowledged messages it may."""
        self.credit(
            "credit-exhausted",
            1 - self.client_side,
            channel,
            link,
            prefetch_count=limit,
            sender_credit=0,
            receiver_credit=0,
            unsettled_count=unsettled,
        )

    def check_global_limit(self, dec: Decoder09) -> None:
        """A prefetch limit over all channels, as the specification means `global`."""
        unsettled = sum(channel.consumer_unsettled for channel in dec.channels.values())
        if unsettled == self.global_prefetch:
            self.credit_exhausted(None, None, self.global_prefetch, unsettled, dec)

    def set_prefetch(
        self, channel: Channel, side: int, count: int, size: int, is_global: bool
    ) -> None:
        """basic.qos. For RabbitMQ `global` is the channel and its absence each new consumer;
        for the specification `global` is the connection and its absence the channel."""
        if self.is_prefetch_per_consumer:
            if is_global:
                channel.shared_prefetch = count
            else:
                channel.consumer_prefetch = count
        elif is_global:
            self.global_prefetch = count
            for each in self.dec.channels.values():
                each.has_global_limit = count > 0
        else:
            channel.shared_prefetch = count
        channel.prefetch_size = size
        self.credit(
            "qos",
            side,
            channel,
            prefetch_count=count,
            prefetch_size=size,
            is_global=is_global,
            unsettled_count=channel.consumer_unsettled,
        )

    @property
    def is_prefetch_per_consumer(self) -> bool:
        """A 0-9-1 server that announced nothing is taken for what the world runs."""
        if self.vendor != "rabbitmq":
            return self.dialect_name == "0-9-1" and not self.vendor
        parts = self.server_version.split(".")[:2]
        if len(parts) == 2 and all(part.isdigit() for part in parts):
            return (int(parts[0]), int(parts[1])) >= PREFETCH_PER_CONSUMER_SINCE
        return True

    def prefetch_of(self, channel: Channel) -> int | None:
        """The prefetch limit that a new consumer of this channel has; None = no limit."""
        return channel.consumer_prefetch or channel.shared_prefetch or self.global_prefetch or None

    # -- names and addresses --------------------------------------------------------------

    def remember_server_named(self, queue: str) -> None:
        self.server_named[queue] = None
        if len(self.server_named) > MAX_SERVER_NAMED:
            del self.server_named[next(iter(self.server_named))]

    def arguments_of(self, decoded: DecodedMethod) -> str | None:
        """JSON of a consumer's tables (arguments, or 0-9's filter), where they say anything."""
        return dumps(
            (name, value)
            for name, value in decoded.fields.as_dict().items()
            if isinstance(value, FieldTable) and value.raw
        )

    def address(self, transfer: Transfer, link: Link, exchange: str, routing_key: str) -> None:
        """Where a transfer goes that began without its address."""
        transfer.link = link
        transfer.exchange = exchange
        transfer.routing_key = routing_key
        link.transfer_count += 1
        link.body_bytes += transfer.body_bytes
