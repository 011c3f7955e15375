"""Conditions of ``--where``: SQLite, which speaks the same words, says which rows they mean."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.where import MAX_DEPTH, WhereError, parse_where
from dissectors.core.arrow import ARROW_TYPES
from dissectors.tables import TABLES, Column, Table

TABLE = Table(
    "things",
    "of every kind",
    (
        Column("number", "int64", ""),
        Column("small", "int32", ""),
        Column("share", "ratio", ""),
        Column("word", "word", ""),
        Column("words", "string", ""),
        Column("is_so", "bool", ""),
        Column("octets", "bytes", ""),
    ),
)
TEXTS = ("", "a", "A", "ab", "a%b", "a_b", "it's", 'say "x"', "back\\slash", "päron", "and")
NUMBERS = (-(2**63), -7, 0, 1, 2, 100, 2**31, 2**63 - 1)
ROWS = [
    {
        "number": None if i % 7 == 0 else NUMBERS[i % len(NUMBERS)],
        "small": None if i % 5 == 1 else i % 4,
        "share": None if i % 6 == 2 else (i % 5) / 4,
        "word": None if i % 9 == 3 else TEXTS[i % len(TEXTS)],
        "words": None if i % 8 == 4 else TEXTS[(i * 3) % len(TEXTS)],
        "is_so": None if i % 4 == 3 else i % 3 == 0,
        "octets": None if i % 2 else b"\0x",
    }
    for i in range(200)
]


@pytest.fixture(scope="module")
def batch() -> pa.RecordBatch:
    schema = pa.schema([pa.field(c.name, ARROW_TYPES[c.kind]) for c in TABLE.columns])
    plain = pa.schema([
        f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in schema
    ])  # fmt: skip
    columns = pa.RecordBatch.from_pylist(ROWS, plain).columns
    arrays = [
        c.dictionary_encode() if pa.types.is_dictionary(f.type) else c
        for c, f in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@pytest.fixture(scope="module")
def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("pragma case_sensitive_like = on")
    connection.execute("create table things (id, number, small, share, word, words, is_so, octets)")
    for number, row in enumerate(ROWS):
        connection.execute("insert into things values (?,?,?,?,?,?,?,?)", (number, *row.values()))
    return connection


def ours(text: str, batch: pa.RecordBatch) -> list[int]:
    found = parse_where(text, TABLE)(batch).to_pylist()
    return [number for number, is_true in enumerate(found) if is_true]


def theirs(text: str, database: sqlite3.Connection) -> list[int]:
    return [row[0] for row in database.execute(f"select id from things where {text} order by id")]


@pytest.mark.parametrize(
    "text",
    [
        "number = 100",
        "number == 100 or number <> 100",
        "number != -7 and small < 3",
        "number >= 2147483648",
        "number > 9223372036854775806",
        "share > 0.25 and share < 1",
        "share in (0, 0.75)",
        "number > small",
        "word = words",
        "word < 'ab'",
        "word = 'it''s'",
        "words in ('a', 'A', 'päron')",
        "number not in (1, 2, 100)",
        "word like 'a%'",
        "word like 'a_b'",
        "word not like '%\\%'",
        "words like '%\"x\"'",
        "word is null",
        "octets is not null",
        "is_so",
        "not is_so",
        "is_so = false or is_so is null",
        "is_so != true",
        "not (number = 1 or small = 2) and word is not null",
        "number = 1 or small = 2 and word = 'a'",
        "not not is_so",
        "number IS NULL AND NOT is_so",
        "( ( word='a' ) )and(small<3)",
    ],
)
def test_what_sqlite_says(text: str, batch: pa.RecordBatch, database: sqlite3.Connection) -> None:
    found = ours(text, batch)
    assert found == theirs(text, database)
    assert 0 < len(found) < len(ROWS) or " or number <> " in text


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


numbers = st.one_of(st.sampled_from(NUMBERS), st.integers(-3, 120)).map(str)
texts = st.sampled_from(TEXTS).map(quoted)
signs = st.sampled_from(("=", "==", "!=", "<>", "<", "<=", ">", ">="))
nots = st.sampled_from(("", "not "))


def lists(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, min_size=1, max_size=4).map(", ".join)


predicates = st.one_of(
    st.builds("{} {} {}".format, st.sampled_from(("number", "small")), signs, numbers),
    st.builds("share {} {}".format, signs, st.sampled_from(("0", "0.5", "0.75", "1", "-1.5"))),
    st.builds("{} {} {}".format, st.sampled_from(("word", "words")), signs, texts),
    st.builds("number {} small".format, signs),
    st.builds("word {} words".format, signs),
    st.builds("number {}in ({})".format, nots, lists(numbers)),
    st.builds("words {}in ({})".format, nots, lists(texts)),
    st.builds("word {}like {}".format, nots, texts),
    st.builds("{} is {}null".format, st.sampled_from(TABLE.names()), nots),
    st.sampled_from(("is_so = true", "is_so != true", "is_so = false", "is_so <> false")),
    st.just("is_so"),
)
conditions = st.recursive(
    predicates,
    lambda inner: st.one_of(
        st.builds("{} and {}".format, inner, inner),
        st.builds("{} or {}".format, inner, inner),
        st.builds("({})".format, inner),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=12,
)


@given(conditions)
def test_any_condition_means_what_sqlite_says(
    batch: pa.RecordBatch, database: sqlite3.Connection, text: str
) -> None:
    assert ours(text, batch) == theirs(text, database)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense = 1", "things has no column 'nonsense'; it has number, small, share, word"),
        ("number = nonsense", "things has no column 'nonsense'"),
        ("number = '1'", "number is a whole number and cannot be compared with '1'"),
        ("number < 1.5", "number is a whole number and cannot be compared with 1.5"),
        ("number < share", "number is a whole number and cannot be compared with share, which"),
        ("word = 1", "word is a text and cannot be compared with 1"),
        (
            "word = number",
            "word is a text and cannot be compared with number, which is a whole number",
        ),
        ("is_so = 1", "is_so is true or false and cannot be compared with 1"),
        ("is_so < true", "is_so is true or false: it has no <"),
        ("octets = 'x'", "octets is octets: it has no ="),
        ("number like '1%'", "number is a whole number: like is for texts"),
        ("word in ('a', 1)", "word is a text and cannot be compared with 1"),
        ("number > 9223372036854775808", "9223372036854775808 is beyond 64 bits"),
        ("", "expected a column at the beginning, found the end"),
        ("number", "expected a comparison with number after number, found the end"),
        ("number >", "expected a whole number for number after >, found the end"),
        ("1 = number", "expected a column at the beginning, found 1"),
        ("number = null", "expected a whole number for number after =, found null"),
        ("number is", "expected null after is, found the end"),
        ("number not 1", "expected in or like after not, found 1"),
        ("word in ()", "expected a text for word after (, found )"),
        ("word in 'a'", "expected ( after in, found 'a'"),
        ("word like 'a", '"\'a" cannot be read'),
        ("(is_so", "expected ) after is_so, found the end"),
        ("is_so)", "expected and, or, or the end after is_so, found )"),
        ("is_so is_so", "expected and, or, or the end after is_so, found is_so"),
        ("number = 1; drop table things", "'; drop table things' cannot be read"),
        ("__import__('os')", "things has no column '__import__'"),
        ("number = 0x10", "'0x10' cannot be read"),
        ("(" * 100_000, f"more than {MAX_DEPTH} conditions inside each other"),
        ("not " * 100_000 + "is_so", f"more than {MAX_DEPTH} conditions inside each other"),
    ],
)
def test_mistakes_are_said_in_one_line(text: str, said: str) -> None:
    with pytest.raises(WhereError) as caught:
        parse_where(text, TABLE)
    assert str(caught.value).startswith(f"--where: {said}")
    assert "\n" not in str(caught.value)


def test_a_long_condition_is_no_deep_one(batch: pa.RecordBatch) -> None:
    text = " or ".join(f"number = {number}" for number in range(5000))
    assert ours(text, batch) == ours("number >= 0 and number < 5000", batch)


def test_the_conditions_of_the_docs_can_be_asked() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
    section = page.split("## A quick look\n")[1].split("\n## ")[0]
    examples = [
        text
        for line in section.splitlines()
        if line.startswith("| `") and "…" not in line
        for text in line.split("|")[1].split("`")[1::2]
    ]
    assert len(examples) == 6
    for text in examples:
        table = "frames" if text.startswith(("size_bytes", "name")) else "transfers"
        parse_where(text, TABLES[table])
