"""Every method and property list of every dialect, and every field-table type, both ways."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.amqp09.dialects import RECIPES, load_dialect
from dissectors.amqp09.field_tables import decode_table, encode_table, make_table
from dissectors.amqp09.field_types import TYPE_SYSTEMS, preferred_systems
from dissectors.amqp09.headers import ContentHeader, decode_header, encode_header
from dissectors.amqp09.methods import decode_method, encode_method, splice
from dissectors.amqp09.schema import Dialect, Method
from tests.dissectors.amqp09 import strategies

METHODS = [
    pytest.param(name, vendor, method, id=f"{name}-{vendor or 'any'}-{method.full_name}")
    for name, vendor in RECIPES
    for method in load_dialect(name, vendor).methods.values()
]
PROPERTIES = [
    pytest.param(name, vendor, class_id, id=f"{name}-{vendor or 'any'}-{class_id}")
    for name, vendor in RECIPES
    for class_id in load_dialect(name, vendor).properties
]


def systems_of(name: str, vendor: str) -> tuple[str, ...]:
    # A table of one system may be read by another that comes first: only the first is exact.
    return preferred_systems(name, vendor)[:1]


@pytest.mark.parametrize(("name", "vendor", "method"), METHODS)
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_method(name: str, vendor: str, method: Method, data: st.DataObject) -> None:
    systems = systems_of(name, vendor)
    dialect = load_dialect(name, vendor)
    values = {a.name: data.draw(strategies.argument(a, systems[0])) for a in method.arguments}
    octets = encode_method(method, values)
    decoded = decode_method(octets, dialect, systems)
    assert decoded is not None
    assert decoded.method == method
    assert decoded.fields.error is None
    assert decoded.trailing == b""
    assert decoded.fields.as_dict() == values
    assert encode_method(method, decoded.fields.as_dict()) == octets
    assert splice(decoded, {}) == octets
    assert splice(decoded, values) == octets


@pytest.mark.parametrize(("name", "vendor", "class_id"), PROPERTIES)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_properties(name: str, vendor: str, class_id: int, data: st.DataObject) -> None:
    systems = systems_of(name, vendor)
    dialect: Dialect = load_dialect(name, vendor)
    defined = dialect.properties[class_id]
    chosen = data.draw(st.lists(st.sampled_from(defined), unique_by=lambda a: a.name))
    values: dict[str, Any] = {a.name: data.draw(strategies.argument(a, systems[0])) for a in chosen}
    size, weight = data.draw(strategies.unsigned(64)), data.draw(strategies.unsigned(16))
    octets = encode_header(class_id, size, values, dialect, weight)
    header = decode_header(octets, dialect, systems)
    assert isinstance(header, ContentHeader)
    assert (header.class_id, header.body_size, header.weight) == (class_id, size, weight)
    assert header.error is None
    assert not header.unknown_flags
    assert header.as_dict() == values


@pytest.mark.parametrize("system", TYPE_SYSTEMS)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_field_table(system: str, data: st.DataObject) -> None:
    table = data.draw(strategies.tables(system))
    assert table.error is None
    again = decode_table(encode_table(table), (system,))
    assert again == table
    assert encode_table(again) == table.raw


@pytest.mark.parametrize(
    ("system", "tag", "kind"),
    [(s, tag, kind) for s, kinds in TYPE_SYSTEMS.items() for tag, kind in kinds.items()
     if kind not in strategies.NESTED],
)  # fmt: skip
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_every_field_type(system: str, tag: int, kind: str, data: st.DataObject) -> None:
    value = data.draw(strategies.KINDS[kind])
    table = make_table([("x", tag, value)], system)
    (entry,) = table.entries
    assert (entry.value, entry.tag) == (value, tag)
    assert type(entry.value) is type(value)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(list(TYPE_SYSTEMS)))
def test_any_octets_as_a_table(octets: bytes, system: str) -> None:
    """Read or kept, never raised, and written back as they came."""
    table = decode_table(octets, (system,))
    if table.error is not None:
        assert encode_table(table) == octets


@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(list(RECIPES)))
def test_any_octets_as_a_method_or_header(octets: bytes, recipe: tuple[str, str]) -> None:
    dialect = load_dialect(*recipe)
    systems = preferred_systems(*recipe)
    decode_header(octets, dialect, systems)
    for method in dialect.methods.values():
        decoded = decode_method(method.key.to_bytes(4, "big") + octets, dialect, systems)
        assert decoded is not None
