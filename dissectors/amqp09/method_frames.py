"""Method frames by the dialect's tables: what is wrong with them, and who is told of them.

State changes are the `handlers`' business.
"""

from __future__ import annotations

from typing import Any

from dissectors.core.words import word

from .channel import Channel
from .field_tables import FieldTable
from .frame_rows import MALFORMED, OK, UNKNOWN, FrameRows
from .frames import Frame
from .handlers import HANDLERS
from .jsonvalue import dumps
from .methods import IDS_SIZE, DecodedMethod, decode_method
from .redact import may_show_octets, shown_fields
from .schema import CLIENT, SERVER

# Arguments with a column of their own in frames.
COLUMN_ARGUMENTS = frozenset({"delivery-tag", "multiple", "redelivered", "reply-code"})
CONNECTION_CLASS = 10
UNKNOWN_METHOD = "unknown-method"


class MethodFrames(FrameRows):
    """Reads methods."""

    def decode(self, payload: bytes) -> DecodedMethod | None:
        return decode_method(payload, self.dialect, self.systems)

    def fields_of(self, decoded: DecodedMethod) -> str | None:
        """JSON of the arguments that have no column; secrets are not in it."""
        return dumps((n, v) for n, v in shown_fields(decoded) if n not in COLUMN_ARGUMENTS)

    def method_frame(self, side: int, frame: Frame, buf: bytes) -> None:
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
