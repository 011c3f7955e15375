"""The type system (1.0 §1): every primitive in every encoding, both ways, and what is malformed."""

from __future__ import annotations

import random

import pytest

from dissectors.amqp10 import decode
from dissectors.amqp10.encode import EncodeError
from dissectors.amqp10.types import FINAL, Array, Described, Encoding, Malformed, Problem, Value
from tests.dissectors.amqp10.cases import MALFORMED, NESTED, PRIMITIVES
from tests.dissectors.amqp10.proton_oracle import tree_of_value


def read(octets: bytes) -> tuple[Value, list[Problem]]:
    problems: list[Problem] = []
    return FINAL.decode(octets, 0, len(octets), problems), problems


@pytest.mark.parametrize(("type_name", "data", "octets"), PRIMITIVES)
def test_primitive_reads_and_writes(type_name: str, data: object, octets: str) -> None:
    raw = bytes.fromhex(octets)
    value, problems = read(raw)
    assert not problems
    assert (value.type, value.start, value.end) == (type_name, 0, len(raw))
    assert value == Value(value.encoding, data)
    assert FINAL.encode(value) == raw


def test_the_cases_cover_every_row_of_the_constructor_table() -> None:
    codes = {int(octets[:2], 16) for _, _, octets in PRIMITIVES}
    codes |= {int(octets[:2], 16) for octets, _ in NESTED}
    assert {row.code for row in FINAL.encodings} <= codes


@pytest.mark.parametrize(("octets", "shape"), NESTED)
def test_nested_reads_and_writes(octets: str, shape: object) -> None:
    raw = bytes.fromhex(octets)
    value, problems = read(raw)
    assert not problems
    assert tree_of_value(value) == shape
    assert FINAL.encode(value) == raw


@pytest.mark.parametrize(("octets", "code", "is_bounded"), MALFORMED)
def test_malformed_is_kept_and_named(octets: str, code: str, is_bounded: bool) -> None:
    raw = bytes.fromhex(octets)
    value, problems = read(raw)
    assert isinstance(value, Malformed)
    assert [problem.code for problem in problems] == [code]
    assert (value.problem, value.is_bounded) == (code, is_bounded)
    assert FINAL.encode(value) == raw


@pytest.mark.parametrize(
    ("octets", "code"), [(o, c) for o, c, is_bounded in MALFORMED if is_bounded]
)
def test_neighbours_of_a_bounded_malformed_value_are_read(octets: str, code: str) -> None:
    bad = bytes.fromhex(octets)
    body = b"\x52\x01" + bad + b"\x52\x02"
    raw = bytes((0xC0, len(body) + 1, 3)) + body
    value, problems = read(raw)
    assert [problem.code for problem in problems] == [code]
    assert [item.type for item in (value.data[0], value.data[2])] == ["uint", "uint"]
    assert value.data[2].data == 2
    assert FINAL.encode(value) == raw


def test_an_unbounded_malformed_value_ends_its_compound() -> None:
    value, problems = read(bytes.fromhex("c0060352013f5202"))
    assert [item.type for item in value.data] == ["uint", "unknown"]
    assert {problem.code for problem in problems} == {
        "type10.unknown_constructor",
        "type10.bad_count",
    }


def test_duplicate_map_keys_are_named_and_kept() -> None:
    value, problems = read(bytes.fromhex("c10504 4341 4342".replace(" ", "")))
    assert [problem.code for problem in problems] == ["type10.duplicate_key"]
    assert len(value.data) == 2


def test_depth_is_limited() -> None:
    raw = b"\x45"
    for _ in range(decode.MAX_DEPTH + 10):
        raw = b"\xd0" + (len(raw) + 4).to_bytes(4, "big") + b"\x00\x00\x00\x01" + raw
    _, problems = read(raw)
    assert problems[0].code == "type10.too_deep"


def test_values_are_limited_even_when_they_need_no_octets() -> None:
    value, problems = read(bytes.fromhex("f000000005ffffffff40"))
    assert isinstance(value, Array)
    assert len(value.data) <= decode.MAX_VALUES + 1
    assert problems[0].code == "type10.too_many_values"


def test_problems_are_limited() -> None:
    body = b"\x4f" * 1000
    raw = b"\xd0" + (len(body) + 4).to_bytes(4, "big") + (1000).to_bytes(4, "big") + body
    _, problems = read(raw)
    assert len(problems) == decode.MAX_PROBLEMS + 1
    assert problems[-1].code == "type10.more_problems"


def test_random_octets_never_raise_and_read_the_same_again() -> None:
    chance = random.Random(10)
    codes = [row.code for row in FINAL.encodings] + [0]
    for _ in range(4000):
        raw = bytes(
            chance.choice(codes) if chance.random() < 0.5 else chance.randrange(256)
            for _ in range(chance.randrange(1, 40))
        )
        value, _ = read(raw)
        again, _ = read(FINAL.encode(value))
        assert again == value, raw.hex()


def test_a_value_that_outgrows_its_encoding_takes_a_wider_one() -> None:
    small, _ = read(bytes.fromhex("5201"))
    assert FINAL.encode(Value(small.encoding, 256)).hex() == "7000000100"
    text, _ = read(bytes.fromhex("a10161"))
    assert FINAL.encode(Value(text.encoding, "x" * 256))[:5].hex() == "b100000100"
    empty, _ = read(bytes.fromhex("45"))
    assert FINAL.encode(Value(empty.encoding, (small,))).hex() == "c003015201"


def test_what_no_encoding_holds_is_refused() -> None:
    for type_name, data in (("ubyte", 256), ("symbol", "é"), ("uint", -1), ("char", "ab")):
        with pytest.raises(EncodeError):
            FINAL.make(type_name, data)


def test_byte_ranges_let_a_field_be_spliced() -> None:
    raw = bytes.fromhex("0053 14 c00d05 52 01 70 00000007 a0 01 aa 43 42".replace(" ", ""))
    value, problems = read(raw)
    assert not problems
    assert isinstance(value, Described)
    field = value.data.data[1]
    assert raw[field.start : field.end].hex() == "7000000007"
    spliced = raw[: field.start] + bytes.fromhex("7000000008") + raw[field.end :]
    assert read(spliced)[0].data.data[1].data == 8


def test_another_version_extends_the_table_by_rows() -> None:
    utf16 = Encoding(
        0xA2,
        "string",
        "str8-utf16",
        "variable",
        1,
        lambda raw: raw.decode("utf-16-be"),
        lambda text: text.encode("utf-16-be"),
    )
    types = FINAL.without([0x53]).extended([utf16])
    problems: list[Problem] = []
    value = types.decode(bytes.fromhex("a2020061"), 0, 4, problems)
    assert (value.type, value.data, problems) == ("string", "a", [])
    assert types.encode(value).hex() == "a2020061"
    assert types.make("ulong", 1).encoding.code == 0x80
