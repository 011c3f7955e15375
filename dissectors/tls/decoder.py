"""Follows a TLS connection, opens its records with logged keys and hands on what is inside.

The same class reads AMQPS and the in-band TLS of AMQP 1.0, whose protocol headers come first
(1.0 §5.2). Without keys it tells the version and the server name and counts the bytes.
"""

from __future__ import annotations

import re

from dissectors import shapes
from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.detect import TLS_HEADER
from dissectors.layers import InnerStream, MakeDecoder, enter_layer
from dissectors.protocol_header import HEADER_BYTES as PROTOCOL_HEADER_BYTES
from dissectors.protocol_header import MAGIC, take_protocol_header
from dissectors.tls.alerts import describe_alert
from dissectors.tls.early import EarlyData, Piece
from dissectors.tls.failures import Failures
from dissectors.tls.hello import (
    CLIENT_HELLO,
    ENCRYPTED_EXTENSIONS,
    SERVER_HELLO,
    TLS_1_2,
    TLS_1_3,
    VERSIONS,
    HandshakeReader,
    Hello,
)
from dissectors.tls.keylog import KeyLog
from dissectors.tls.protection import Protection
from dissectors.tls.records import HEADER_BYTES, UNKNOWN, RecordReader
from dissectors.tls.schedule import early_protections, protection_13, protections_12
from dissectors.tls.suites import TLS12, TLS13
from dissectors.tls.tshark import RecordQueue, open_by_tshark

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA = 20, 21, 22, 23
# Content type and version, as a search for records looks for them.
_RECORD_START = re.compile(rb"[\x14-\x18]\x03[\x00-\x04]", re.DOTALL)
_SEARCHED_BYTES = 64 * 1024
# An alert in the clear; a protected one is longer.
_PLAIN_ALERT_BYTES = HEADER_BYTES + 2
# A record with nothing in it: IV, MAC and padding at their largest.
_MAX_EMPTY_RECORD_BYTES = HEADER_BYTES + 16 + 48 + 16


