"""Described values ↔ named fields (1.0 §1.4), walking a definitions table.

A `Vocabulary` is one version's table of described and restricted types over one type system.
Numeric descriptors of any width and symbolic ones name the same definition. A field that is
wrong becomes a problem and reads as absent; the rest of the composite is kept. Which frame or
section a composite may appear in is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .definitions import ARCHETYPES, DEFINITIONS, RESTRICTED
from .plain import guess
from .schema import ANY, Definition, Field, Restricted
from .types import FINAL, Array, Described, Malformed, Problem, TypeSystem, Value


class Composite:
    """A decoded composite: fields by name with defaults filled in, and the value it came from.

    Field values are plain Python (see `Vocabulary.plain`), nested composites are `Composite`.
    `wire` holds the value of each field that was on the wire and not null, byte range included.
    """

    __slots__ = ("definition", "fields", "value", "wire")

    def __init__(
        self,
        definition: Definition,
        value: Described,
        fields: dict[str, Any],
        wire: dict[str, Value],
    ) -> None:
        self.definition = definition
        self.value = value
        self.fields = fields
        self.wire = wire

    @property
    def name(self) -> str:
        return self.definition.name

    def __getitem__(self, field: str) -> Any:
        return self.fields[field]

    def __repr__(self) -> str:
        return f"<{self.name} {self.fields!r}>"


class Vocabulary:
    """One version's definitions, looked up by descriptor and by name."""

    def __init__(
        self,
        types: TypeSystem,
        definitions: Iterable[Definition],
        restricted: Iterable[Restricted],
        archetypes: Mapping[str, tuple[str, ...]],
    ) -> None:
        self.types = types
        self.by_descriptor: dict[int | str, Definition] = {}
        self.by_name: dict[str, Definition] = {}
        for definition in definitions:
            self.by_name[definition.name] = definition
            self.by_descriptor[definition.code] = definition
            self.by_descriptor[definition.symbol] = definition
        self.restricted = {row.name: row for row in restricted}
        self.archetypes = archetypes

    def definition_of(self, value: Value) -> Definition | None:
        """The definition that a described value names, or None if we do not know it."""
        if not isinstance(value, Described):
            return None
        descriptor = value.descriptor
        if descriptor.type in ("ulong", "symbol"):
            return self.by_descriptor.get(descriptor.data)
        return None

    def decode(self, value: Value, problems: list[Problem]) -> Composite | None:
        """A described list as a composite; None when the descriptor names no composite."""
        definition = self.definition_of(value)
        if definition is None or not definition.is_composite:
            return None
        assert isinstance(value, Described)
        items = self.items(definition, value, problems)
        if items is None:
            return None
        fields: dict[str, Any] = {}
        wire: dict[str, Value] = {}
        for field, item in zip(definition.fields, items, strict=True):
            if item is None:
                fields[field.name] = field.default
                if field.mandatory:
                    detail = f"{definition.name} without its mandatory {field.name}"
                    problems.append(Problem("composite10.missing_field", detail, value.start))
                continue
            wire[field.name] = item
            fields[field.name] = self._field(definition, field, item, problems)
        return Composite(definition, value, fields, wire)

    def items(
        self, definition: Definition, value: Described, problems: list[Problem]
    ) -> list[Value | None] | None:
        """One entry per defined field, None where absent or null."""
        inner = value.data
        if inner.type != "list" or isinstance(inner, Malformed):
            detail = f"{definition.name} is a list, not {inner.type}"
            problems.append(Problem("composite10.wrong_type", detail, value.start))
            return None
        items: list[Value | None] = [None if v.type == "null" else v for v in inner.data]
        missing = len(definition.fields) - len(items)
        if missing < 0:
            extra = [item for item in items[missing:] if item is not None]
            if extra:
                detail = f"{definition.name} has {len(definition.fields)} fields, not {len(items)}"
                problems.append(Problem("composite10.extra_field", detail, extra[0].start))
            return items[:missing]
        return items + [None] * missing

    def _field(
        self, definition: Definition, field: Field, value: Value, problems: list[Problem]
    ) -> Any:
        if isinstance(value, Malformed):
            return field.default
        accepted = self._accepted_types(field)
        values = self.multiple(value) if field.multiple else (value,)
        restricted = self.restricted.get(field.type)
        for one in values:
            if accepted and self._type_name(one) not in accepted:
                detail = (
                    f"{definition.name}.{field.name} is {one.type}, not {' or '.join(accepted)}"
                )
                problems.append(Problem("composite10.wrong_type", detail, value.start))
                return field.default
            if restricted and restricted.choices and one.data not in restricted.choices:
                detail = f"{definition.name}.{field.name} {one.data!r} is no {field.type}"
                problems.append(Problem("composite10.bad_choice", detail, value.start))
        plain = [self.plain(one, problems) for one in values]
        return plain if field.multiple else plain[0]

    def multiple(self, value: Value) -> tuple[Value, ...]:
        """1.0 §1.4: a multiple field is one value or an array of them."""
        return value.data if isinstance(value, Array) else (value,)

    def _accepted_types(self, field: Field) -> tuple[str, ...]:
        """The type names that may fill a field; empty means any."""
        if field.type == ANY:
            return self.archetypes.get(field.requires or "", ())
        return (self.primitive(field.type),)

    def primitive(self, type_name: str) -> str:
        """The primitive (or composite) type behind a restricted name."""
        restricted = self.restricted.get(type_name)
        return type_name if restricted is None else restricted.source

    def _type_name(self, value: Value) -> str:
        definition = self.definition_of(value)
        return value.type if definition is None else definition.name

    def plain(self, value: Value, problems: list[Problem]) -> Any:
        """Plain Python: primitives as they are, lists and arrays as lists, maps as dicts (a map
        with keys that Python cannot hash stays a list of pairs), known composites as
        `Composite`, described values with unknown descriptors untouched, malformed as None."""
        if isinstance(value, Malformed):
            return None
        if isinstance(value, Described):
            composite = self.decode(value, problems)
            return value if composite is None else composite
        if value.type == "map":
            pairs = [(self.plain(k, problems), self.plain(v, problems)) for k, v in value.data]
            try:
                return dict(pairs)
            except TypeError:
                return pairs
        if isinstance(value.data, tuple):
            return [self.plain(item, problems) for item in value.data]
        return value.data

    def encode(self, name: str, fields: Mapping[str, Any]) -> Described:
        """The composite of that name. Fields are plain Python or ready values; those not given
        are null, and trailing nulls are left out (1.0 §1.4)."""
        definition = self.by_name[name]
        unknown = set(fields) - {field.name for field in definition.fields}
        if unknown:
            raise KeyError(f"{name} has no field {', '.join(sorted(unknown))}")
        items = [self._encode_field(field, fields.get(field.name)) for field in definition.fields]
        while items and items[-1].type == "null":
            items.pop()
        return Described(self.descriptor(definition), self.types.make("list", tuple(items)))

    def descriptor(self, definition: Definition) -> Value:
        """The numeric descriptor, in its shortest form."""
        return self.types.make("ulong", definition.code)

    def _encode_field(self, field: Field, data: Any) -> Value:
        if isinstance(data, Value):
            return data
        if isinstance(data, Composite):
            return data.value
        if data is None:
            return self.types.make("null", None)
        type_name = self.primitive(field.type)
        if field.multiple and not isinstance(data, str):
            return self.types.make_array(type_name, data)
        if type_name == "map":
            return guess(self.types, data, key_type="symbol")
        if type_name == ANY:
            return guess(self.types, data)
        return self.types.make(type_name, data)


#: The published standard.
STANDARD = Vocabulary(FINAL, DEFINITIONS, RESTRICTED, ARCHETYPES)
