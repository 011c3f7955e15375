"""Frames of one AMQP 1.0 connection into rows and state: the hot path.

Transfer, disposition and flow in their usual encodings are read where they stand (1.0 §2.7.4
to §2.7.6) by the `hot_*.py` files; everything else, and anything odd about those three, goes by
the tables in `rare.py`. Both call the same state model.
"""

import cython

from dissectors.amqp10 import lifecycle
from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.fields import Fields
from dissectors.amqp10.frame_texts import FrameTexts
from dissectors.amqp10.frames import PROTOCOLS, decode_protocol_header
from dissectors.amqp10.hot_disposition import take_disposition
from dissectors.amqp10.hot_flow import take_flow
from dissectors.amqp10.hot_transfer import take_transfer
from dissectors.amqp10.layers import Layers
from dissectors.amqp10.octets import read_code, read_u32, skip_value
from dissectors.amqp10.rare import RareFrames
from dissectors.amqp10.render import dump
from dissectors.amqp10.resync import MAX_SANE_FRAME, find_frame
from dissectors.amqp10.seen import READABLE_IN_PART, seen_part
from dissectors.amqp10.silence import Silence
from dissectors.amqp10.state import ConnectionState
from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.core.rows import RowBuffer, cell_of
from dissectors.core.words import word
from dissectors.tables import FRAMES

MAX_FRAME = cython.declare(cython.longlong, MAX_SANE_FRAME)

F_TYPE = cython.declare(cython.int, cell_of(FRAMES, "frame_type"))
F_NAME = cython.declare(cython.int, cell_of(FRAMES, "name"))
F_STATUS = cython.declare(cython.int, cell_of(FRAMES, "status"))
F_FIELDS = cython.declare(cython.int, cell_of(FRAMES, "fields"))

W_AMQP = cython.declare(cython.longlong, word("amqp"))
W_SASL = cython.declare(cython.longlong, word("sasl"))
W_OK = cython.declare(cython.longlong, word("ok"))
W_EMPTY = cython.declare(cython.longlong, word("empty"))
W_PROTOCOL_HEADER = cython.declare(cython.longlong, word("protocol-header"))
W_TLS = cython.declare(cython.longlong, word("tls"))
W_TLS_RECORD = cython.declare(cython.longlong, word("tls-record"))

FLOW = cython.declare(cython.int, 0x13)
TRANSFER = cython.declare(cython.int, 0x14)
DISPOSITION = cython.declare(cython.int, 0x15)


