"""Frames of one AMQP 1.0 connection into rows and state: the hot path.

Transfer, disposition and flow in their usual encodings are read where they stand (1.0 §2.7.4
to §2.7.6); everything else, and anything odd about those three, goes by the tables in
`rare.py`. Both call the same state model.
"""

import cython

from dissectors.amqp10 import lifecycle, report
from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.delivery import Delivery, DeliveryState
from dissectors.amqp10.frames import PROTOCOLS, decode_protocol_header
from dissectors.amqp10.layers import Layers
from dissectors.amqp10.link import Link
from dissectors.amqp10.octets import (
    after_code,
    list_count,
    list_items,
    read_boolean,
    read_code,
    read_u32,
    read_uint,
    skip_value,
)
from dissectors.amqp10.rare import RareFrames
from dissectors.amqp10.render import dump
from dissectors.amqp10.resync import MAX_SANE_FRAME, find_frame
from dissectors.amqp10.session import Session
from dissectors.amqp10.state import ConnectionState
from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.core.rows import NULL_CELL, RowBuffer
from dissectors.core.words import word
from dissectors.tables import FRAMES

NULL = cython.declare(cython.longlong, NULL_CELL)
MAX_FRAME = cython.declare(cython.longlong, MAX_SANE_FRAME)
#: JSON texts of hot frames kept by what they say; all are dropped when there are more.
MAX_CACHED = cython.declare(cython.int, 4096)

F_CHANNEL = cython.declare(cython.int, FRAMES.index("channel"))
F_SESSION = cython.declare(cython.int, FRAMES.index("session_id"))
F_LINK = cython.declare(cython.int, FRAMES.index("link_id"))
F_TRANSFER = cython.declare(cython.int, FRAMES.index("transfer_id"))
F_TYPE = cython.declare(cython.int, FRAMES.index("frame_type"))
F_NAME = cython.declare(cython.int, FRAMES.index("name"))
F_STATUS = cython.declare(cython.int, FRAMES.index("status"))
F_DELIVERY_ID = cython.declare(cython.int, FRAMES.index("delivery_id"))
F_DELIVERY_LAST = cython.declare(cython.int, FRAMES.index("delivery_last"))
F_TAG = cython.declare(cython.int, FRAMES.index("delivery_tag"))
F_SETTLED = cython.declare(cython.int, FRAMES.index("is_settled"))
F_MORE = cython.declare(cython.int, FRAMES.index("is_more"))
F_OUTCOME = cython.declare(cython.int, FRAMES.index("outcome"))
F_LINK_CREDIT = cython.declare(cython.int, FRAMES.index("link_credit"))
F_DELIVERY_COUNT = cython.declare(cython.int, FRAMES.index("delivery_count"))
F_BODY_BYTES = cython.declare(cython.int, FRAMES.index("body_bytes"))
F_FIELDS = cython.declare(cython.int, FRAMES.index("fields"))

W_AMQP = cython.declare(cython.longlong, word("amqp"))
W_SASL = cython.declare(cython.longlong, word("sasl"))
W_OK = cython.declare(cython.longlong, word("ok"))
W_EMPTY = cython.declare(cython.longlong, word("empty"))
W_TRANSFER = cython.declare(cython.longlong, word("transfer"))
W_DISPOSITION = cython.declare(cython.longlong, word("disposition"))
W_FLOW = cython.declare(cython.longlong, word("flow"))
W_PROTOCOL_HEADER = cython.declare(cython.longlong, word("protocol-header"))
W_TLS = cython.declare(cython.longlong, word("tls"))
W_TLS_RECORD = cython.declare(cython.longlong, word("tls-record"))
W_INCOMPLETE = cython.declare(cython.longlong, word("incomplete"))

FLOW = cython.declare(cython.int, 0x13)
TRANSFER = cython.declare(cython.int, 0x14)
DISPOSITION = cython.declare(cython.int, 0x15)
#: The outcomes that carry nothing and so need no table (1.0 §3.4.2, §3.4.4).
_ACCEPTED_CODE = cython.declare(cython.int, 0x24)
_RELEASED_CODE = cython.declare(cython.int, 0x26)
_ACCEPTED = DeliveryState("accepted", "accepted")
_RELEASED = DeliveryState("released", "released")
_UNREAD = DeliveryState("received")

