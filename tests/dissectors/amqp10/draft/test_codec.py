"""The draft's types and composites, both ways: one table of cases for decoding and encoding."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.amqp10.draft.definitions import DEFINITIONS, DOMAIN
from dissectors.amqp10.draft.types import LATER_CODES
from dissectors.amqp10.draft.vocabulary import DRAFT, DRAFT_NUMERIC
from dissectors.amqp10.types import Problem

#: (type, Python data, octets as the draft's table of encodings (Book II §2.5) gives them)
CASES = [
    ("null", None, "40"),
    ("boolean", True, "41"),
    ("boolean", False, "42"),
    ("ubyte", 7, "50 07"),
    ("ushort", 7, "60 0007"),
    ("uint", 7, "70 00000007"),
    ("ulong", 7, "80 0000000000000007"),
    ("int", -1, "71 ffffffff"),
    ("long", -1, "81 ffffffffffffffff"),
    ("timestamp", 1, "83 0000000000000001"),
    ("binary", b"\x01", "a0 01 01"),
    ("string", "é", "a1 02 c3a9"),
    ("symbol", "s", "a3 01 73"),
    ("list", (), "c0 01 00"),
    ("map", (), "c1 01 00"),
]
#: Read but never written: UTF-16, and arrays, which are one more encoding of lists.
READ_ONLY = [
    ("a2 04 00e9 0041", "éA"),
    ("b2 00000002 00e9", "é"),
    ("e0 06 02 70 00000001 00000002".replace("06", "0a"), [1, 2]),
    ("f0 0000000d 00000002 70 00000001 00000002", [1, 2]),
]


def octets(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


@pytest.mark.parametrize(("type_name", "data", "encoded"), CASES)
def test_both_ways(type_name, data, encoded):
    assert DRAFT.types.encode(DRAFT.types.make(type_name, data)) == octets(encoded)
    problems: list[Problem] = []
    value = DRAFT.types.decode(octets(encoded), 0, len(octets(encoded)), problems)
    assert (value.type, value.data, problems) == (type_name, data, [])


@pytest.mark.parametrize(("encoded", "plain"), READ_ONLY)
def test_read_only(encoded, plain):
    problems: list[Problem] = []
    value = DRAFT.types.decode(octets(encoded), 0, len(octets(encoded)), problems)
    assert (DRAFT.plain(value, problems), problems) == (plain, [])


def test_forms_of_the_published_version_are_never_written():
    values = [("uint", 0), ("uint", 1), ("ulong", 0), ("ulong", 1), ("list", ()), ("int", 1),
              ("long", 1), ("boolean", True)]  # fmt: skip
    for name, data in values:
        assert DRAFT.types.encode(DRAFT.types.make(name, data))[0] not in LATER_CODES


def test_descriptors_that_the_draft_prints():
    """Book III §8.3, Book IV §5, Book VI: (domain << 32) | id."""
    printed = {"linkage": 0x109, "filter": 0x20A, "sasl-mechanisms": 0x400, "sasl-challenge": 0x402}
    for name, number in printed.items():
        assert DRAFT.by_name[name].code == DOMAIN | number
        assert DRAFT.by_descriptor[DOMAIN | number] is DRAFT.by_name[name]
        assert DRAFT.by_descriptor[f"amqp:{name}:list"] is DRAFT.by_name[name]


_PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=20),
    "symbol": st.text(st.characters(codec="ascii"), min_size=1, max_size=20),
    "binary": st.binary(max_size=20),
    "boolean": st.booleans(),
    "ubyte": st.integers(0, 0xFF),
    "ushort": st.integers(0, 0xFFFF),
    "uint": st.integers(0, 0xFFFFFFFF),
    "ulong": st.integers(0, (1 << 64) - 1),
    "timestamp": st.integers(-(1 << 63), (1 << 63) - 1),
}


@st.composite
def composites(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A definition of the draft with values for some of its primitive fields."""
    definition = draw(st.sampled_from(DEFINITIONS))
    fields = {}
    for field in definition.fields:
        restricted = DRAFT.restricted.get(field.type)
        strategy = _PRIMITIVES.get(DRAFT.primitive(field.type))
        if restricted is not None and restricted.choices:
            strategy = st.sampled_from(list(restricted.choices))
        if strategy is None or not (field.mandatory or draw(st.booleans())):
            continue
        fields[field.name] = draw(st.lists(strategy, max_size=3) if field.multiple else strategy)
    return definition.name, fields


@settings(max_examples=200, deadline=None)
@given(composites(), st.booleans())
def test_composites_round_trip(composite, is_numeric):
    name, fields = composite
    vocabulary = DRAFT_NUMERIC if is_numeric else DRAFT
    encoded = vocabulary.types.encode(vocabulary.encode(name, fields))
    problems: list[Problem] = []
    value = DRAFT.types.decode(encoded, 0, len(encoded), problems)
    decoded = DRAFT.decode(value, problems)
    assert decoded is not None
    assert decoded.name == name
    assert {key: decoded[key] for key in fields} == fields
    missing = {p.code for p in problems} - {"composite10.missing_field"}
    assert not missing
    assert DRAFT.types.encode(value) == encoded
