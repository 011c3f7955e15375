"""What a 1.0 performative says, for the comparison: flat, without what means nothing or the same.

A terminus or error is judged field by field (`source.address`, `error.condition`); a field that is
stated with the value that its absence has anyway counts as absent (1.0 §1.4); of names that
clients make up anew only the shape counts.
"""

from __future__ import annotations

import re
from typing import Any

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.definitions import PERFORMATIVES

_TYPE = "$type"
_NAMES = frozenset(row.name for row in PERFORMATIVES)
#: Runs that a client makes up: UUIDs, identifiers in hex, counters.
_MADE_UP = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{8,}|\d+")


def is_performative(name: str) -> bool:
    return name in _NAMES


def shape(name: str) -> str:
    """The name without what its maker invents anew each time."""
    return _MADE_UP.sub("#", name)


def flat_fields(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of one performative as rows of `frames` have them."""
    found = _flat("", name, fields)
    if name == "attach" and isinstance(found.get("name"), str):
        found["name"] = shape(found["name"])
    return found


def _flat(prefix: str, name: str, fields: dict[str, Any]) -> dict[str, Any]:
    definition = STANDARD.by_name.get(name)
    defaults = {} if definition is None else {f.name: _spelled(f) for f in definition.fields}
    found: dict[str, Any] = {}
    for key, value in fields.items():
        if key == _TYPE or value is None or value in defaults.get(key, ()):
            continue
        if isinstance(value, dict) and _TYPE in value:
            found |= _flat(f"{prefix}{key}.", str(value[_TYPE]), value)
            found.setdefault(f"{prefix}{key}", value[_TYPE])
        else:
            found[f"{prefix}{key}"] = value
    return found


def _spelled(field: Any) -> tuple[Any, ...]:
    """A default as a number and as the word that tables have for it."""
    restricted = STANDARD.restricted.get(field.type)
    word = None if restricted is None else restricted.choices.get(field.default)
    return (field.default,) if word is None else (field.default, word)
