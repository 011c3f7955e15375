"""Described values ↔ named fields in the draft's way (Book II §3).

A composite is a described list or a described map, and `multiple` is a list described by the
boolean true. All else is the final version's `Vocabulary`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..composites import Composite, Vocabulary
from ..plain import guess
from ..schema import ANY, Definition, Field
from ..types import Described, Malformed, Problem, Value
from .definitions import DEFINITIONS, RESTRICTED, SYMBOL_ALIASES
from .types import DRAFT_TYPES

#: The draft's text names a type for few fields, so a number may come in any unsigned width and
#: text as string or symbol.
_ALIKE = (
    frozenset(("ubyte", "ushort", "uint", "ulong")),
    frozenset(("string", "symbol")),
)

_LIMITS = {"ubyte": 0xFF, "ushort": 0xFFFF, "uint": 0xFFFF_FFFF}


class DraftVocabulary(Vocabulary):
    """The draft's definitions, looked up by number, by symbol in either form, and by name.

    Writes symbolic descriptors, which draft peers sent, unless it is told to write numbers.
    """

    def __init__(self, is_numeric: bool = False) -> None:
        super().__init__(DRAFT_TYPES, DEFINITIONS, RESTRICTED, {})
        self._is_numeric = is_numeric
        for definition in DEFINITIONS:
            for form in ("list", "map"):
                self.by_descriptor[f"amqp:{definition.name}:{form}"] = definition
        for symbol, name in SYMBOL_ALIASES.items():
            self.by_descriptor[symbol] = self.by_name[name]

    def items(
        self, definition: Definition, value: Described, problems: list[Problem]
    ) -> list[Value | None] | None:
        """One entry per defined field, None where absent or null, from either encoding."""
        inner = value.data
        if inner.type != "map" or isinstance(inner, Malformed):
            return super().items(definition, value, problems)
        found: dict[str, Value] = {}
        names = {field.name for field in definition.fields}
        for key, item in inner.data:
            if isinstance(key.data, str) and key.data in names:
                if item.type != "null":
                    found[key.data] = item
            else:
                detail = f"{definition.name} has no field {key.data!r}"
                problems.append(Problem("composite10.extra_field", detail, key.start))
        return [found.get(field.name) for field in definition.fields]

    def multiple(self, value: Value) -> tuple[Value, ...]:
        """Book II §3: one value, or several in a list described by true."""
        if isinstance(value, Described) and value.descriptor.data is True:
            inner = value.data
            return inner.data if inner.type == "list" and _is_sound(inner) else ()
        return (value,)

    def _field(
        self, definition: Definition, field: Field, value: Value, problems: list[Problem]
    ) -> Any:
        """A number may come wider than its field, but must not be larger."""
        data = super()._field(definition, field, value, problems)
        limit = _LIMITS.get(self.primitive(field.type))
        if limit is not None and isinstance(data, int) and data > limit:
            detail = f"{definition.name}.{field.name} {data} is over {limit}"
            problems.append(Problem("composite10.bad_choice", detail, value.start))
            return field.default
        return data

    def _accepted_types(self, field: Field) -> tuple[str, ...]:
        accepted = super()._accepted_types(field)
        for alike in _ALIKE:
            if alike.intersection(accepted):
                return tuple(sorted(alike))
        return accepted

    def encode(self, name: str, fields: Mapping[str, Any]) -> Described:
        """The composite of that name in the form its definition gives."""
        definition = self.by_name[name]
        if definition.source == "list":
            return super().encode(name, fields)
        known = {field.name: field for field in definition.fields}
        pairs = tuple(
            (self.types.make("symbol", key), self._encode_field(known[key], data))
            for key, data in fields.items()
            if data is not None
        )
        return Described(self.descriptor(definition), self.types.make("map", pairs))

    def descriptor(self, definition: Definition) -> Value:
        if self._is_numeric:
            return self.types.make("ulong", definition.code)
        return self.types.make("symbol", definition.symbol)

    def _encode_field(self, field: Field, data: Any) -> Value:
        if field.multiple and isinstance(data, (list, tuple)):
            items = tuple(self._encode_one(field, item) for item in data)
            return Described(self.types.make("boolean", True), self.types.make("list", items))
        return self._encode_one(field, data)

    def _encode_one(self, field: Field, data: Any) -> Value:
        if isinstance(data, Value):
            return data
        if isinstance(data, Composite):
            return data.value
        if data is None:
            return self.types.make("null", None)
        type_name = self.primitive(field.type)
        if type_name == "map":
            return guess(self.types, data, key_type="symbol")
        if type_name == ANY:
            return guess(self.types, data)
        return self.types.make(type_name, data)


def _is_sound(value: Value) -> bool:
    return not isinstance(value, Malformed)


#: The draft, and the draft as a peer that writes numeric descriptors spells it.
DRAFT = DraftVocabulary()
DRAFT_NUMERIC = DraftVocabulary(is_numeric=True)