class TlsDecoder(StreamDecoder):
    """Frames of this decoder are TLS records; rows come from the decoder of what is inside."""

    def __init__(self, conn: Connection, keys: KeyLog | None, make_decoder: MakeDecoder) -> None:
        super().__init__(conn)
        self._keys = keys or KeyLog()
        self._inner = InnerStream(conn, make_decoder)
        self._readers = (RecordReader(), RecordReader())
        self._handshakes = (HandshakeReader(), HandshakeReader())
        self._client_side = 0
        self._client_random: bytes | None = None
        self._pending: tuple[Protection, Protection] | None = None
        self._early = EarlyData()
        self._hello_takers = {
            CLIENT_HELLO: self._take_client_hello,
            SERVER_HELLO: self._take_server_hello,
            ENCRYPTED_EXTENSIONS: lambda _, hello: self._decide_early(hello.is_early_data),
        }
        self._by_tshark: RecordQueue | None = None
        self._is_opaque = False
        self._is_entered = False
        self._failures = Failures(conn)

    # -- records --------------------------------------------------------------------------

    def frame_size(self, side, buf, start, end):
        if buf[start : min(end, start + 4)] == MAGIC[: end - start]:
            return PROTOCOL_HEADER_BYTES if end - start >= PROTOCOL_HEADER_BYTES else 0
        if self._is_opaque:
            return end - start
        if end - start < HEADER_BYTES:
            return 0
        head = buf[start : start + HEADER_BYTES]
        return HEADER_BYTES + int.from_bytes(head[3:], "big") if shapes.is_tls(head) else -1

    def take_frame(self, side, buf, start, size):
        frame = buf[start : start + size]
        if size == PROTOCOL_HEADER_BYTES and frame.startswith(MAGIC):
            self._take_header(side, frame)
        elif self._is_opaque:
            self.conn.skip(size)
            if size == _PLAIN_ALERT_BYTES and frame[0] == ALERT and shapes.is_tls(frame):
                self._take_content(side, ALERT, frame[HEADER_BYTES:])
        else:
            self._take_record(side, frame)
        return 0

    def can_bridge(self, side, buf, start, have, size):
        return 1

    def take_holed_frame(self, side, buf, start, size, holes):
        """A record with a hole cannot be opened; the place after it is known, though."""
        self.conn.skip(size - sum(length for _, length in holes))
        return 1

    def gap(self, side, size, ts_ns, packet_no):
        state = self.side_1 if side else self.side_0
        if self._is_opaque and not state.carry:
            return 0
        return super().gap(side, size, ts_ns, packet_no)

    def find_frame(self, side, buf, start, end, is_final):
        """The first record header that another one follows, or that ends the bytes at hand."""
        if self._is_opaque:
            return start
        # What is older was looked at before, with all that a record could need behind it.
        for found in _RECORD_START.finditer(buf, max(start, end - _SEARCHED_BYTES), end):
            offset = found.start()
            if not shapes.is_tls(buf[offset : offset + HEADER_BYTES]):
                continue
            following = offset + HEADER_BYTES + int.from_bytes(buf[offset + 3 : offset + 5], "big")
            if following == end or shapes.is_tls(buf[following : following + HEADER_BYTES]):
                return offset
            if following + HEADER_BYTES > end and not is_final:
                return -1
        return -1

    def on_end(self, ts_ns, packet_no, how):
        for side in (0, 1):
            self._failures.tell(side)
        self._decide_early(False)
        if self._by_tshark is not None:
            self._by_tshark.close()
        self._inner.finish(ts_ns, packet_no, how)

    # -- inside ---------------------------------------------------------------------------

    def _take_header(self, side: int, octets: bytes) -> None:
        take_protocol_header(self, side, octets)
        self._readers[side].pass_plain(self.offset + len(octets))
        if side == 1 and octets != TLS_HEADER:
            self._problem("detect.refused_version", "TLS was answered by a protocol header",
                          side, len(octets), octets)  # fmt: skip

    def _take_record(self, side: int, record: bytes) -> None:
        if not self._is_entered:
            self._is_entered = True
            enter_layer(self.conn, "tls")
        reader = self._readers[side]
        kind = record[0]
        if self._by_tshark is not None and kind == APPLICATION_DATA:
            self._take_opened(side, record)
            return
        if not reader.is_protected and kind == APPLICATION_DATA and self._pending:
            self._change_keys(side)
        if reader.is_protected and self._may_be_protected(kind, len(record)):
            self._open(side, record)
            return
        self.conn.skip(len(record))
        reader.pass_plain(self.offset + len(record))
        if kind == APPLICATION_DATA:
            if self._client_random is None:
                self._close("tls.no_keys", "the handshake is not in the capture", side)
            else:
                self._fail(side, len(record))
        else:
            self._take_content(side, kind, record[HEADER_BYTES:])

    def _open(self, side: int, record: bytes) -> None:
        reader = self._readers[side]
        opened = None
        if not reader.is_given_up:
            opened = reader.open(record[:HEADER_BYTES], record[HEADER_BYTES:], self.offset)
        if opened is None:
            self.conn.skip(len(record))
            self._fail(side, len(record))
            return
        if reader.is_first:
            self._failures.forget(side)
        self._failures.tell(side)
        if reader.lost_bytes:
            lost = None if reader.lost_bytes == UNKNOWN else reader.lost_bytes
            self._inner.gap(side, lost, self.ts_ns, self.packet_no)
        kind, content = opened
        if kind == APPLICATION_DATA and reader.current in self._early.protections:
            self._take_early(side, len(record), content)
        elif kind == APPLICATION_DATA:
            self.conn.skip(len(record) - len(content))
            self._inner.feed(side, content, self.ts_ns, self.packet_no)
        else:
            self.conn.skip(len(record))
            self._take_content(side, kind, content)

    def _take_early(self, side: int, size: int, content: bytes) -> None:
        ready = self._early.hold(Piece(content, self.ts_ns, self.packet_no))
        self.conn.skip(size if ready is None else size - len(content))
        for piece in ready or ():
            self._inner.feed(side, *piece)

    def _decide_early(self, is_taken: bool) -> None:
        for piece in self._early.decide(is_taken):
            if is_taken:
                self._inner.feed(self._client_side, *piece)
            else:
                self.conn.skip(len(piece.content))

    def _may_be_protected(self, kind: int, size: int) -> bool:
        """TLS 1.3 protects records of one outer type only; in TLS 1.2 a change cipher spec of one
        octet is plain, a longer one belongs to a renegotiation."""
        if self._pending is None:
            return kind == APPLICATION_DATA
        return kind != CHANGE_CIPHER_SPEC or size > HEADER_BYTES + 1

    def _take_content(self, side: int, kind: int, content: bytes) -> None:
        if kind == HANDSHAKE:
            for hello in self._handshakes[side].feed(content):
                self._hello_takers[hello.kind](side, hello)
        elif kind == ALERT:
            alert = describe_alert(content)
            if alert is not None:
                self._problem("tls.alert", alert, side, None, b"")
        elif kind == CHANGE_CIPHER_SPEC:
            self._change_keys(side)

    def _take_client_hello(self, side: int, hello: Hello) -> None:
        self._client_side = side
        self._client_random = hello.random
        if hello.server_name is not None:
            self.conn.facts["tls_sni"] = hello.server_name
        self._early.protections = early_protections(self._keys.find(hello.random))
        if self._early.protections:
            self._readers[side].expect(self._early.protections)

    def _take_server_hello(self, side: int, hello: Hello) -> None:
        if hello.version in VERSIONS:
            self.conn.facts["tls_version"] = VERSIONS[hello.version]
        secrets = self._keys.find(self._client_random or b"")
        if not secrets:
            full = " (it is over the limit of sessions)" if self._keys.is_full else ""
            why = f"the key log does not have this session{full}" if self._keys else "no key log"
            self._close("tls.no_keys", why, side)
            return
        if hello.version == TLS_1_3 and hello.suite in TLS13:
            self._expect_13(secrets, hello)
        elif hello.version == TLS_1_2 and hello.suite in TLS12 and not hello.compression:
            self._expect_12(secrets, hello)
        else:
            self._ask_tshark(side, hello)

    def _expect_13(self, secrets: dict[str, bytes], hello: Hello) -> None:
        """Both directions are protected after the server's hello; the client's early data goes on
        under its own key until it ends."""
        suite = TLS13[hello.suite]
        for role in (0, 1):
            side = role ^ self._client_side
            first = protection_13(suite, secrets, role)
            if first is None:
                self._close("tls.no_keys", "the key log misses a secret of this session", side)
                return
            second = first.successor()
            self._readers[side].expect([first] if second is None else [first, second])

    def _expect_12(self, secrets: dict[str, bytes], hello: Hello) -> None:
        """Each direction is protected after its change cipher spec (RFC 5246 §7.1)."""
        master = secrets.get("CLIENT_RANDOM")
        if master is None or self._client_random is None:
            self._close("tls.no_keys", "the key log misses the master secret", None)
            return
        suite = TLS12[hello.suite]
        self._pending = protections_12(suite, master, self._client_random, hello)

    def _change_keys(self, side: int) -> None:
        """TLS 1.3 sends this message too, without a meaning (RFC 8446 §D.4)."""
        if self._pending is not None:
            self._readers[side].change(self._pending[side ^ self._client_side])

    # -- by tshark ------------------------------------------------------------------------

    def _ask_tshark(self, side: int, hello: Hello) -> None:
        """For what we have no cipher for, the records' contents come from tshark."""
        version = VERSIONS.get(hello.version, f"version 0x{hello.version:04x}")
        compressed = ", compressed" if hello.compression else ""
        detail = f"{version} with cipher suite 0x{hello.suite:04x}{compressed}"
        self._by_tshark = open_by_tshark(self.conn, self._keys)
        if self._by_tshark is None:
            self._close("tls.unsupported_cipher", detail, side)
        else:
            self._problem("tls.by_tshark", detail, side, None, b"")

    def _take_opened(self, side: int, record: bytes) -> None:
        """A record of application data that tshark may have opened. The first one of a packet
        brings the contents of all, so what is skipped of it may be less than nothing."""
        assert self._by_tshark is not None
        content = self._by_tshark.take(side, self.packet_no)
        if content is None:
            self.conn.skip(len(record))
            if len(record) > _MAX_EMPTY_RECORD_BYTES:
                self._fail(side, len(record))
            return
        if self._failures.tell(side):
            self._inner.gap(side, None, self.ts_ns, self.packet_no)
        self.conn.skip(len(record) - len(content))
        self._inner.feed(side, content, self.ts_ns, self.packet_no)

    # -- telling --------------------------------------------------------------------------

    def _close(self, code: str, detail: str, side: int | None) -> None:
        """Nothing of this connection can be opened."""
        self._is_opaque = True
        self._problem(code, detail, side, None, b"")

    def _fail(self, side: int, size: int) -> None:
        self._failures.add(side, size, (self.ts_ns, self.packet_no, self.offset))

    def _problem(self, code, detail, side, size, first_bytes) -> None:
        self.conn.problem(
            code, detail, side, self.ts_ns, self.packet_no, self.offset, size, first_bytes
        )
