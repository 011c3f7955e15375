"""Content headers and bodies by the dialect's tables, whole or with octets missing."""

from __future__ import annotations

from . import frames
from .channel import Channel
from .effects import Effect
from .frame_rows import INCOMPLETE, MALFORMED, OK, FrameRows
from .frames import Frame, cut_frame
from .octets import MalformedError
from .properties import Properties

# class-id to body size: what a header must have to be used when its rest is missing
HEADER_FIXED_SIZE = 12


class ContentFrames(FrameRows):
    """Reads contents."""

    def header_frame(self, side: int, frame: Frame, buf: bytes) -> None:
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
        fields = found.json_text()
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

    def body_frame(self, side: int, frame: Frame, buf: bytes) -> None:
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
