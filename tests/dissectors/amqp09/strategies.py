"""Hypothesis values for every argument type and field-table kind."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from dissectors.amqp09.field_tables import FieldArray, FieldTable, make_table
from dissectors.amqp09.field_types import TYPE_SYSTEMS
from dissectors.amqp09.schema import Argument
from dissectors.amqp09.values import Content

short_texts = st.text(max_size=20).filter(lambda text: len(text.encode()) < 256)
names = st.text(st.characters(codec="ascii"), max_size=10)


def unsigned(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1)


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def decimals(bits: int) -> st.SearchStrategy[Decimal]:
    return st.builds(
        lambda number, scale: Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale)),
        signed(bits),
        st.integers(0, 255),
    )


def latin(size: int) -> st.SearchStrategy[str]:
    return st.binary(min_size=size and 1, max_size=size or 30).map(lambda b: b.decode("iso8859-15"))


KINDS: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int8": signed(8), "int16": signed(16), "int32": signed(32), "int64": signed(64),
    "uint8": unsigned(8), "uint16": unsigned(16), "uint32": unsigned(32), "uint64": unsigned(64),
    "float": st.floats(width=32, allow_nan=False), "double": st.floats(allow_nan=False),
    "timestamp": unsigned(64), "datetime": signed(64),
    "decimal32": decimals(32), "decimal64": decimals(64),
    "shortstr": short_texts, "longstr": st.binary(max_size=40), "bytes": st.binary(max_size=40),
    "char": st.characters(max_codepoint=255), "char-latin": latin(1),
    "char-utf32": st.characters(exclude_categories=()),
    "uuid": st.uuids(), "void": st.none(),
    **{f"bin{n}": st.binary(min_size=n, max_size=n) for n in (1, 2, 4, 5, 8, 9, 16, 32, 64, 128)},
    **{f"vbin{8 * width}": st.binary(max_size=40) for width in (1, 2, 4)},
    **{f"str{8 * w}-latin": latin(0) for w in (1, 2, 4)},
    **{f"str{8 * w}-{e}": st.text(max_size=12) for w in (1, 2, 4)
       for e in ("utf8", "utf16", "utf32")},
}  # fmt: skip
NESTED = ("table", "array", "sequence", "typed-array")


def values(system: str, depth: int = 2) -> st.SearchStrategy[tuple[int, Any]]:
    """(type octet, value) of any kind of the system."""
    kinds = TYPE_SYSTEMS[system]
    flat = [st.tuples(st.just(tag), KINDS[k]) for tag, k in kinds.items() if k not in NESTED]
    if not depth:
        return st.one_of(flat)
    inner = values(system, depth - 1)
    nested: list[st.SearchStrategy[tuple[int, Any]]] = []
    for tag, kind in kinds.items():
        if kind == "table":
            nested.append(st.tuples(st.just(tag), tables(system, depth - 1)))
        elif kind == "typed-array":
            nested.append(st.tuples(st.just(tag), typed_arrays(system)))
        elif kind in NESTED:
            arrays = st.lists(inner, max_size=3).map(lambda items: FieldArray(tuple(items)))
            nested.append(st.tuples(st.just(tag), arrays))
    return st.one_of(*flat, *nested)


def typed_arrays(system: str) -> st.SearchStrategy[FieldArray]:
    """Elements of one type, which their array states once."""
    kinds = [(tag, k) for tag, k in TYPE_SYSTEMS[system].items() if k not in NESTED]

    def build(pair: tuple[int, str]) -> st.SearchStrategy[FieldArray]:
        tag, kind = pair
        return st.lists(KINDS[kind], max_size=4).map(
            lambda items: FieldArray(tuple((tag, item) for item in items), tag)
        )

    return st.sampled_from(kinds).flatmap(build)


def tables(system: str, depth: int = 2) -> st.SearchStrategy[FieldTable]:
    fields = st.lists(st.tuples(names, values(system, depth)), max_size=4)
    return fields.map(
        lambda items: make_table([(name, tag, value) for name, (tag, value) in items], system)
    )


def argument(argument: Argument, system: str) -> st.SearchStrategy[Any]:
    types: dict[str, st.SearchStrategy[Any]] = {
        "bit": st.booleans(),
        "octet": unsigned(8), "short": unsigned(16), "long": unsigned(32),
        "longlong": unsigned(64), "timestamp": unsigned(64),
        "shortstr": short_texts, "longstr": st.binary(max_size=40),
        "content": st.builds(Content, st.binary(max_size=40), st.booleans()),
    }  # fmt: skip
    return tables(system) if argument.type == "table" else types[argument.type]
