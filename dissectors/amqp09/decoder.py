# cython: wraparound=False
"""From frames to rows and state: the decoder of 0-8, 0-9, the 0-9 draft and 0-9-1.

The frames that make up almost all traffic (publish, deliver, get-ok, header, body, ack, nack,
reject) are read here, compiled; all others, and any of these that is not as it should be, go to
`rare` and the dialect's tables. Both call the same `Channel` methods.
"""

import cython

from dissectors.amqp09 import codes
from dissectors.amqp09.arguments import Arguments
from dissectors.amqp09.channel import Channel
from dissectors.amqp09.properties import Properties
from dissectors.amqp09.property_memory import PropertyMemory
from dissectors.amqp09.rare import RareFrames
from dissectors.amqp09.resync import find_next_frame
from dissectors.amqp09.transfers import Transfer
from dissectors.core.connection import Connection
from dissectors.core.decoder import StreamDecoder
from dissectors.core.rows import RowBuffer, cell_of
from dissectors.core.words import word
from dissectors.tables import FRAMES

if not cython.compiled:
    from dissectors.amqp09.wire import be16, be32, be64, cut, is_same

# Argument lists remembered per connection, so that their JSON is made once.
MAX_REMEMBERED = 4096
# A frame over the agreed frame-max is still a frame up to here; beyond, its size is garbage.
MAX_PLAUSIBLE_BYTES = cython.declare(cython.longlong, 16 * 1024 * 1024)
FRAME_END = cython.declare(cython.int, 0xCE)
FRAME_END_SIZE = cython.declare(cython.int, 1)
PROTOCOL_HEADER_SIZE = cython.declare(cython.int, 8)
LETTER_A = cython.declare(cython.int, 0x41)

METHOD = cython.declare(cython.int, 1)
HEADER = cython.declare(cython.int, 2)
BODY = cython.declare(cython.int, 3)
OOB_FIRST = cython.declare(cython.int, 4)
OOB_LAST = cython.declare(cython.int, 6)

BASIC = cython.declare(cython.int, 60)
K_PUBLISH = cython.declare(cython.longlong, 60 << 16 | 40)
K_DELIVER = cython.declare(cython.longlong, 60 << 16 | 60)
K_GET_OK = cython.declare(cython.longlong, 60 << 16 | 71)
K_ACK = cython.declare(cython.longlong, 60 << 16 | 80)
K_REJECT = cython.declare(cython.longlong, 60 << 16 | 90)
K_NACK = cython.declare(cython.longlong, 60 << 16 | 120)

F_CHANNEL = cython.declare(cython.int, cell_of(FRAMES, "channel"))
F_SESSION = cython.declare(cython.int, cell_of(FRAMES, "session_id"))
F_LINK = cython.declare(cython.int, cell_of(FRAMES, "link_id"))
F_TRANSFER = cython.declare(cython.int, cell_of(FRAMES, "transfer_id"))
F_TYPE = cython.declare(cython.int, cell_of(FRAMES, "frame_type"))
F_NAME = cython.declare(cython.int, cell_of(FRAMES, "name"))
F_STATUS = cython.declare(cython.int, cell_of(FRAMES, "status"))
F_DELIVERY_ID = cython.declare(cython.int, cell_of(FRAMES, "delivery_id"))
F_DELIVERY_TAG = cython.declare(cython.int, cell_of(FRAMES, "delivery_tag"))
F_MULTIPLE = cython.declare(cython.int, cell_of(FRAMES, "is_multiple"))
F_REDELIVERED = cython.declare(cython.int, cell_of(FRAMES, "is_redelivered"))
F_OUTCOME = cython.declare(cython.int, cell_of(FRAMES, "outcome"))
F_BODY = cython.declare(cython.int, cell_of(FRAMES, "body_bytes"))
F_FIELDS = cython.declare(cython.int, cell_of(FRAMES, "fields"))

