"""Values → JSON for the `fields`, `properties` and `details` columns.

Deterministic and, but for encoding widths and the difference of string and symbol, without
loss: what JSON has no word for is an object with one `$type` key. Which fields are secret is
decided here too, because nothing that leaves this file may hold one.
"""

from __future__ import annotations

import json
import math
from typing import Any

from .composites import Composite, Vocabulary
from .schema import Definition, Field
from .types import Described, Malformed, Value

REDACTED = "<redacted>"

#: Fields that carry credentials, or what credentials can be guessed with (1.0 §5.3.3.2 to
#: §5.3.3.6).
SECRET_FIELDS = frozenset(
    (
        ("sasl-init", "initial-response"),
        ("sasl-challenge", "challenge"),
        ("sasl-response", "response"),
        ("sasl-outcome", "additional-data"),
    )
)

#: Longest string, symbol or binary shown in full; the rest is cut and its length told.
MAX_SHOWN = 4096


def to_json(vocabulary: Vocabulary, value: Value) -> str:
    """One value as compact JSON."""
    return dump(tree(vocabulary, value))


def dump(data: Any) -> str:
    """Plain data as compact JSON, in the order given."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def composite_tree(
    vocabulary: Vocabulary, composite: Composite, left_out: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The fields that were on the wire, by name, as JSON data, less those in `left_out`."""
    definition = composite.definition
    return {
        field.name: _field(vocabulary, definition, field, composite.wire[field.name])
        for field in definition.fields
        if field.name in composite.wire and field.name not in left_out
    }


def tree(vocabulary: Vocabulary, value: Value) -> Any:
    """A value as JSON data."""
    if isinstance(value, Malformed):
        return {"$malformed": value.problem, "raw": _cut(value.data.hex())}
    if isinstance(value, Described):
        return _described(vocabulary, value)
    if value.type == "map":
        return _map(vocabulary, value)
    if isinstance(value.data, tuple):
        return [tree(vocabulary, item) for item in value.data]
    return _PRIMITIVES.get(value.type, _as_is)(value)


def _described(vocabulary: Vocabulary, value: Described) -> Any:
    definition = vocabulary.definition_of(value)
    show = _FORMS.get(value.data.type)
    is_sound = not isinstance(value.data, Malformed)
    if show and is_sound and definition is not None and definition.is_composite:
        return {"$type": definition.name, **show(vocabulary, definition, value.data)}
    descriptor = tree(vocabulary, value.descriptor) if definition is None else definition.name
    return {"$descriptor": descriptor, "$value": tree(vocabulary, value.data)}


def _fields(vocabulary: Vocabulary, definition: Definition, items: Value) -> dict[str, Any]:
    if isinstance(items, Malformed):
        return {"$value": tree(vocabulary, items)}
    known = len(definition.fields)
    shown = {
        field.name: _field(vocabulary, definition, field, item)
        for field, item in zip(definition.fields, items.data, strict=False)
        if item.type != "null"
    }
    for position, item in enumerate(items.data[known:], known):
        shown[f"#{position}"] = tree(vocabulary, item)
    return shown


def _named_fields(vocabulary: Vocabulary, definition: Definition, pairs: Value) -> dict[str, Any]:
    """Fields of a composite that came as a map, as the 2010 draft allows."""
    known = {field.name: field for field in definition.fields}
    shown: dict[str, Any] = {}
    for key, item in pairs.data:
        name = _cut(key.data) if _is_text(key) else dump(tree(vocabulary, key))
        field = known.get(name)
        shown[name] = (
            tree(vocabulary, item) if field is None
            else _field(vocabulary, definition, field, item)
        )  # fmt: skip
    return shown


#: How the fields of a composite are shown, by the type that holds them.
_FORMS = {"list": _fields, "map": _named_fields}


def _field(vocabulary: Vocabulary, definition: Definition, field: Field, value: Value) -> Any:
    """Secrets hidden, restricted values by their names."""
    if (definition.name, field.name) in SECRET_FIELDS:
        return REDACTED
    if field.multiple and isinstance(value, Described) and value.descriptor.data is True:
        # The draft's way to say that there are several.
        return tree(vocabulary, value.data)
    restricted = vocabulary.restricted.get(field.type)
    if restricted is not None and value.type == restricted.source:
        return restricted.choices.get(value.data) or tree(vocabulary, value)
    return tree(vocabulary, value)


def _map(vocabulary: Vocabulary, value: Value) -> Any:
    """An object when every key is text and none comes twice, else a list of pairs."""
    keys = [key.data for key, _ in value.data if _is_text(key)]
    if len(keys) == len(set(keys)) == len(value.data):
        return {_cut(key.data): tree(vocabulary, item) for key, item in value.data}
    return {"$map": [[tree(vocabulary, k), tree(vocabulary, v)] for k, v in value.data]}


def _is_text(key: Value) -> bool:
    return key.type in ("string", "symbol") and not isinstance(key, Malformed)


def _as_is(value: Value) -> Any:
    return value.data


def _text(value: Value) -> Any:
    return _cut(value.data)


def _tagged_text(value: Value) -> Any:
    return {f"${value.type}": str(value.data)}


def _tagged(value: Value) -> Any:
    return {f"${value.type}": value.data}


def _binary(value: Value) -> Any:
    return {"$binary": _cut(value.data.hex())}


def _float(value: Value) -> Any:
    return value.data if math.isfinite(value.data) else _tagged_text(value)


def _cut(text: str) -> str:
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[:MAX_SHOWN]}… ({len(text)} in all)"


_PRIMITIVES = {
    "string": _text,
    "symbol": _text,
    "char": _tagged,
    "binary": _binary,
    "uuid": _tagged_text,
    "timestamp": _tagged,
    "float": _float,
    "double": _float,
    "decimal32": _tagged_text,
    "decimal64": _tagged_text,
    "decimal128": _tagged_text,
}
