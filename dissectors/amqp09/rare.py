"""Every frame that is not hot, read by the dialect's tables: handshake, channels, queues,
transactions, heartbeats, structured contents, and all that is malformed.

It turns each frame into its row, says what is wrong with it, and hands methods to `HANDLERS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dissectors.core.words import word

from . import frames
from .channel import Channel
from .dialects import PROTOCOL_HEADERS
from .effects import Effect
from .field_tables import FieldTable
from .frames import FRAME_END, FRAME_TYPES, Frame, cut_frame
from .handlers import HANDLERS
from .jsonvalue import dumps
from .methods import IDS_SIZE, DecodedMethod, decode_method
from .octets import MalformedError
from .properties import Properties
from .redact import may_show_octets, shown_fields
from .schema import CLIENT, SERVER
from .state import ConnectionState

if TYPE_CHECKING:
    from .decoder import Decoder09

OK = "ok"
MALFORMED = "malformed"
UNKNOWN = "unknown"
INCOMPLETE = "incomplete"
# Arguments with a column of their own in frames.
COLUMN_ARGUMENTS = frozenset({"delivery-tag", "multiple", "redelivered", "reply-code"})
# The highest frame type of a dialect; 0-9-1 has 1, 2, 3 and 8.
MAX_TYPES = {"0-9": frames.RESPONSE}
CONNECTION_CLASS = 10
# class-id to body size: what a header must have to be used when its rest is missing
HEADER_FIXED_SIZE = 12
UNKNOWN_METHOD = "unknown-method"


class RareFrames(ConnectionState):
    """Reads frames by the tables."""

    def __init__(self, dec: Decoder09, dialect: str) -> None:
        super().__init__(dec, dialect)
        self.framing = frames.framing_of(dialect)
        self.max_type = MAX_TYPES.get(dialect, frames.HEARTBEAT)
        self.readers = {
            frames.METHOD: self._method,
            frames.HEADER: self._header,
            frames.BODY: self._body,
            frames.HEARTBEAT: self._heartbeat,
            frames.TRACE: self._trace,
            frames.OOB_METHOD: self._oob,
            frames.OOB_HEADER: self._oob,
            frames.OOB_BODY: self._oob,
            frames.REQUEST: self._request,
            frames.RESPONSE: self._response,
        }

    # -- any frame ------------------------------------------------------------------------

    def take(self, side: int, buf: bytes, start: int, size: int) -> None:
        """One whole frame, or a protocol header."""
        if buf[start : start + 4] == b"AMQP":
            self._protocol_header(side, buf[start : start + size])
            return
        frame = cut_frame(buf, start, start + size, self.framing)
        assert frame is not None
        if frame.end_octet != FRAME_END:
            self.problem(
                "frame09.bad_end_octet",
                f"frame-end is 0x{frame.end_octet:02x}, not 0xce",
                side,
                size,
            )
            self._unapplied(side, frame, buf)
            return
        if self.dec.frame_max and size > self.dec.frame_max:
            self.problem(
                "frame09.oversized", f"{size} octets, frame-max is {self.dec.frame_max}", side, size
            )
        self.readers[frame.type](side, frame, buf)

    def row(
        self,
        side: int,
        frame: Frame,
        name: str,
        status: str = OK,
        fields: str | None = None,
        effect: Effect | None = None,
        **columns: Any,
    ) -> None:
        """The frame's row; `effect` says what it did."""
        rows = self.dec.frames
        base = self.dec.row(
            side, frame.end - frame.start, frame.channel, word(FRAME_TYPES[frame.type]), word(name)
        )
        channel = self.dec.channels.get(frame.channel)
        session_id = channel.session_id if channel else None
        if effect is not None:
            transfer, link = effect.transfer, effect.link
            if effect.session_id is not None:
                session_id = effect.session_id
            if transfer is not None:
                columns["transfer_id"] = transfer.transfer_id
                link = transfer.link or link
            if link is not None:
                columns["link_id"] = link.link_id
            if effect.outcome is not None:
                rows.cells[base + rows.positions["outcome"]] = effect.outcome
        columns.update(session_id=session_id, status=status, fields=fields)
        for column, value in columns.items():
            if value is not None:
                rows.put(base, rows.positions[column], value)

    def _unapplied(self, side: int, frame: Frame, buf: bytes) -> None:
        """A frame whose end is wrong is named, but changes nothing (0-9-1 §4.2.3)."""
        name = FRAME_TYPES[frame.type]
        fields = None
        if frame.type == frames.METHOD:
            decoded = self.decode(buf[frame.payload_start : frame.payload_end])
            name = decoded.method.full_name if decoded else UNKNOWN_METHOD
            fields = self.fields_of(decoded) if decoded else None
        self.row(side, frame, name, MALFORMED, fields)

    def _protocol_header(self, side: int, octets: bytes) -> None:
        base = self.conn.frame_row(
            side,
            self.dec.ts_ns,
            self.dec.packet_no,
            self.dec.first_packet_no,
            self.dec.offset,
            len(octets),
        )
        version = list(octets[4:])
        dialect = PROTOCOL_HEADERS.get(octets[4:])
        rows = self.dec.frames
        values = {
            "frame_type": "protocol-header",
            "name": "protocol-header",
            "status": OK if dialect else UNKNOWN,
            "fields": dumps([("dialect", dialect), ("version", bytes(version).hex())]),
        }
        for column, value in values.items():
            rows.put(base, rows.positions[column], value)
        if side != self.client_side:
            offered = dialect or ".".join(map(str, version))
            self.problem(
                "detect.refused_version", f"the server offers {offered} instead", side, len(octets)
            )
            self.conn.facts["close_reason"] = f"protocol version refused; server offers {offered}"
            self.conn.facts["close_initiator"] = "server"

    # -- methods --------------------------------------------------------------------------

    def decode(self, payload: bytes) -> DecodedMethod | None:
        return decode_method(payload, self.dialect, self.systems)

    def fields_of(self, decoded: DecodedMethod) -> str | None:
        """JSON of the arguments that have no column; secrets are not in it."""
        return dumps((n, v) for n, v in shown_fields(decoded) if n not in COLUMN_ARGUMENTS)

    def _method(self, side: int, frame: Frame, buf: bytes) -> None:
        payload = buf[frame.payload_start : frame.payload_end]
        self.take_method(side, frame, payload)

    def take_method(
        self, side: int, frame: Frame, payload: bytes, head: tuple[tuple[str, Any], ...] = ()
    ) -> None:
        """A method payload; `head` are fields of the frame around it."""
        decoded = self.decode(payload)
        if decoded is None:
            self._unknown_method(side, frame, payload, head)
            return
        status = self._check(side, frame, decoded)
        name = decoded.method.full_name
        self._learn_client(side, decoded)
        effect = None
        channel = self._channel_for(side, frame, decoded)
        is_connection = decoded.method.class_id == CONNECTION_CLASS and not frame.channel
        if decoded.fields.error is None and (channel is not None or is_connection):
            if channel is not None:
                if (channel.current_1 if side else channel.current_0) is not None:
                    channel.cut_short(side, self.dec)
                if side:
                    channel.is_lost_1 = False
                else:
                    channel.is_lost_0 = False
            handler = HANDLERS.get(name)
            if handler is not None:
                effect = handler(self, channel, side, decoded, dict(head))
        fields = dumps(
            [*head, *((n, v) for n, v in shown_fields(decoded) if n not in COLUMN_ARGUMENTS)]
        )
        tag = decoded.get("delivery-tag")
        self.row(
            side,
            frame,
            name,
            status,
            fields,
            effect,
            delivery_id=tag,
            delivery_tag=None if tag is None else str(tag),
            is_multiple=decoded.get("multiple"),
            is_redelivered=decoded.get("redelivered"),
            reply_code=decoded.get("reply-code"),
        )

    def _unknown_method(self, side: int, frame: Frame, payload: bytes, head: tuple) -> None:
        if len(payload) < IDS_SIZE:
            self.problem("method09.short", "too short for class and method", side, len(payload))
            self.row(side, frame, UNKNOWN_METHOD, MALFORMED, dumps(head))
            return
        class_id = int.from_bytes(payload[:2], "big")
        method_id = int.from_bytes(payload[2:IDS_SIZE], "big")
        self.problem(
            "method09.unknown",
            f"class {class_id}, method {method_id} is not in {self.dialect_name}",
            side,
            len(payload),
        )
        ids = (("class-id", class_id), ("method-id", method_id))
        self.row(side, frame, UNKNOWN_METHOD, UNKNOWN, dumps([*head, *ids]))

    def _check(self, side: int, frame: Frame, decoded: DecodedMethod) -> str:
        """Say what is wrong with a method; its status."""
        name = decoded.method.full_name
        shown = decoded.payload if may_show_octets(name) else b""
        error = decoded.fields.error
        if error is not None:
            self.problem(
                "method09.short", f"{name}: {error.detail}", side, len(decoded.payload), shown
            )
            return MALFORMED
        if decoded.trailing:
            self.problem(
                "method09.long",
                f"{name}: {len(decoded.trailing)} octets after its arguments",
                side,
                len(decoded.trailing),
                decoded.trailing if shown else b"",
            )
            return MALFORMED
        for argument, value in decoded.fields.as_dict().items():
            if not isinstance(value, FieldTable):
                continue
            if value.error:
                self.problem(
                    "type09.field_table", f"{name} {argument}: {value.error}", side, len(value.raw)
                )
            elif value.entries:
                self.use_system(value.system)
        return OK

    def _learn_client(self, side: int, decoded: DecodedMethod) -> None:
        """Where TCP and ports do not tell, a method that only one side sends does."""
        if self.conn.is_client_known or decoded.method.to not in (CLIENT, SERVER):
            return
        self.client_side = side if decoded.method.to == SERVER else 1 - side
        self.conn.is_client_known = True
        facts = self.conn.facts
        facts["client_known_by"] = "method"
        directions = [word("c2s"), word("s2c")]
        if self.client_side:
            directions.reverse()
            facts["client"], facts["server"] = self.conn.server, self.conn.client
        self.conn.direction_0, self.conn.direction_1 = directions

    def _channel_for(self, side: int, frame: Frame, decoded: DecodedMethod) -> Channel | None:
        """The channel of a method, or None for the connection class (0-9-1 §4.2.3)."""
        number = frame.channel
        name = decoded.method.full_name
        if decoded.method.class_id == CONNECTION_CLASS:
            if number:
                self.problem("method09.channel", f"{name} on channel {number}, not 0", side)
            return None
        if not number:
            self.problem("method09.channel", f"{name} on channel 0", side)
            return None
        if name == "channel.open":
            return self.open_channel(number, side)
        if name == "channel.close-ok":
            # Both sides may close at once: the second answer comes when the channel is gone.
            return self.dec.channels.get(number)
        return self.dec.channel(number, side)

    # -- content --------------------------------------------------------------------------

    def _header(self, side: int, frame: Frame, buf: bytes) -> None:
        at, end = frame.payload_start, frame.payload_end
        found = self.dec.memory.find(buf, at, end, self.dialect, self.systems)
        if not frame.channel:
            # 0-9-1 §4.2.6.1: the channel of a content frame is never 0
            self.problem("content09.channel_zero", "a content header on channel 0", side)
            self.row(side, frame, "header", MALFORMED)
            return
        if isinstance(found, MalformedError):
            self.problem("content09.bad_header", found.detail, side, end - at, buf[at:end])
            self.row(side, frame, "header", MALFORMED)
            return
        status = self._check_properties(side, found, buf[at:end])
        class_id = int.from_bytes(buf[at : at + 2], "big")
        weight = int.from_bytes(buf[at + 2 : at + 4], "big")
        body_size = int.from_bytes(buf[at + 4 : at + 12], "big")
        if weight and self.dialect_name == "0-9-1":
            self.problem("content09.weight", f"weight is {weight}, not 0", side)
            weight = 0
        channel = self.dec.channel(frame.channel, side)
        self._check_class(side, channel, class_id)
        transfer = channel.header(side, found, body_size, weight, self.dec)
        fields = found.json
        if weight:
            inner = fields[1:] if fields else "}"
            fields = f'{{"weight":{weight}' + ("," + inner if fields else inner)
        self.row(
            side, frame, "header", status, fields, Effect(transfer=transfer), body_bytes=body_size
        )

    def _check_properties(self, side: int, found: Properties, payload: bytes) -> str:
        if found.error is not None:
            self.problem(
                "content09.bad_properties", found.error.detail, side, len(payload), payload
            )
            return MALFORMED
        if found.table_error is not None:
            self.problem("type09.field_table", f"headers: {found.table_error}", side, len(payload))
        if found.has_unknown:
            self.problem(
                "content09.unknown_properties",
                "flags or octets of no known property",
                side,
                len(payload),
                payload,
            )
        return OK

    def _check_class(self, side: int, channel: Channel, class_id: int) -> None:
        """0-9-1 §4.2.6.1: the header's class is that of its method."""
        current = channel.current_1 if side else channel.current_0
        if current is not None and not current.has_header and current.class_id != class_id:
            self.problem(
                "content09.wrong_class",
                f"header of class {class_id} after a method of {current.class_id}",
                side,
            )

    def _body(self, side: int, frame: Frame, buf: bytes) -> None:
        if not frame.channel:
            self.problem("content09.channel_zero", "a body on channel 0", side)
            self.row(side, frame, "body", MALFORMED)
            return
        channel = self.dec.channel(frame.channel, side)
        transfer = channel.body(side, buf, frame.payload_start, frame.payload_end, self.dec)
        self.row(
            side,
            frame,
            "body",
            OK,
            None,
            Effect(transfer=transfer),
            body_bytes=frame.payload_end - frame.payload_start,
        )

    def take_holed(self, side: int, buf: bytes, start: int, size: int, holes: list) -> int:
        """A frame with missing octets: bodies count what was seen, headers keep their size."""
        frame = cut_frame(buf, start, start + size, self.framing)
        missing = sum(length for _, length in holes)
        if frame is None or not frame.channel:
            return 0
        head = frame.payload_start - start
        channel = self.dec.channels.get(frame.channel)
        if channel is None:
            return 0
        if frame.type == frames.BODY:
            transfer = channel.current_1 if side else channel.current_0
            if transfer is None or not transfer.has_header:
                return 0
            channel.lose(side)
            payload = frame.payload_end - frame.payload_start
            seen = payload - missing
            transfer.frame_count += 1
            transfer.last_ts, transfer.last_packet = self.dec.ts_ns, self.dec.packet_no
            transfer.body_bytes += seen
            transfer.missing_bytes += missing
            if transfer.link is not None:
                transfer.link.body_bytes += seen
            if transfer.body_bytes + transfer.missing_bytes >= transfer.body_size:
                channel.assembled(side, transfer, self.dec)
            effect = Effect(transfer=transfer)
            self.row(side, frame, "body", INCOMPLETE, None, effect, body_bytes=seen)
        elif frame.type == frames.HEADER and holes[0][0] >= head + HEADER_FIXED_SIZE:
            channel.lose(side)
            at = frame.payload_start
            body_size = int.from_bytes(buf[at + 4 : at + 12], "big")
            transfer = channel.header(side, None, body_size, 0, self.dec)
            effect = Effect(transfer=transfer)
            self.row(side, frame, "header", INCOMPLETE, None, effect, body_bytes=body_size)
        else:
            return 0
        self.conn.uncount(missing)
        return 1

    # -- other frames ---------------------------------------------------------------------

    def _heartbeat(self, side: int, frame: Frame, buf: bytes) -> None:
        status = OK
        if frame.channel or frame.size:
            status = MALFORMED
            self.problem(
                "frame09.bad_heartbeat",
                f"a heartbeat on channel {frame.channel} with {frame.size} octets",
                side,
            )
        self.row(side, frame, "heartbeat", status)

    def _trace(self, side: int, frame: Frame, buf: bytes) -> None:
        status = OK
        if frame.channel:
            # 0-9 revision 1 draft, "Trace Frames": amq_wlp_trace_01
            status = MALFORMED
            self.problem("frame09.bad_trace", f"a trace frame on channel {frame.channel}", side)
        payload = buf[frame.payload_start : frame.payload_end]
        self.row(side, frame, "trace", status, dumps([("trace", payload)]))

    def _oob(self, side: int, frame: Frame, buf: bytes) -> None:
        """Its payload goes another way; how long it is, is all that the stream says."""
        if self.dialect_name == "0-9-1":
            self.problem("frame09.unknown_type", f"frame type {frame.type}", side)
        name = FRAME_TYPES[frame.type]
        status = UNKNOWN if self.dialect_name == "0-9-1" else OK
        self.row(side, frame, name, status, dumps([("size", frame.size)]))

    def _request(self, side: int, frame: Frame, buf: bytes) -> None:
        payload = buf[frame.payload_start : frame.payload_end]
        request = frames.decode_request(payload)
        if isinstance(request, MalformedError):
            self.problem("frame09.short_request", request.detail, side, len(payload), payload)
            self.row(side, frame, "request", MALFORMED)
            return
        head = (
            ("request-id", request.request_id),
            ("response-mark", request.response_mark),
            ("inferred-frame-type", frame.type),
        )
        self.take_method(side, frame, payload[frames.ENVELOPE_SIZE :], head)

    def _response(self, side: int, frame: Frame, buf: bytes) -> None:
        payload = buf[frame.payload_start : frame.payload_end]
        response = frames.decode_response(payload)
        if isinstance(response, MalformedError):
            self.problem("frame09.short_response", response.detail, side, len(payload), payload)
            self.row(side, frame, "response", MALFORMED)
            return
        head = (
            ("response-id", response.response_id),
            ("request-id", response.request_id),
            ("batch-offset", response.batch_offset),
            ("inferred-frame-type", frame.type),
        )
        self.take_method(side, frame, payload[frames.ENVELOPE_SIZE :], head)
