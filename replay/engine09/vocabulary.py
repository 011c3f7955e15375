"""What replay must know of each method beyond its arguments: data, and indexes of the dialect.

Which methods answer which, which arguments are names that a prefix or a map applies to, which
methods destroy something. Everything else comes from the dissectors' dialect tables.
"""

from __future__ import annotations

from functools import cache

from dissectors.amqp09.dialects import load_dialect, vendor_of
from dissectors.amqp09.methods import DecodedMethod, decode_method
from dissectors.amqp09.schema import BOTH, SERVER, Dialect

# Readings of field tables, in the order of likelihood on a live wire.
TABLE_SYSTEMS = ("rabbitmq", "0-9-1", "qpid", "0-8")

# Methods whose decoding is remembered.
MAX_REMEMBERED = 4096

# method → arguments that hold the name of a queue or an exchange
NAME_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "queue.declare": ("queue",),
    "queue.bind": ("queue", "exchange"),
    "queue.unbind": ("queue", "exchange"),
    "queue.delete": ("queue",),
    "queue.purge": ("queue",),
    "basic.consume": ("queue",),
    "basic.get": ("queue",),
    "exchange.declare": ("exchange",),
    "exchange.delete": ("exchange",),
    "exchange.bind": ("destination", "source"),
    "exchange.unbind": ("destination", "source"),
    "basic.publish": ("exchange",),
}
# entries of an argument table that hold the name of an exchange or a queue
NAME_ENTRIES = frozenset({"x-dead-letter-exchange", "alternate-exchange"})
DEAD_LETTER_KEY = "x-dead-letter-routing-key"
DEAD_LETTER_EXCHANGE = "x-dead-letter-exchange"

CONTENT_METHODS = frozenset({"basic.publish", "basic.deliver", "basic.get-ok", "basic.return"})
SETTLEMENTS = frozenset({"basic.ack", "basic.nack", "basic.reject"})
# The handshake is done anew: these captured frames are templates, not steps.
HANDSHAKE = frozenset(
    {"connection.start-ok", "connection.secure-ok", "connection.tune-ok", "connection.open"}
)
# What a client says only in answer to the server; the engine says it when the server asks.
ANSWERS = frozenset(
    {"channel.close-ok", "connection.close-ok", "channel.flow-ok", "basic.cancel-ok"}
)
# Carries a secret: never sent again.
SECRETS = frozenset({"connection.update-secret"})


class Vocabulary:
    """A dialect as replay sees it."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._decoded: dict[bytes, DecodedMethod] = {}
        # What answers a client's request, and what answers a server's.
        self.server_replies = _replies(dialect, (SERVER, BOTH))
        self.requests = frozenset(
            method.full_name for method in dialect.methods.values() if method.is_synchronous
        )
        self.names = {key: method.full_name for key, method in dialect.methods.items()}

    def name(self, payload: bytes) -> str | None:
        return self.names.get(int.from_bytes(payload[:4], "big")) if len(payload) >= 4 else None

    def decode(self, payload: bytes) -> DecodedMethod | None:
        """Publishes of one client are mostly the same: each is decoded once."""
        known = self._decoded.get(payload)
        if known is None:
            known = decode_method(payload, self.dialect, TABLE_SYSTEMS)
            if known is not None and len(self._decoded) < MAX_REMEMBERED:
                self._decoded[payload] = known
        return known


@cache
def vocabulary(dialect: str, product: str) -> Vocabulary:
    """For a dialect as spoken by the vendor of this product."""
    return Vocabulary(load_dialect(dialect, vendor_of(product)))


def _replies(dialect: Dialect, to: tuple[str, ...]) -> frozenset[str]:
    return frozenset(
        f"{method.class_name}.{response}"
        for method in dialect.methods.values()
        if method.to in to
        for response in method.responses
    )
