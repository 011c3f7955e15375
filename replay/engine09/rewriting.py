"""What changes in a frame on its way to the live server: names, and bodies cut to its frame-max.

Only the fields that must change are spliced; a frame without such a field keeps its octets. In
semantic mode every method and header is written anew from its values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import xxhash

from dissectors.amqp09.field_tables import Entry, FieldTable, encode_table
from dissectors.amqp09.frames import HEADER
from dissectors.amqp09.headers import encode_header
from dissectors.amqp09.methods import DecodedMethod, encode_method, splice
from replay.engine09.parts import (
    BODY_SIZE_AT,
    FRAME_OVERHEAD,
    HEADER_FIXED_SIZE,
    Content,
    Part,
    encode_part,
    split_body,
)
from replay.engine09.vocabulary import (
    DEAD_LETTER_EXCHANGE,
    DEAD_LETTER_KEY,
    NAME_ARGUMENTS,
    NAME_ENTRIES,
)
from replay.rewrite import Rewriter

MAX_REMEMBERED = 4096


class PendingNameError(Exception):
    """The live server has not made this name yet."""


def live_name(rewriter: Rewriter, captured: str) -> str:
    live = rewriter.name(captured)
    if live is None:
        raise PendingNameError(captured)
    return live


def rename_method(part: Part, rewriter: Rewriter) -> bytes:
    """The payload with live names; the captured one where none changes."""
    method = part.method
    if method is None:
        return part.payload
    changes = _name_changes(method, part.name, rewriter)
    return splice(method, changes) if changes else part.payload


def reencode_method(part: Part, payload: bytes) -> bytes | None:
    """Semantic mode: written from values; None for what no client would say."""
    decoded = part.vocabulary.decode(payload)
    if decoded is None or decoded.fields.error is not None:
        return None
    return encode_method(decoded.method, decoded.fields.as_dict())


def _name_changes(method: DecodedMethod, name: str, rewriter: Rewriter) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for argument in NAME_ARGUMENTS.get(name, ()):
        value = method.get(argument)
        if value:
            changes[argument] = live_name(rewriter, value)
    key = method.get("routing-key")
    if key:
        is_queue = name == "basic.publish" and not method.get("exchange")
        if is_queue or key in rewriter.expected:
            changes["routing-key"] = live_name(rewriter, key)
    table = method.get("arguments")
    if isinstance(table, FieldTable) and table.error is None:
        renamed = _rename_table(table, rewriter)
        if renamed is not table:
            changes["arguments"] = renamed
    return {key: value for key, value in changes.items() if value != method.get(key)}


def _rename_table(table: FieldTable, rewriter: Rewriter) -> FieldTable:
    """Exchanges that an argument names; the dead-letter key where it names a queue."""
    names = set(NAME_ENTRIES)
    if _text(table.get(DEAD_LETTER_EXCHANGE)) == "":
        names.add(DEAD_LETTER_KEY)
    entries = tuple(
        _renamed_entry(entry, rewriter) if entry.name in names else entry for entry in table
    )
    if entries == table.entries:
        return table
    changed = replace(table, entries=entries)
    return replace(changed, raw=encode_table(changed))


def _renamed_entry(entry: Entry, rewriter: Rewriter) -> Entry:
    captured = _text(entry.value)
    if not captured:
        return entry
    live = live_name(rewriter, captured)
    value = live.encode() if isinstance(entry.value, bytes) else live
    return replace(entry, value=value)


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None


class ContentPlan:
    """What goes out for a content; None = the captured frames as they are."""

    __slots__ = ("bodies", "header", "is_skipped")

    def __init__(
        self,
        header: bytes | None = None,
        bodies: list[bytes] | None = None,
        is_skipped: bool = False,
    ) -> None:
        self.header = header
        self.bodies = bodies
        self.is_skipped = is_skipped


SKIPPED = ContentPlan(is_skipped=True)
AS_CAPTURED = ContentPlan()


class ContentRewriter:
    """Plans contents for one live connection."""

    def __init__(self, rewriter: Rewriter, is_semantic: bool, body_hashes: dict[str, str]) -> None:
        self._rewriter = rewriter
        self._is_semantic = is_semantic
        self._body_hashes = body_hashes
        self.frame_max = 0
        self.captured_frame_max = 0
        # Property lists that hold no name, as long as no further name is learnt.
        self._plain: set[bytes] = set()
        self._plain_since = 0

    def plan(self, content: Content) -> ContentPlan:
        """May raise PendingNameError, before anything of the content has gone out."""
        header = content.header
        if header is None:
            return AS_CAPTURED
        is_long = self._is_too_long(content)
        if self._rewriter.is_plain and not is_long and not self._is_semantic:
            return AS_CAPTURED
        payload, body = header.payload, None
        if not self._rewriter.is_plain:
            self._check_pending(content)
            payload = self._rename_header(header)
            captured = content.body()
            body = self._rewriter.octets(captured)
            if body == captured:
                body = None
            else:
                payload = _with_body_size(payload, len(body))
                hashes = (xxhash.xxh3_64_hexdigest(octets) for octets in (body, captured))
                self._body_hashes.update([tuple(hashes)])  # type: ignore[list-item]
        if self._is_semantic:
            payload = _reencode_header(header, payload)
        bodies = None
        if body is not None or is_long or self._is_semantic:
            whole = content.body() if body is None else body
            bodies = list(split_body(header.channel, whole, self.frame_max))
        if payload == header.payload and bodies is None:
            return AS_CAPTURED
        return ContentPlan(encode_part(HEADER, header.channel, payload), bodies)

    def _is_too_long(self, content: Content) -> bool:
        """Frames that were legal when captured and are not for the live server."""
        limit, was = self.frame_max, self.captured_frame_max
        return bool(limit) and any(
            len(part.payload) + FRAME_OVERHEAD > limit
            and (not was or len(part.payload) + FRAME_OVERHEAD <= was)
            for part in content.bodies
        )

    def _check_pending(self, content: Content) -> None:
        pending = self._rewriter.pending
        if not pending:
            return
        octets = [part.payload for part in (content.header, *content.bodies) if part is not None]
        for name in pending:
            if any(name.encode() in piece for piece in octets):
                raise PendingNameError(name)

    def _rename_header(self, header: Part) -> bytes:
        """reply-to by the rules for names; names that the server made wherever they stand."""
        properties = header.payload[HEADER_FIXED_SIZE:]
        if len(self._rewriter.learnt) != self._plain_since:
            self._plain.clear()
            self._plain_since = len(self._rewriter.learnt)
        if properties in self._plain:
            return header.payload
        payload = self._renamed_header(header)
        if payload == header.payload and len(self._plain) < MAX_REMEMBERED:
            self._plain.add(properties)
        return payload

    def _renamed_header(self, header: Part) -> bytes:
        payload = header.payload
        decoded = header.header()
        if decoded is None:
            return payload
        reply_to = decoded.as_dict().get("reply-to")
        if reply_to and self._rewriter.is_name(reply_to):
            live = live_name(self._rewriter, reply_to)
            payload = splice(DecodedMethod(_NO_METHOD, payload, decoded.properties),
                             {"reply-to": live})  # fmt: skip
            decoded = Part(header.vocabulary, header.side, HEADER, header.channel, payload).header()
        headers = decoded.as_dict().get("headers") if decoded is not None else None
        if decoded is None or not isinstance(headers, FieldTable) or headers.error is not None:
            return payload
        entries = tuple(self._rename_value(entry) for entry in headers)
        if entries == headers.entries:
            return payload
        return splice(DecodedMethod(_NO_METHOD, payload, decoded.properties),
                      {"headers": replace(headers, entries=entries)})  # fmt: skip

    def _rename_value(self, entry: Entry) -> Entry:
        value = entry.value
        octets = (
            value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else b""
        )
        live = self._rewriter.octets(octets)
        if live == octets:
            return entry
        return replace(entry, value=live if isinstance(value, bytes) else live.decode())


def _with_body_size(payload: bytes, size: int) -> bytes:
    return payload[:BODY_SIZE_AT] + size.to_bytes(8, "big") + payload[HEADER_FIXED_SIZE:]


def _reencode_header(header: Part, payload: bytes) -> bytes:
    decoded = Part(header.vocabulary, header.side, HEADER, header.channel, payload).header()
    if decoded is None:
        return payload
    values = {k: v for k, v in decoded.as_dict().items() if v is not None}
    return encode_header(
        decoded.class_id, decoded.body_size, values, header.vocabulary.dialect, decoded.weight
    )


_NO_METHOD: Any = None