class Decoder10(StreamDecoder):
    """The decoder of one connection that speaks the published AMQP 1.0."""

    def __init__(self, conn: Connection, dialect: str) -> None:
        StreamDecoder.__init__(self, conn)
        self.state = ConnectionState(conn)
        self.silence = Silence()
        self.layers = Layers(conn, STANDARD, self.silence)
        self.rare = RareFrames(STANDARD, self.state, self.layers)
        self.is_tls_0 = False
        self.is_tls_1 = False
        self.is_quick = True
        self.fields = Fields()
        self.texts = FrameTexts()

    # -- cutting --------------------------------------------------------------------------

    def frame_size(
        self,
        side: cython.int,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """1.0 §2.3.1; a protocol header is a frame of eight; a TLS record behind a TLS header
        is taken as it is."""
        octets: cython.p_uchar = buf
        size: cython.longlong
        doff: cython.int
        if end - start < 8:
            return 0
        if end > len(buf):
            raise IndexError("octets are missing")
        size = read_u32(buf, start)
        if size == 0x414D5150:  # "AMQP"
            return 8
        if self.is_tls_1 if side else self.is_tls_0:
            return 5 + (size & 0xFF) * 256 + octets[start + 4]
        doff = octets[start + 4]
        if size < 8 or size > MAX_FRAME or doff < 2 or 4 * doff > size:
            return -1
        return size if octets[start + 5] <= 1 else -1

    def can_bridge(self, side, buf, start, have, size) -> int:
        """A transfer whose performative was seen: what is missing is a part of the message. Or
        another frame whose first fields tell enough."""
        seen = min(len(buf), start + have)
        is_tls = self.is_tls_1 if side else self.is_tls_0
        if is_tls or seen - start < 8 or self.frame_size(side, buf, start, seen) != size:
            return 0
        body = start + 4 * buf[start + 4]
        code = read_code(buf, body, seen)
        if code == TRANSFER:
            return int(skip_value(buf, body, seen, 0) > 0)
        return int(code in READABLE_IN_PART)

    def find_frame(self, side, buf, start, end, is_final) -> int:
        return find_frame(buf, start, end, bool(is_final))

    def on_gap(self, side, ts_ns, packet_no) -> None:
        self.state.lose_place(side, ts_ns)

    def on_end(self, ts_ns, packet_no, how) -> None:
        state = self.state
        state.ts_ns = ts_ns
        state.packet_no = packet_no
        lifecycle.finish(state, how != "open" or self.layers.is_closed)
        self.layers.finish(ts_ns)

    # -- taking ---------------------------------------------------------------------------

    def take_frame(
        self, side: cython.int, buf: bytes, start: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> cython.int:
        octets: cython.p_uchar = buf
        state: ConnectionState = self.state
        fields: Fields = self.fields
        channel: cython.longlong
        code: cython.longlong
        body: cython.Py_ssize_t
        end: cython.Py_ssize_t = start + size
        base: cython.Py_ssize_t
        if start < 0 or end > len(buf):
            raise IndexError("octets are missing")
        self._locate(side)
        if octets[start] == 0x41 or (self.is_tls_1 if side else self.is_tls_0):
            return self._take_layer(side, buf, start, size)
        channel = octets[start + 6] * 256 + octets[start + 7]
        body = start + 4 * octets[start + 4]
        if octets[start + 5] == 0 and self.is_quick:
            code = read_code(buf, body, end)
            if code == TRANSFER:
                if take_transfer(state, fields, self.texts, side, channel, buf, start, body, end):
                    return 0
            elif code == DISPOSITION:
                if take_disposition(
                    state, fields, self.texts, side, channel, buf, start, body, end
                ):
                    return 0
            elif code == FLOW and take_flow(state, fields, side, channel, buf, start, body, end):
                return 0
        base = state.frame_row(side, channel, size)
        self.conn.frames.cells[base + F_TYPE] = W_SASL if buf[start + 5] else W_AMQP
        if body == end:
            self.conn.frames.cells[base + F_NAME] = W_EMPTY
            self.conn.frames.cells[base + F_STATUS] = W_OK
        else:
            self.rare.take(base, side, channel, buf[start + 5], buf[body:end])
        return 0

    def take_holed_frame(self, side, buf, start, size, holes) -> int:
        """What is whole in front of the first hole: a transfer with its performative, or the
        first fields of another frame."""
        first = min(offset for offset, _ in holes)
        if not self.can_bridge(side, bytes(buf[start : start + first]), 0, first, size):
            return 0
        self.state.has_hole = True
        try:
            if read_code(buf, start + 4 * buf[start + 4], start + first) == TRANSFER:
                self.take_frame(side, buf, start, size)
            elif not self._take_part(side, buf, start, size, first):
                return 0
        finally:
            self.state.has_hole = False
        self.conn.uncount(sum(length for _, length in holes))
        return 1

    def _take_part(self, side, buf: bytes, start, size, seen) -> int:
        body = start + 4 * buf[start + 4]
        part = seen_part(bytes(buf[body : start + seen]), 0, seen - (body - start))
        if part is None:
            return 0
        self._locate(side)
        channel = buf[start + 6] * 256 + buf[start + 7]
        base = self.state.frame_row(side, channel, size)
        self.conn.frames.cells[base + F_TYPE] = W_SASL if buf[start + 5] else W_AMQP
        self.rare.take(base, side, channel, buf[start + 5], part)
        return 1

    def _locate(self, side: cython.int) -> cython.int:
        """Tell the state model when and where the present frame was seen."""
        state: ConnectionState = self.state
        self.silence.hear(side, self.ts_ns)
        state.ts_ns = self.ts_ns
        state.packet_no = self.packet_no
        state.first_packet_no = self.first_packet_no
        state.offset = self.offset
        return 0

    def _take_layer(self, side, buf: bytes, start, size) -> cython.int:
        """A protocol header, or a record of the TLS that it began."""
        rows: RowBuffer = self.conn.frames
        base = self.conn.frame_row(
            side, self.ts_ns, self.packet_no, self.first_packet_no, self.offset, size
        )
        rows.cells[base + F_STATUS] = W_OK
        header = decode_protocol_header(buf, start)
        if header is None or size != 8:
            rows.cells[base + F_TYPE] = W_TLS
            rows.cells[base + F_NAME] = W_TLS_RECORD
            return 0
        rows.cells[base + F_TYPE] = W_PROTOCOL_HEADER
        rows.cells[base + F_NAME] = W_PROTOCOL_HEADER
        fields = {
            "protocol": PROTOCOLS.get(header.protocol, header.protocol),
            "version": f"{header.major}.{header.minor}.{header.revision}",
        }
        rows.cells[base + F_FIELDS] = rows.text(dump(fields))
        self.layers.protocol_header(side, header, self.state)
        self.is_tls_0 = all(self.layers.is_tls)
        self.is_tls_1 = self.is_tls_0
        return 0
