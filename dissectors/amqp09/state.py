"""What a connection remembers beyond its channels: who is client, sessions, the end.

`Channel` calls back here for everything that is not hot. Links and credit are in `links`,
transactions in `transactions`; frames are read elsewhere (`decoder`, `rare`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dissectors.amqp09.channel import Channel
from dissectors.amqp09.dialects import load_dialect, vendor_of
from dissectors.amqp09.field_types import preferred_systems
from dissectors.amqp09.jsonvalue import dumps
from dissectors.amqp09.links import LinkState
from dissectors.amqp09.memory import Requeued, UnplacedConfirms
from dissectors.amqp09.transactions import TransactionState

if TYPE_CHECKING:
    from dissectors.amqp09.decoder import Decoder09


class ConnectionState(LinkState, TransactionState):
    """The rare half of a connection's state."""

    def __init__(self, dec: Decoder09, dialect: str) -> None:
        LinkState.__init__(self)
        TransactionState.__init__(self)
        self.dec = dec
        self.conn = dec.conn
        self.dialect_name = dialect
        self.vendor = ""
        self.dialect = load_dialect(dialect)
        self.systems = preferred_systems(dialect)
        self.is_midstream = False
        self.is_open = False
        self.is_closed = False
        self.has_dropped = False
        self.has_losses = False
        self.requeued = Requeued()
        self.is_authenticating = False
        self.details: dict[str, Any] = {}
        # type systems that field tables were read with, in order of first use
        self.systems_used: dict[str, None] = {}
        # channel-max and frame-max of the server's tune
        self.offered = (0, 0)

    @property
    def client_side(self) -> int:
        """Which side is the client; the decoder keeps it, for its hot frames."""
        return self.dec.client_side

    @client_side.setter
    def client_side(self, side: int) -> None:
        self.dec.client_side = side

    def side_name(self, side: int) -> str:
        return "client" if side == self.client_side else "server"

    def set_vendor(self, product: str, version: str = "") -> None:
        """The server's product decides method tables and field-table types."""
        self.server_version = version
        self.vendor = vendor_of(product)
        self.dialect = load_dialect(self.dialect_name, self.vendor)
        self.systems = preferred_systems(self.dialect_name, self.vendor)
        self.dec.memory.forget()

    def problem(
        self, code: str, detail: str, side: int, size: int | None = None, first_bytes: bytes = b""
    ) -> None:
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
            self.problem("state09.channel_reopened", f"channel {number} is opened again", side)
            self.end_channel(old, {"end_reason": "opened again"})
        channel = self.new_channel(number)
        channel.row = {
            "is_inferred": False,
            "begun_by": self.side_name(side),
            "begin_ts_ns": self.dec.ts_ns,
        }
        return channel

    def new_channel(self, number: int) -> Channel:
        channel = Channel(self.conn, number, self)
        channel.has_global_limit = self.global_prefetch > 0
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
            self.problem("state09.channel_not_open", f"channel {number} was not seen to open", side)
        return channel

    def end_channel(self, channel: Channel, how: dict[str, Any]) -> None:
        """The channel is over, by close-ok or with its connection."""
        self.end_transactions(channel)
        channel.end(self.dec)
        for link in channel.links:
            self.end_link(link, {"end_kind": "session-end", "end_ts_ns": how.get("end_ts_ns")})
        self.conn.sink.sessions.append(
            {
                "connection_id": self.conn.connection_id,
                "session_id": channel.session_id,
                "channel": channel.number,
                "is_confirming": channel.is_confirming,
                "is_transactional": False,
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

    # -- loss and end ---------------------------------------------------------------------

    @property
    def is_void_ack(self) -> bool:
        """Whether `multiple` up to a tag that waits for no ack settles nothing.

        RabbitMQ closes the channel then, and keeps what it would have settled (0-9-1 lets a
        server refuse such a tag). Where deliveries may have been missed, the tag may be one.
        """
        is_whole = not (self.is_midstream or self.has_losses or self.has_dropped)
        return is_whole and self.vendor == "rabbitmq"

    def lose(self, side: int) -> None:
        """Bytes of this side are missing."""
        self.has_losses = True
        for channel in self.dec.channels.values():
            channel.lose(side)

    def end(self, ts_ns: int, how: str) -> None:
        """The connection is over, or the capture is."""
        reason = "capture ended" if how == "open" and not self.is_closed else "connection ended"
        end_ts = None if how == "open" and not self.is_closed else ts_ns
        if self.is_authenticating and end_ts is not None:
            # 0-9-1 §2.2.4: a server that does not know the client just closes the socket.
            self.conn.facts.setdefault("auth_outcome", "refused")
        self.end_channels(reason, end_ts)
        self.end_branches()
        if self.details:
            self.conn.facts["details"] = dumps(self.details.items())
        self._say_systems()

    def end_channels(self, reason: str, end_ts_ns: int | None) -> None:
        """All channels end with their connection."""
        for channel in list(self.dec.channels.values()):
            for link in channel.links:
                link.row.setdefault("end_kind", None if end_ts_ns is None else "connection-end")
            self.end_channel(channel, {"end_reason": reason, "end_ts_ns": end_ts_ns})

    def use_system(self, system: str) -> None:
        """A field table was read by this type system."""
        self.systems_used[system] = None

    def _say_systems(self) -> None:
        """The reading of field tables: what properties and arguments were read with."""
        for system in self.dec.memory.systems:
            self.use_system(system)
        if self.systems_used:
            self.conn.facts["field_table_types"] = next(reversed(self.systems_used))
