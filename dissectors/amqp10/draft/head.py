"""Header, properties and footer of a draft message (Book IV §2.2 to §2.4) into its row.

The draft lists no defaults, so what was not said stays null."""

from __future__ import annotations

from typing import Any

from dissectors.amqp10.head import HeadReader
from dissectors.core.rows import cell_of
from dissectors.tables import TRANSFERS

from ..meaning import text_of
from ..render import composite_tree, dump
from .vocabulary import DRAFT

#: field → column, for text and for numbers.
_TEXTS = {
    name: cell_of(TRANSFERS, column)
    for name, column in (
        ("message-id", "message_id"),
        ("user-id", "user_id"),
        ("to", "to"),
        ("subject", "subject"),
        ("reply-to", "reply_to"),
        ("correlation-id", "correlation_id"),
        ("content-type", "content_type"),
    )
}
_NUMBERS = {
    name: cell_of(TRANSFERS, column)
    for name, column in (("durable", "is_durable"), ("priority", "priority"), ("ttl", "ttl_ms"))
}
_IS_REDELIVERED = cell_of(TRANSFERS, "is_redelivered")
_PROPERTIES = cell_of(TRANSFERS, "properties")
#: Cells of numbers hold 64 bits with a sign.
_MAX_CELL = (1 << 63) - 1


class DraftHeadReader(HeadReader):
    """Reads heads into rows."""

    def read(self, rows: Any, base: int, head: bytes) -> int:
        at, rest = 0, {}
        while at < len(head):
            value = DRAFT.types.decode(head, at, len(head), [])
            at = max(value.end, at + 1)
            section = DRAFT.decode(value, [])
            if section is None or "section" not in section.definition.provides:
                continue
            placed = self._place(rows, base, section.fields)
            if section.name == "header":
                self._count_failures(rows, base, section.fields)
            left = composite_tree(DRAFT, section, placed)
            if left:
                rest[section.name] = left
        if rest:
            rows.put(base, _PROPERTIES, dump(rest))
        return 0

    @staticmethod
    def _place(rows: Any, base: int, fields: dict[str, Any]) -> frozenset[str]:
        """Fill the columns; the names of the fields that they hold."""
        placed = set()
        for name, column in _NUMBERS.items():
            number = fields.get(name)
            if number is not None and number <= _MAX_CELL:
                rows.cells[base + column] = int(number)
                placed.add(name)
        for name, column in _TEXTS.items():
            text = _text(fields.get(name))
            if text is not None:
                rows.put(base, column, text)
                placed.add(name)
        return frozenset(placed)

    @staticmethod
    def _count_failures(rows: Any, base: int, fields: dict[str, Any]) -> None:
        """Former acquirers and failed deliveries tell that a message has been sent before."""
        counts = [fields[name] for name in ("former-acquirers", "delivery-failures")]
        if any(count is not None for count in counts):
            rows.cells[base + _IS_REDELIVERED] = int(any(counts))


def _text(data: Any) -> str | None:
    """Octets as their UTF-8 if they are some, else hex."""
    if isinstance(data, bytes):
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.hex()
    return text_of(data)
