"""Plain Python → values, where no definition names the type: map entries, bodies, filters.

The other direction needs no guess and lives with the composites.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from .types import TypeSystem, Value

#: The AMQP type that a Python class most naturally is; bool before int, which it derives from.
_TYPES: tuple[tuple[type, str], ...] = (
    (type(None), "null"),
    (bool, "boolean"),
    (int, "long"),
    (float, "double"),
    (str, "string"),
    (bytes, "binary"),
    (UUID, "uuid"),
    (Decimal, "decimal128"),
)


def guess(types: TypeSystem, data: Any, key_type: str = "string") -> Value:
    """The value that plain Python data most naturally is. String keys of maps take `key_type`:
    symbols in `fields` and annotations (1.0 §2.8.14, §3.2.10), strings elsewhere."""
    if isinstance(data, Value):
        return data
    if isinstance(data, dict):
        pairs = tuple(
            (
                types.make(key_type, key) if isinstance(key, str) else guess(types, key),
                guess(types, value),
            )
            for key, value in data.items()
        )
        return types.make("map", pairs)
    if isinstance(data, (list, tuple)):
        return types.make("list", tuple(guess(types, item) for item in data))
    for python_type, name in _TYPES:
        if isinstance(data, python_type):
            return types.make(name, data)
    raise TypeError(f"no AMQP type for {type(data).__name__}")