ACCEPTED = cython.declare(cython.longlong, codes.ACCEPTED)
REJECTED = cython.declare(cython.longlong, codes.REJECTED)
RELEASED = cython.declare(cython.longlong, codes.RELEASED)
W_OK = cython.declare(cython.longlong, word("ok"))
W_MALFORMED = cython.declare(cython.longlong, word("malformed"))
W_METHOD = cython.declare(cython.longlong, word("method"))
W_HEADER = cython.declare(cython.longlong, word("header"))
W_BODY = cython.declare(cython.longlong, word("body"))
N_PUBLISH = cython.declare(cython.longlong, word("basic.publish"))
N_DELIVER = cython.declare(cython.longlong, word("basic.deliver"))
N_GET_OK = cython.declare(cython.longlong, word("basic.get-ok"))
N_ACK = cython.declare(cython.longlong, word("basic.ack"))
N_REJECT = cython.declare(cython.longlong, word("basic.reject"))
N_NACK = cython.declare(cython.longlong, word("basic.nack"))
MAX_INT64 = cython.declare(cython.ulonglong, 0x7FFFFFFFFFFFFFFF)

REQUEUE_JSON = ('{"requeue":false}', '{"requeue":true}')


class Decoder09(StreamDecoder):
    """One connection of the 0-9 family."""

    def __init__(self, conn: Connection, dialect: str, is_hot: bool = True) -> None:
        super().__init__(conn)
        self.client_side = 0
        self.rare = RareFrames(self, dialect)
        self.is_hot = is_hot
        self.header_size = self.rare.framing.header.size
        self.max_type = self.rare.max_type
        self.memory = PropertyMemory()
        self.publishes: dict = {}
        self.delivers: dict = {}
        self.gets: dict = {}
        self.channels: dict = {}
        self.last_channel = None
        self.frame_max = 0
        self.frames: RowBuffer = conn.frames

    def begin_midstream(self) -> None:
        """The capture begins inside the connection: search for the first frame."""
        self.rare.is_midstream = True
        super().begin_midstream()

    def frame_size(
        self, side: cython.int, buf: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """See `StreamDecoder`: octets alone decide, never how much of them is here."""
        size: cython.longlong
        kind: cython.int = buf[start]
        head: cython.Py_ssize_t = self.header_size
        if kind == LETTER_A:
            if end - start >= 4 and buf[start : start + 4] != b"AMQP":
                return -1
            return PROTOCOL_HEADER_SIZE if end - start >= PROTOCOL_HEADER_SIZE else 0
        if kind == 0 or kind > self.max_type:
            return -1
        if end - start <= head:
            return 0
        size = be32(buf, start + head - 4)
        if OOB_FIRST <= kind <= OOB_LAST and buf[start + head] == FRAME_END:
            return head + FRAME_END_SIZE
        if size > MAX_PLAUSIBLE_BYTES:
            return -1
        return head + size + FRAME_END_SIZE

    def take_frame(
        self, side: cython.int, buf: bytes, start: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> cython.int:
        """See `StreamDecoder`."""
        at: cython.Py_ssize_t = start + self.header_size
        last: cython.Py_ssize_t = start + size - FRAME_END_SIZE
        number: cython.longlong
        key: cython.longlong
        channel: Channel
        kind: cython.int = buf[start]
        taken: cython.int = 0
        # While nobody knows which side is the client, the tables of methods must tell.
        if self.is_hot and self.conn.is_client_known and kind <= BODY and buf[last] == FRAME_END:
            number = be16(buf, at - 6)
            channel = self.last_channel
            if channel is None or channel.number != number:
                channel = self.channels.get(number)
                if channel is not None:
                    self.last_channel = channel
            # One that was not seen to open is the tables' to infer.
            if channel is not None and number and (not self.frame_max or size <= self.frame_max):
                if kind == BODY:
                    taken = self._take_body(side, buf, size, at, last, channel)
                elif kind == HEADER:
                    taken = self._take_header(side, buf, size, at, last, channel)
                elif last - at > 4:
                    key = be32(buf, at)
                    at += 4
                    if key == K_PUBLISH:
                        taken = self._take_publish(side, buf, size, at, last, channel)
                    elif key == K_DELIVER:
                        taken = self._take_deliver(side, buf, size, at, last, channel)
                    elif key in (K_ACK, K_NACK, K_REJECT):
                        taken = self._take_ack(side, buf, size, at, last, channel, key)
                    elif key == K_GET_OK:
                        taken = self._take_get_ok(side, buf, size, at, last, channel)
        if not taken:
            self.rare.take(side, buf, start, size)
        return 0

    def channel(self, number: cython.longlong, side: cython.int) -> Channel:
        """The open channel of that number; one that was not seen to open is inferred."""
        found: Channel = self.channels.get(number)
        if found is None:
            found = self.rare.infer_channel(number, side)
        return found

    def _row(
        self,
        side: cython.int,
        size: cython.Py_ssize_t,
        channel: Channel,
        t: Transfer | None,
        type_word: cython.longlong,
        name: cython.longlong,
    ) -> cython.Py_ssize_t:
        """A row in frames for a frame that is well."""
        rows: RowBuffer = self.frames
        base: cython.Py_ssize_t = self.conn.frame_row(
            side, self.ts_ns, self.packet_no, self.first_packet_no, self.offset, size
        )
        rows.cells[base + F_CHANNEL] = channel.number
        rows.cells[base + F_SESSION] = channel.session_id
        rows.cells[base + F_TYPE] = type_word
        rows.cells[base + F_NAME] = name
        rows.cells[base + F_STATUS] = W_OK
        if t is not None:
            rows.cells[base + F_TRANSFER] = t.transfer_id
            if t.link is not None:
                rows.cells[base + F_LINK] = t.link.link_id
        return base

    def _say_tag(self, base: cython.Py_ssize_t, tag: cython.ulonglong) -> cython.int:
        self.frames.cells[base + F_DELIVERY_ID] = tag if tag < MAX_INT64 else MAX_INT64
        self.frames.put_number(base, F_DELIVERY_TAG, tag)
        return 0

    # -- hot frames -----------------------------------------------------------------------

    def _take_publish(
        self,
        side: cython.int,
        buf: bytes,
        size: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        channel: Channel,
    ) -> cython.int:
        base: cython.Py_ssize_t
        t: Transfer
        known: Arguments
        known = channel.last_publish
        if known is None or not is_same(buf, at, last, known.tail):
            known = self._recall(self.publishes, b"", cut(buf, at, last), buf, at, last)
            if known is None:
                return 0
            channel.last_publish = known
        t = channel.publish(side, known.exchange, known.routing_key, known.is_mandatory, self)
        t.arguments = known
        base = self._row(side, size, channel, t, W_METHOD, N_PUBLISH)
        self.frames.cells[base + F_FIELDS] = known.code_json(self.frames)
        return 1

    def _take_deliver(
        self,
        side: cython.int,
        buf: bytes,
        size: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        channel: Channel,
    ) -> cython.int:
        tag: cython.ulonglong
        t: Transfer
        known: Arguments
        tag_at: cython.Py_ssize_t = at + 1 + buf[at]
        if tag_at + 9 >= last:
            return 0
        # The list without its tag and redelivered bit, which differ each time.
        known = channel.last_deliver
        if (
            known is None
            or not is_same(buf, at, tag_at, known.head)
            or not is_same(buf, tag_at + 9, last, known.tail)
        ):
            known = self._recall(
                self.delivers, cut(buf, at, tag_at), cut(buf, tag_at + 9, last), buf, at, last
            )
            if known is None:
                return 0
            channel.last_deliver = known
        tag = be64(buf, tag_at)
        t = channel.deliver(
            side,
            tag,
            buf[tag_at + 8] & 1,
            known.consumer_tag,
            known.exchange,
            known.routing_key,
            self,
        )
        return self._say_delivery(side, size, channel, N_DELIVER, t, known)

    def _take_get_ok(
        self,
        side: cython.int,
        buf: bytes,
        size: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        channel: Channel,
    ) -> cython.int:
        tag: cython.ulonglong
        t: Transfer
        known: Arguments
        if at + 9 >= last:
            return 0
        known = self._recall(self.gets, b"", cut(buf, at + 9, last), buf, at, last)
        if known is None:
            return 0
        tag = be64(buf, at)
        t = self.rare.get_ok(channel, side, tag, buf[at + 8] & 1, known.exchange, known.routing_key)
        return self._say_delivery(side, size, channel, N_GET_OK, t, known)

    def _say_delivery(
        self,
        side: cython.int,
        size: cython.Py_ssize_t,
        channel: Channel,
        name: cython.longlong,
        t: Transfer,
        known: Arguments,
    ) -> cython.int:
        """The row of a deliver or get-ok."""
        base: cython.Py_ssize_t = self._row(side, size, channel, t, W_METHOD, name)
        t.arguments = known
        self._say_tag(base, t.tag)
        self.frames.cells[base + F_REDELIVERED] = t.is_redelivered
        self.frames.cells[base + F_FIELDS] = known.code_json(self.frames)
        return 1

    def _take_ack(
        self,
        side: cython.int,
        buf: bytes,
        size: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        channel: Channel,
        key: cython.longlong,
    ) -> cython.int:
        base: cython.Py_ssize_t
        tag: cython.ulonglong
        bits: cython.int
        is_multiple: cython.bint
        is_requeue: cython.bint = False
        outcome: cython.longlong = ACCEPTED
        name: cython.longlong = N_ACK
        t: Transfer
        if last - at != 9:
            return 0
        tag = be64(buf, at)
        bits = buf[at + 8]
        is_multiple = bits & 1
        if (channel.current_1 if side else channel.current_0) is not None:
            return 0  # it cuts a content short
        if key != K_ACK:
            name = N_NACK if key == K_NACK else N_REJECT
            is_multiple = is_multiple and key == K_NACK
            is_requeue = (bits & (2 if key == K_NACK else 1)) != 0
            outcome = RELEASED if is_requeue and side == self.client_side else REJECTED
        if side == self.client_side:
            t = channel.settle(side, tag, is_multiple, outcome, self)
        else:
            t = channel.confirm(side, tag, is_multiple, outcome, self)
        base = self._row(side, size, channel, t, W_METHOD, name)
        self._say_tag(base, tag)
        self.frames.cells[base + F_OUTCOME] = outcome
        if key != K_REJECT:
            self.frames.cells[base + F_MULTIPLE] = is_multiple
        if key != K_ACK:
            self.frames.cells[base + F_FIELDS] = self.frames.text(REQUEUE_JSON[is_requeue])
        return 1

    def _take_header(
        self,
        side: cython.int,
        buf: bytes,
        size: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        channel: Channel,
    ) -> cython.int:
        base: cython.Py_ssize_t
        t: Transfer
        properties: Properties
        body_size: cython.ulonglong
        weight: cython.longlong
        if last - at < 14 or be16(buf, at) != BASIC:
            return 0
        weight = be16(buf, at + 2)
        if weight:
            return 0
        properties = self.memory.recall(buf, at, last)
        if properties is None:
            found = self.memory.find(buf, at, last, self.rare.dialect, self.rare.systems)
            if not isinstance(found, Properties):
                return 0
            properties = found
        if not properties.is_plain:
            return 0
        body_size = be64(buf, at + 4)
        t = channel.current_1 if side else channel.current_0
        if t is not None and t.class_id != BASIC:
            return 0
        t = channel.header(side, properties, body_size, 0, self)
        base = self._row(side, size, channel, t, W_HEADER, W_HEADER)
        self.frames.cells[base + F_BODY] = body_size if body_size < MAX_INT64 else MAX_INT64
        properties.put_json(self.frames, base, F_FIELDS)
        return 1

    def _take_body(
        self,
        side: cython.int,
        buf: bytes,
        size: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        channel: Channel,
    ) -> cython.int:
        base: cython.Py_ssize_t
        t: Transfer
        t = channel.body(side, buf, at, last, self)
        base = self._row(side, size, channel, t, W_BODY, W_BODY)
        self.frames.cells[base + F_BODY] = last - at
        return 1

    def _recall(
        self,
        memory: dict,
        head: bytes,
        tail: bytes,
        buf: bytes,
        at: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
    ) -> Arguments | None:
        """An argument list, decoded by the tables once; None when something is wrong with it."""
        known: Arguments
        key = head + tail
        found = memory.get(key)
        if found is not None:
            return found
        decoded = self.rare.decode(buf[at - 4 : last])
        if decoded is None or decoded.fields.error or decoded.trailing:
            return None
        values = decoded.fields.as_dict()
        known = Arguments(
            values.get("consumer-tag"),
            values["exchange"],
            values["routing-key"],
            bool(values.get("mandatory") or values.get("immediate")),
            self.rare.fields_of(decoded),
        )
        known.head = head
        known.tail = tail
        if len(memory) >= MAX_REMEMBERED:
            memory.clear()
        memory[key] = known
        return known

    # -- disorder -------------------------------------------------------------------------

    def take_holed_frame(self, side, buf, start, size, holes) -> int:
        return self.rare.take_holed(side, buf, start, size, holes)

    def can_bridge(self, side, buf, start, have, size) -> int:
        return 1 if have >= self.header_size and buf[start] != LETTER_A else 0

    def find_frame(self, side, buf, start, end, is_final) -> int:
        return find_next_frame(self.rare, buf, start, end, is_final)

    def on_gap(self, side, ts_ns, packet_no) -> None:
        self.rare.lose(side)

    def on_end(self, ts_ns, packet_no, how) -> None:
        self.rare.end(ts_ns, how)
