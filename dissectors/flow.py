"""One TCP connection from its first packet to its row: detection, then its dialect's decoder.

Until the dialect is known the first pieces are held; then they are fed again to the decoder, each
with the packet it came from. Connections in which no AMQP is found leave no row unless they use
an AMQP port.
"""

import cython
import xxhash

from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.decoders import make_decoder
from dissectors.detect import HTTP_STARTS, TLS_HEADER, Piece, Verdict, detect
from dissectors.rows_connection import connection_row
from dissectors.shapes import is_tls
from dissectors.tcp.conversation import Conversation, Listener
from dissectors.tls.hello import opening_random
from dissectors.tls.keylog import RANDOM_BYTES

EPHEMERAL_PORTS = 32768
# What detection may find that is no AMQP.
FOREIGN = (None, "http", "tls")
# Oddities of a connection whose protocol is not known yet; more would only say the same.
MAX_HELD_ODDITIES = 256

DETECTING = cython.declare(cython.int, 0)
DECODING = cython.declare(cython.int, 1)
IGNORING = cython.declare(cython.int, 2)


class Flow(Listener):
    """Listens to its conversation. Raw sides are by first appearance; ``swap`` maps them to
    client (0) and server (1) once that is decided."""

    def __init__(
        self, endpoints, ports, sink, options, ts_ns, packet_no, tls_keys=None, recent=None
    ) -> None:
        self.endpoints = endpoints
        self.ports = ports
        self.sink = sink
        self.options = options
        self.tls_keys = tls_keys
        self.capture = sink.capture
        self.conversation = Conversation(self, ts_ns, packet_no, recent)
        self.mode = DETECTING
        self.swap = 0
        self.decoder = None
        self.conn = None
        self.pieces: list = []
        self.oddities: list = []
        self.verdict = None
        self.client_known_by = "unknown"
        self.is_named = any(options.is_amqp_port(port) for port in ports)
        # The address keys of its two sides.
        self.key_0 = b""
        self.key_1 = b""
        # The file of its latest packet, and where on the timeline it closed.
        self.file_index = -1
        self.closed_order_ns = -1

    def feed(
        self,
        side: cython.int,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        ts_ns: cython.longlong,
        packet_no: cython.longlong,
        offset: cython.longlong,
    ) -> cython.int:
        decoder: StreamDecoder
        if self.mode == DECODING:
            decoder = self.decoder
            return decoder.feed(side ^ self.swap, buf, start, end, ts_ns, packet_no, offset)
        if self.mode == DETECTING:
            self.pieces.append(Piece(side, bytes(buf[start:end]), ts_ns, packet_no, offset))
            self._detect(False)
        return 0

    def gap(self, side, size, ts_ns, packet_no, offset, code) -> None:
        if self.mode == DETECTING:
            self.pieces.append(Piece(side, b"", ts_ns, packet_no, offset))
            self.oddities.append((code, side, size, ts_ns, packet_no, offset))
        elif self.mode == DECODING:
            self._tell_gap(side, size, ts_ns, packet_no, offset, code)

    def oddity(self, code, side, size, ts_ns, packet_no) -> None:
        if self.mode == DECODING:
            self._tell(code, side, size, ts_ns, packet_no, None)
        elif self.mode == DETECTING and len(self.oddities) < MAX_HELD_ODDITIES:
            self.oddities.append((code, side, size, ts_ns, packet_no, None))

    def window(self, side, is_open, ts_ns, packet_no) -> None:
        """RFC 9293 §3.8.6: with a window of zero the other side may send nothing."""
        if self.mode == DECODING:
            self.sink.credits.append(
                {
                    "connection_id": self.conn.connection_id,
                    "ts_ns": ts_ns,
                    "direction": self.conn.direction_name(side ^ self.swap),
                    "packet_no": packet_no,
                    "frame_no": self.conn.frame_no,
                    "event": "tcp-window-open" if is_open else "tcp-zero-window",
                    "is_active": is_open,
                }
            )

    def finish(self, how) -> None:
        """The connection is over, or the capture is: last decisions, then its row."""
        talk: Conversation = self.conversation
        ts_ns, packet_no = talk.last_ts_ns, talk.last_packet_no
        talk.close(ts_ns, packet_no)
        if self.mode == DETECTING:
            if any(piece.octets for piece in self.pieces):
                self._detect(True)
            elif self.is_named:
                self._begin(Verdict(None, 0.0, "port"))
        if self.mode != DECODING:
            return
        self.decoder.finish(ts_ns, packet_no, how)
        if self._is_foreign_inside():
            self.conn = None
            self.mode = IGNORING
            return
        self.sink.connections.append(connection_row(self, how))
        self.mode = IGNORING

    def held_bytes(self) -> int:
        """Bytes kept for this connection, wherever they wait."""
        talk: Conversation = self.conversation
        waiting = talk.held_bytes()
        if self.mode == DECODING:
            return waiting + self.decoder.held_bytes()
        return waiting + sum([len(piece.octets) for piece in self.pieces])

    def relieve(self, ts_ns, packet_no) -> None:
        """Memory is short: let go of what waits, and say so."""
        self.conversation.relieve(ts_ns, packet_no)
        if self.mode == DETECTING and self.pieces:
            self._detect(True)
        if self.mode == DECODING:
            self.decoder.relieve(ts_ns, packet_no)

    # -- inside ---------------------------------------------------------------------------

    def _detect(self, is_final) -> None:
        verdict = self._forced() or detect(self.pieces, is_final, self._is_whole())
        if verdict is None or (verdict.dialect == "tls" and not is_final and self._is_hello_cut()):
            return
        if verdict.dialect in FOREIGN and not self.is_named and not self._can_open(verdict):
            self.mode = IGNORING
            self.pieces = []
            self.oddities = []
            return
        self._begin(verdict)

    def _forced(self):
        """A dialect that the user chose; TLS and WebSocket around it are still looked for."""
        start = self.pieces[0].octets
        if is_tls(start) or start.startswith((TLS_HEADER, *HTTP_STARTS)):
            return None
        for port in self.ports:
            dialect = self.options.forced_ports.get(port)
            if dialect is not None:
                return Verdict(dialect, 1.0, "forced", is_midstream=not start.startswith(b"AMQP"))
        return None

    def _is_hello_cut(self) -> bool:
        """The hello that begins here goes on in the next segment, before it tells its session."""
        first = self.pieces[0]
        start = b"".join([p.octets for p in self.pieces if p.side == first.side])
        return start[:1] == b"\x16" and len(opening_random(start)) < RANDOM_BYTES

    def _can_open(self, verdict) -> bool:
        """TLS on any port is worth a look inside if the key log has this very session."""
        if verdict.dialect != "tls" or self.tls_keys is None:
            return False
        hello = b"".join([p.octets for p in self.pieces if p.side == verdict.client_side])
        return bool(self.tls_keys.find(opening_random(hello)))

    def _is_foreign_inside(self) -> bool:
        """Opened, and no AMQP was in it."""
        return not self.is_named and self.conn.facts.get("dialect", self.verdict.dialect) in FOREIGN

    def _is_whole(self) -> bool:
        """Both streams begin where the connection began."""
        return bool(self.conversation.half_0.has_syn or self.conversation.half_1.has_syn)

    def _begin(self, verdict) -> None:
        """The dialect is decided: make the decoder and feed it what was held."""
        self.verdict = verdict
        client_side = self._client_side(verdict)
        self.swap = 1 if client_side == 1 else 0
        self.conn = Connection(
            self.connection_id(),
            self.endpoints[self.swap],
            self.endpoints[1 - self.swap],
            client_side >= 0,
            self.sink,
            self.options,
        )
        self.decoder = make_decoder(self.conn, verdict, self.tls_keys)
        if verdict.is_midstream:
            self.decoder.begin_midstream()
        self.mode = DECODING
        self._tell_verdict(verdict)
        pieces, self.pieces = self.pieces, []
        oddities, self.oddities = self.oddities, []
        gaps = {(odd[1], odd[5]): odd for odd in oddities if odd[5] is not None}
        for piece in pieces:
            if piece.octets:
                self.feed(piece.side, piece.octets, 0, len(piece.octets), piece.ts_ns,
                          piece.packet_no, piece.offset)  # fmt: skip
            else:
                code, side, size, ts_ns, packet_no, offset = gaps[(piece.side, piece.offset)]
                self._tell_gap(side, size, ts_ns, packet_no, offset, code)
        for code, side, size, ts_ns, packet_no, offset in oddities:
            if offset is None:
                self._tell(code, side, size, ts_ns, packet_no, None)

    def connection_id(self) -> str:
        """The same for the same packets, however they were read."""
        names = "-".join(sorted(self.endpoints))
        seed = f"{names}@{self.conversation.first_ts_ns}"
        return xxhash.xxh3_64_hexdigest(seed.encode())[:12]

    def _client_side(self, verdict) -> int:
        """Raw side of the client, by the best evidence there is."""
        if self.conversation.client_side >= 0:
            self.client_known_by = "syn"
            return self.conversation.client_side
        if verdict.client_side >= 0:
            self.client_known_by = verdict.client_known_by
            return verdict.client_side
        named = [self.options.is_amqp_port(port) for port in self.ports]
        if named[0] != named[1]:
            self.client_known_by = "port"
            return 0 if named[1] else 1
        high = [port >= EPHEMERAL_PORTS for port in self.ports]
        if high[0] != high[1]:
            self.client_known_by = "port"
            return 0 if high[0] else 1
        return -1

    def _tell_verdict(self, verdict) -> None:
        code = {"http": "detect.http", None: "detect.not_amqp"}.get(verdict.dialect)
        if code is None or not self.pieces:
            return
        first = self.pieces[0]
        # A conversation's first octets tell what it is; octets from inside it may be a credential.
        shown = first.octets if verdict.dialect == "http" or self._is_whole() else b""
        self._tell(code, first.side, None, first.ts_ns, first.packet_no, first.offset, shown)

    def _tell_gap(self, side, size, ts_ns, packet_no, offset, code) -> None:
        self.conn.missing_bytes += size
        self._tell(code, side, size, ts_ns, packet_no, offset)
        self.decoder.gap(side ^ self.swap, size, ts_ns, packet_no)

    def _tell(self, code, side, size, ts_ns, packet_no, offset, first_bytes=b"") -> None:
        endpoints = f"{self.conn.client} to {self.conn.server}"
        detail = endpoints if size is None else f"{size} bytes"
        self.conn.problem(
            code, detail, side ^ self.swap, ts_ns, packet_no, offset, size, first_bytes[:16]
        )
