"""The door where dialects plug in: from what was found on a connection to its decoder."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.detect import Verdict
from dissectors.layers import layer_of
from dissectors.opaque import OpaqueDecoder
from dissectors.tap import TappedDecoder
from dissectors.tls.keylog import KeyLog

FAMILY_09 = ("0-8", "0-9", "0-9-draft", "0-9-1", "0-10")
# dialect → the module whose make_decoder(conn, dialect) reads it; imported when first met.
_ROOMS = {
    **dict.fromkeys(FAMILY_09, "dissectors.amqp09"),
    "1.0": "dissectors.amqp10",
    "1.0-draft": "dissectors.amqp10.draft",
}


def make_decoder(conn: Connection, verdict: Verdict, keys: KeyLog | None = None) -> StreamDecoder:
    """A decoder for what was found, layers first; what we cannot read is counted, not lost."""
    layer = layer_of(verdict)
    if layer is not None:
        return _LAYERS[layer](conn, keys)
    if verdict.dialect in _ROOMS:
        room = import_module(_ROOMS[verdict.dialect])
        decoder: StreamDecoder = room.make_decoder(conn, verdict.dialect)
        return decoder if conn.sink.tap is None else TappedDecoder(decoder, conn.sink.tap)
    return OpaqueDecoder(conn, verdict.dialect)


def _tls(conn: Connection, keys: KeyLog | None) -> StreamDecoder:
    from dissectors.tls.decoder import TlsDecoder

    return TlsDecoder(conn, keys, lambda inner, verdict: make_decoder(inner, verdict, keys))


def _websocket(conn: Connection, keys: KeyLog | None) -> StreamDecoder:
    from dissectors.websocket import WebSocketDecoder

    return WebSocketDecoder(conn, lambda inner, verdict: make_decoder(inner, verdict, keys))


_LAYERS: dict[str, Callable[[Connection, KeyLog | None], StreamDecoder]] = {
    "tls": _tls,
    "websocket": _websocket,
}