_TRANSFER_FLAGS = ("resume", "aborted", "batchable")
_ROLES = ("sender", "receiver")
_RCV_MODES = ("first", "second")


class Decoder10(StreamDecoder):
    """The decoder of one connection that speaks the published AMQP 1.0."""

    def __init__(self, conn: Connection, dialect: str) -> None:
        StreamDecoder.__init__(self, conn)
        self.state = ConnectionState(conn)
        self.layers = Layers(conn, STANDARD)
        self.rare = RareFrames(STANDARD, self.state, self.layers)
        self.is_tls_0 = False
        self.is_tls_1 = False
        self.is_quick = True
        self.last_ts_0 = 0
        self.last_ts_1 = 0
        self.silence_0 = 0
        self.silence_1 = 0
        self.json_cache: dict = {}
        self.disposition_codes: dict = {}
        self.disposition_batch = -1

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
        size: cython.longlong
        doff: cython.int
        if end - start < 8:
            return 0
        size = read_u32(buf, start)
        if size == 0x414D5150:  # "AMQP"
            return 8
        if self.is_tls_1 if side else self.is_tls_0:
            return 5 + (size & 0xFF) * 256 + buf[start + 4]
        doff = buf[start + 4]
        if size < 8 or size > MAX_FRAME or doff < 2 or 4 * doff > size:
            return -1
        return size if buf[start + 5] <= 1 else -1

    def can_bridge(self, side, buf, start, have, size) -> int:
        """A transfer whose performative was seen: what is missing is a part of the message."""
        body = start + 4 * buf[start + 4]
        seen = min(len(buf), start + have)
        if (
            self.frame_size(side, buf, start, seen) != size
            or read_code(buf, body, seen) != TRANSFER
        ):
            return 0
        return int(skip_value(buf, body, seen, 0) > 0)

    def find_frame(self, side, buf, start, end, is_final) -> int:
        return find_frame(buf, start, end, bool(is_final))

    def on_gap(self, side, ts_ns, packet_no) -> None:
        self.state.lose_place(side)

    def on_end(self, ts_ns, packet_no, how) -> None:
        state = self.state
        state.ts_ns = ts_ns
        state.packet_no = packet_no
        lifecycle.finish(state)
        report.write_links(state)
        report.write_sessions(state)
        self.layers.finish((self.silence_0, self.silence_1))

    # -- taking ---------------------------------------------------------------------------

    def take_frame(
        self, side: cython.int, buf: bytes, start: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> cython.int:
        state: ConnectionState = self.state
        channel: cython.longlong
        code: cython.longlong
        body: cython.Py_ssize_t
        end: cython.Py_ssize_t = start + size
        base: cython.Py_ssize_t
        self._hear(side)
        state.ts_ns = self.ts_ns
        state.packet_no = self.packet_no
        state.offset = self.offset
        if buf[start] == 0x41 or (self.is_tls_1 if side else self.is_tls_0):
            return self._take_layer(side, buf, start, size)
        channel = buf[start + 6] * 256 + buf[start + 7]
        body = start + 4 * buf[start + 4]
        if buf[start + 5] == 0 and self.is_quick:
            code = read_code(buf, body, end)
            if code == TRANSFER:
                if self._transfer(side, channel, buf, start, body, end):
                    return 0
            elif code == DISPOSITION:
                if self._disposition(side, channel, buf, start, body, end):
                    return 0
            elif code == FLOW and self._flow(side, channel, buf, start, body, end):
                return 0
        base = self._row(side, channel, size)
        self.conn.frames.cells[base + F_TYPE] = W_SASL if buf[start + 5] else W_AMQP
        if body == end:
            self.conn.frames.cells[base + F_NAME] = W_EMPTY
            self.conn.frames.cells[base + F_STATUS] = W_OK
        else:
            self.rare.take(base, side, channel, buf[start + 5], buf[body:end])
        return 0

    def take_holed_frame(self, side, buf, start, size, holes) -> int:
        """Only a transfer with its performative whole can be used: part of a message is gone."""
        first = min(offset for offset, _ in holes)
        if not self.can_bridge(side, bytes(buf[start : start + first]), 0, first, size):
            return 0
        self.state.has_hole = True
        try:
            self.take_frame(side, buf, start, size)
        finally:
            self.state.has_hole = False
        self.conn.uncount(sum(length for _, length in holes))
        return 1

    def _hear(self, side: cython.int) -> cython.int:
        """How long each side was silent at most (1.0 §2.4.5)."""
        silence: cython.longlong
        if side:
            silence = self.ts_ns - self.last_ts_1
            if self.last_ts_1 and silence > self.silence_1:
                self.silence_1 = silence
            self.last_ts_1 = self.ts_ns
        else:
            silence = self.ts_ns - self.last_ts_0
            if self.last_ts_0 and silence > self.silence_0:
                self.silence_0 = silence
            self.last_ts_0 = self.ts_ns
        return 0

    def _row(
        self, side: cython.int, channel: cython.longlong, size: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        base: cython.Py_ssize_t = self.conn.frame_row(
            side, self.ts_ns, self.packet_no, self.first_packet_no, self.offset, size
        )
        self.conn.frames.cells[base + F_CHANNEL] = channel
        return base

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

    # -- the three hot frames -------------------------------------------------------------

    def _transfer(
        self,
        side: cython.int,
        channel: cython.longlong,
        buf: bytes,
        start: cython.Py_ssize_t,
        body: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.int:
        """1 if taken; 0 if the tables must read it."""
        rows: RowBuffer = self.conn.frames
        at: cython.Py_ssize_t = after_code(buf, body)
        payload: cython.Py_ssize_t
        stop: cython.Py_ssize_t
        base: cython.Py_ssize_t
        count: cython.longlong = list_count(buf, at, end)
        i: cython.longlong
        handle: cython.longlong = -1
        delivery_id: cython.longlong = -1
        message_format: cython.longlong = -1
        mode: cython.longlong = -1
        settled: cython.int = -1
        more: cython.int = -1
        resume: cython.int = -1
        aborted: cython.int = -1
        batchable: cython.int = -1
        key: cython.longlong
        session: Session
        link: Link
        delivery: Delivery
        tag = None
        outcome = None
        if count < 1 or count > 11:
            return 0
        payload = skip_value(buf, at, end, 0)
        at = list_items(buf, at)
        for i in range(count):
            stop = skip_value(buf, at, payload, 0)
            if stop < 0:
                return 0
            if i == 0:
                handle = read_uint(buf, at, stop)
            elif i == 1:
                delivery_id = read_uint(buf, at, stop)
            elif i == 2:
                if buf[at] == 0xA0:
                    tag = buf[at + 2 : stop]
                elif buf[at] != 0x40:
                    return 0
            elif i == 3:
                message_format = read_uint(buf, at, stop)
            elif i == 4:
                settled = read_boolean(buf, at, stop)
            elif i == 5:
                more = read_boolean(buf, at, stop)
            elif i == 6:
                if buf[at] == 0x50:
                    mode = buf[at + 1]
                elif buf[at] != 0x40:
                    return 0
            elif i == 7:
                outcome = _plain_outcome(buf, at, stop)
                if outcome is _UNREAD:
                    return 0
            elif i == 8:
                resume = read_boolean(buf, at, stop)
            elif i == 9:
                aborted = read_boolean(buf, at, stop)
            else:
                batchable = read_boolean(buf, at, stop)
            at = stop
        if (
            at != payload
            or handle < 0
            or delivery_id < -1
            or message_format < -1
            or message_format > 0
            or mode > 1
            or settled < -1
            or more < -1
            or resume < -1
            or aborted < -1
            or batchable < -1
        ):
            return 0
        base = self._row(side, channel, end - start)
        session = self.state.session_of(side, channel)
        link = self.state.link_of(session, side, handle, side)
        delivery = self.state.transfer(
            session, link, side, delivery_id, tag, message_format, settled, more, resume, aborted,
            outcome, buf, payload, end,
        )  # fmt: skip
        cells = rows.cells
        cells[base + F_TYPE] = W_AMQP
        cells[base + F_NAME] = W_TRANSFER
        cells[base + F_STATUS] = W_INCOMPLETE if self.state.has_hole else W_OK
        cells[base + F_SESSION] = session.session_id
        cells[base + F_LINK] = link.link_id
        cells[base + F_TRANSFER] = delivery.transfer_id
        if delivery_id >= 0:
            cells[base + F_DELIVERY_ID] = delivery_id
        if tag is not None:
            rows.put_string(base, F_TAG, tag.hex().encode())
        if settled >= 0:
            cells[base + F_SETTLED] = settled
        cells[base + F_MORE] = 1 if more == 1 else 0
        if outcome is not None:
            cells[base + F_OUTCOME] = outcome.word
        cells[base + F_BODY_BYTES] = end - payload
        key = (
            (((((handle * 2 + message_format + 1) * 3 + mode + 1) * 3 + resume + 1) * 3)
            + aborted + 1) * 3 + batchable + 1
        )  # fmt: skip
        if link.fields_key != key or link.fields_batch != rows.batch_no:
            link.fields_key = key
            link.fields_batch = rows.batch_no
            link.fields_code = rows.text(
                self._transfer_json(key, handle, message_format, mode, resume, aborted, batchable)
            )
        cells[base + F_FIELDS] = link.fields_code
        return 1

    def _transfer_json(self, key, handle, message_format, mode, resume, aborted, batchable) -> str:
        text = self.json_cache.get(key)
        if text is None:
            fields = {"handle": handle}
            if message_format >= 0:
                fields["message-format"] = message_format
            if mode >= 0:
                fields["rcv-settle-mode"] = _RCV_MODES[mode]
            for name, flag in zip(_TRANSFER_FLAGS, (resume, aborted, batchable), strict=True):
                if flag >= 0:
                    fields[name] = flag == 1
            if len(self.json_cache) >= MAX_CACHED:
                self.json_cache.clear()
            text = self.json_cache[key] = dump(fields)
        return text

    def _disposition(
        self,
        side: cython.int,
        channel: cython.longlong,
        buf: bytes,
        start: cython.Py_ssize_t,
        body: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.int:
        """1 if taken; 0 if the tables must read it."""
        rows: RowBuffer = self.conn.frames
        at: cython.Py_ssize_t = after_code(buf, body)
        stop: cython.Py_ssize_t
        base: cython.Py_ssize_t
        count: cython.longlong = list_count(buf, at, end)
        i: cython.longlong
        first: cython.longlong = -1
        last: cython.longlong = -1
        role: cython.int = -1
        settled: cython.int = -1
        batchable: cython.int = -1
        key: cython.int
        session: Session
        delivery: Delivery
        outcome = None
        if count < 2 or count > 6 or skip_value(buf, at, end, 0) != end:
            return 0
        at = list_items(buf, at)
        for i in range(count):
            stop = skip_value(buf, at, end, 0)
            if stop < 0:
                return 0
            if i == 0:
                role = read_boolean(buf, at, stop)
            elif i == 1:
                first = read_uint(buf, at, stop)
            elif i == 2:
                last = read_uint(buf, at, stop)
            elif i == 3:
                settled = read_boolean(buf, at, stop)
            elif i == 4:
                outcome = _plain_outcome(buf, at, stop)
                if outcome is _UNREAD:
                    return 0
            else:
                batchable = read_boolean(buf, at, stop)
            at = stop
        if at != end or role < 0 or first < 0 or last < -1 or settled < -1 or batchable < -1:
            return 0
        base = self._row(side, channel, end - start)
        session = self.state.session_of(side, channel)
        delivery = self.state.disposition(session, side, role, first, last, settled, outcome)
        cells = rows.cells
        cells[base + F_TYPE] = W_AMQP
        cells[base + F_NAME] = W_DISPOSITION
        cells[base + F_STATUS] = W_OK
        cells[base + F_SESSION] = session.session_id
        if delivery is not None:
            cells[base + F_LINK] = delivery.link.link_id
            cells[base + F_TRANSFER] = delivery.transfer_id
        cells[base + F_DELIVERY_ID] = first
        if last >= 0:
            cells[base + F_DELIVERY_LAST] = last
        cells[base + F_SETTLED] = 1 if settled == 1 else 0
        if outcome is not None:
            cells[base + F_OUTCOME] = outcome.word
        key = role * 3 + batchable + 1
        if self.disposition_batch != rows.batch_no:
            self.disposition_batch = rows.batch_no
            self.disposition_codes = {}
        text_code = self.disposition_codes.get(key)
        if text_code is None:
            fields = {"role": _ROLES[role]}
            if batchable >= 0:
                fields["batchable"] = batchable == 1
            text_code = self.disposition_codes[key] = rows.text(dump(fields))
        cells[base + F_FIELDS] = text_code
        return 1

    def _flow(
        self,
        side: cython.int,
        channel: cython.longlong,
        buf: bytes,
        start: cython.Py_ssize_t,
        body: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.int:
        """1 if taken; 0 if the tables must read it."""
        rows: RowBuffer = self.conn.frames
        at: cython.Py_ssize_t = after_code(buf, body)
        stop: cython.Py_ssize_t
        base: cython.Py_ssize_t
        count: cython.longlong = list_count(buf, at, end)
        i: cython.longlong
        number: cython.longlong
        next_incoming_id: cython.longlong = -1
        incoming_window: cython.longlong = -1
        next_outgoing_id: cython.longlong = -1
        outgoing_window: cython.longlong = -1
        handle: cython.longlong = -1
        delivery_count: cython.longlong = -1
        link_credit: cython.longlong = -1
        available: cython.longlong = -1
        drain: cython.int = -1
        echo: cython.int = -1
        session: Session
        link: Link = None
        if count < 4 or count > 10 or skip_value(buf, at, end, 0) != end:
            return 0
        at = list_items(buf, at)
        for i in range(count):
            stop = skip_value(buf, at, end, 0)
            if stop < 0:
                return 0
            number = read_uint(buf, at, stop) if i < 8 else read_boolean(buf, at, stop)
            if number < -1:
                return 0
            if i == 0:
                next_incoming_id = number
            elif i == 1:
                incoming_window = number
            elif i == 2:
                next_outgoing_id = number
            elif i == 3:
                outgoing_window = number
            elif i == 4:
                handle = number
            elif i == 5:
                delivery_count = number
            elif i == 6:
                link_credit = number
            elif i == 7:
                available = number
            elif i == 8:
                drain = number
            else:
                echo = number
            at = stop
        if at != end or incoming_window < 0 or next_outgoing_id < 0 or outgoing_window < 0:
            return 0
        base = self._row(side, channel, end - start)
        session = self.state.session_of(side, channel)
        if handle >= 0:
            # A flow that grants comes from the receiver; who only counts is the sender.
            link = self.state.link_of(session, side, handle, side if link_credit < 0 else 1 - side)
        self.state.flow(
            session, link, side, next_incoming_id, incoming_window, next_outgoing_id,
            outgoing_window, delivery_count, link_credit, available, drain, echo,
        )  # fmt: skip
        cells = rows.cells
        cells[base + F_TYPE] = W_AMQP
        cells[base + F_NAME] = W_FLOW
        cells[base + F_STATUS] = W_OK
        cells[base + F_SESSION] = session.session_id
        if link is not None:
            cells[base + F_LINK] = link.link_id
        if link_credit >= 0:
            cells[base + F_LINK_CREDIT] = link_credit
        if delivery_count >= 0:
            cells[base + F_DELIVERY_COUNT] = delivery_count
        text = "" if next_incoming_id < 0 else f'"next-incoming-id":{next_incoming_id},'
        text += (
            f'"incoming-window":{incoming_window},"next-outgoing-id":{next_outgoing_id},'
            f'"outgoing-window":{outgoing_window}'
        )
        if handle >= 0:
            text += f',"handle":{handle}'
        if available >= 0:
            text += f',"available":{available}'
        if drain >= 0:
            text += ',"drain":true' if drain else ',"drain":false'
        if echo >= 0:
            text += ',"echo":true' if echo else ',"echo":false'
        cells[base + F_FIELDS] = rows.text("{" + text + "}")
        return 1


def _plain_outcome(buf: bytes, at: cython.Py_ssize_t, stop: cython.Py_ssize_t):
    """None for null, an outcome that carries nothing, or _UNREAD for what the tables must read."""
    code: cython.longlong
    if buf[at] == 0x40:
        return None
    code = read_code(buf, at, stop)
    if code != _ACCEPTED_CODE and code != _RELEASED_CODE:
        return _UNREAD
    at = after_code(buf, at)
    if list_count(buf, at, stop) != 0:
        return _UNREAD
    return _ACCEPTED if code == _ACCEPTED_CODE else _RELEASED
