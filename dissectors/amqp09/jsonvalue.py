"""Decoded values as JSON, the same text for the same octets.

Numbers stay numbers, decimals become text with their scale, octets become text when they are
printable UTF-8 and `{"$hex": …}` when not. A table that could not be read is its octets and the
reason. Numbers that JSON has no word for (NaN, infinities) are text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any
from uuid import UUID

from .field_tables import FieldArray, FieldTable
from .values import Content


def to_json(value: Any) -> Any:
    """A decoded value as something `json` writes."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bytes):
        return _octets(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, FieldTable):
        return _table(value)
    if isinstance(value, FieldArray):
        return [to_json(item) for item in value.values]
    if isinstance(value, Content):
        return {"$reference": _octets(value.value)} if value.is_reference else _octets(value.value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def dumps(fields: Iterable[tuple[str, Any]]) -> str | None:
    """Named values as one line of JSON; None when there are none."""
    items = {name: to_json(value) for name, value in fields}
    return json.dumps(items, ensure_ascii=False, separators=(",", ":")) if items else None


def _octets(value: bytes) -> Any:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return {"$hex": value.hex()}
    return text if text.isprintable() else {"$hex": value.hex()}


def _text(value: str) -> Any:
    """Text with octets that are no UTF-8 (kept as surrogates) is shown as octets."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return (
            {"$hex": value.encode("utf-8", "surrogatepass").hex()}
            if _is_wide(value)
            else {"$hex": value.encode("utf-8", "surrogateescape").hex()}
        )
    return value


def _is_wide(value: str) -> bool:
    """Lone surrogates out of UTF-16 or UTF-32 text, not escaped octets."""
    return any("\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in value)


def _table(table: FieldTable) -> Any:
    if table.error is not None:
        return {"$hex": table.raw.hex(), "$error": table.error}
    result: dict[str, Any] = {}
    duplicates = []
    for entry in table.entries:
        name = entry.name
        if not name.isprintable():
            name = name.encode("unicode_escape").decode("ascii")
        if name in result:
            duplicates.append([name, to_json(entry.value)])
        else:
            result[name] = to_json(entry.value)
    if duplicates:
        result["$duplicates"] = duplicates
    return result
