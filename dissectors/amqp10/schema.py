"""The shape of a definitions table: fields, composite types, restricted types.

Only the words that the tables are written in; the tables of the published standard are in
`definitions.py`, the code that walks any such table in `composites.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: `Field.type` of a field that may hold any type (its archetype is in `requires`).
ANY = "*"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a composite type (1.0 §1.4): `default` is what its absence means."""

    name: str
    type: str
    default: Any = None
    mandatory: bool = False
    multiple: bool = False
    requires: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A described type: its two descriptors, what it wraps and, if composite, its fields.

    A described type that is not composite only puts its descriptor on a value of `source`.
    """

    name: str
    symbol: str
    code: int
    fields: tuple[Field, ...] = ()
    source: str = "list"
    provides: frozenset[str] = frozenset()
    is_composite: bool = True


@dataclass(frozen=True, slots=True)
class Restricted:
    """A name for a primitive type, with the values it is narrowed to if there are any."""

    name: str
    source: str
    choices: dict[Any, str] = field(default_factory=dict)


def composite(code: int, name: str, *fields: Field, provides: str = "") -> Definition:
    """A row for a described list of fields; its symbol is `amqp:<name>:list`."""
    return Definition(name, f"amqp:{name}:list", code, fields, "list", _words(provides))


def described(code: int, name: str, source: str, provides: str = "") -> Definition:
    """A row for a described value without fields; its symbol is `amqp:<name>:<source>`."""
    symbol = f"amqp:{name}:{source}"
    return Definition(name, symbol, code, (), source, _words(provides), is_composite=False)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())
