"""What our Parquet encoder writes, Arrow's reader reads as the rows that were put in.

Every test runs with the loops as they are and as plain Python.
"""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors import parquet
from dissectors.core.arrow import to_arrow
from dissectors.core.rows import Batch, RowBuffer
from dissectors.parquet import file as parquet_file
from dissectors.parquet import pages
from dissectors.parquet.file import ParquetFile
from dissectors.tables import Column, Table

MIN_INT64, MAX_INT64 = -(2**63) + 1, 2**63 - 1  # the very least one means absent in a cell
MIN_INT32, MAX_INT32 = -(2**31), 2**31 - 1
KINDS = {
    "number": "int64",
    "small": "int32",
    "flag": "bool",
    "share": "ratio",
    "word": "word",
    "text": "text",
    "string": "string",
    "digest": "hash",
    "octets": "bytes",
}
TABLE = Table("all", "every kind", tuple(Column(name, kind, "") for name, kind in KINDS.items()))


# In the order in which they import one another.
LOOPS = ("packing", "codes", "cells", "plain")


def as_plain_python(name: str) -> ModuleType:
    path = str(Path(pages.__file__).with_name(f"{name}.py"))
    loader = SourceFileLoader(f"{name}_as_plain_python", path)
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(params=["as installed", "plain Python"], autouse=True, scope="module")
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "plain Python":
            for name in LOOPS:
                module = as_plain_python(name)
                patch.setitem(sys.modules, f"{parquet.__name__}.{name}", module)
                patch.setattr(pages, name, module)
        yield


def batches_of(rows: Sequence[dict[str, Any]], size: int = 1 << 16) -> list[Batch]:
    buffer = RowBuffer(TABLE, lambda _buffer: None)
    batches = []
    for start in range(0, len(rows), size):
        for row in rows[start : start + size]:
            buffer.append(row)
        batches.append(buffer.take())
    return batches


def write(batches: Sequence[Batch]) -> pq.ParquetFile:
    out = io.BytesIO()
    writer = ParquetFile(out, TABLE, {"note": "größer"})
    for batch in batches:
        writer.write(batch)
    writer.close()
    return pq.ParquetFile(io.BytesIO(out.getvalue()))


def check(rows: Sequence[dict[str, Any]], size: int = 1 << 16) -> pq.ParquetFile:
    batches = batches_of(rows, size)
    by_arrow = [to_arrow(batch) for batch in batches]
    file = write(batches)
    read = file.read()
    assert read.num_rows == len(rows)
    for name in KINDS:
        expected = [value for batch in by_arrow for value in batch.column(name).to_pylist()]
        assert read.column(name).to_pylist() == expected, name
    return file


def column(name: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


ANY_ROW = st.fixed_dictionaries(
    {
        "number": st.none() | st.integers(MIN_INT64, MAX_INT64) | st.integers(-5, 5),
        "small": st.none() | st.integers(MIN_INT32, MAX_INT32),
        "flag": st.none() | st.booleans(),
        "share": st.none() | st.sampled_from([0.0, 0.25, 1.0]),
        "word": st.none() | st.sampled_from(["c2s", "s2c", "unknown"]),
        "text": st.none() | st.text(max_size=4),
        "string": st.none() | st.text(max_size=6),
        "digest": st.none() | st.integers(0, 2**64 - 1).filter(lambda n: n != 2**63),
        "octets": st.none() | st.binary(max_size=5),
    }
)


@given(st.lists(ANY_ROW, max_size=40), st.integers(1, 17))
def test_any_rows_in_any_batches(rows: list[dict[str, Any]], size: int) -> None:
    check(rows, size)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 32, 33, 127, 128, 129, 130, 257, 1000])
@pytest.mark.parametrize(
    "value",
    [
        lambda i: 1_700_000_000_000_000_000 + 977 * i,
        lambda i: 5,
        lambda i: MIN_INT64 if i % 2 else MAX_INT64,
        lambda i: (i * 0x9E3779B97F4A7C15) % 2**63,
        lambda i: None if i % 3 else -i,
        lambda i: 2**31 if i == 100 else 0,
        lambda i: 2**32 - 1 if i % 2 else 0,
    ],
    ids=["rising", "constant", "extremes", "wild", "with nulls", "one jump", "32 bits"],
)
def test_numbers(value: Callable[[int], int | None], count: int) -> None:
    check(column("number", [value(i) for i in range(count)]))


@pytest.mark.parametrize("values", [[MIN_INT32, MAX_INT32] * 70, [MAX_INT32, 0, MIN_INT32]])
def test_small_numbers_wrap_around_in_32_bits(values: list[int]) -> None:
    check(column("small", values))


@pytest.mark.parametrize("distinct", [1, 2, 3, 255, 256, 257, 3000])
@pytest.mark.parametrize("run", [1, 7, 8, 15, 16, 17, 40])
def test_texts_in_runs(distinct: int, run: int) -> None:
    rng = random.Random(distinct * run)
    texts: list[str] = []
    while len(texts) < 700:
        texts += [f"text {rng.randrange(distinct)}"] * rng.randint(1, run)
    check(column("text", texts), 300)


def test_texts_that_hardly_repeat_stand_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"größer {i}" for i in range(pages.MAX_NEW_TEXTS + 5)]
    file = check(column("text", ["a", "b"] * 20 + many + ["b", None, "a"]), 40 + len(many))
    place = list(KINDS).index("text")
    encodings = file.metadata.row_group(0).column(place).encodings
    assert {"DELTA_LENGTH_BYTE_ARRAY", "RLE_DICTIONARY"} <= set(encodings)
    monkeypatch.setattr(pages, "MAX_DICTIONARY_BYTES", 50)
    check(column("text", many[:60]), 10)


def test_row_groups_bounds_and_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_file, "ROWS_PER_GROUP", 100)
    rows = [{"number": i - 50, "word": "c2s", "string": str(i)} for i in range(250)]
    file = check(rows, 60)
    meta = file.metadata
    assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [120, 120, 10]
    statistics = meta.row_group(1).column(0).statistics
    assert (statistics.min, statistics.max, statistics.null_count) == (70, 189, 0)
    assert meta.row_group(0).column(1).statistics.null_count == 120
    assert meta.metadata[b"note"] == "größer".encode()
    column = meta.row_group(0).column(list(KINDS).index("word"))
    assert column.dictionary_page_offset < column.data_page_offset


def test_what_does_not_shrink_is_not_compressed() -> None:
    rng = random.Random(3)
    rows = [{"octets": rng.randbytes(40), "string": "again and again"} for _ in range(100)]
    meta = check(rows).metadata.row_group(0)
    places = list(KINDS)
    assert meta.column(places.index("octets")).compression == "UNCOMPRESSED"
    assert meta.column(places.index("string")).compression == "ZSTD"


def test_a_file_without_rows_has_the_columns() -> None:
    file = write([])
    assert file.schema_arrow.names == list(KINDS)
    assert file.schema_arrow.field("digest").type == pa.string()
    assert file.schema_arrow.field("octets").type == pa.binary()
    assert file.read().num_rows == 0


def test_rows_of_another_table_are_refused() -> None:
    other = Table("other", "", TABLE.columns)
    with pytest.raises(ValueError, match="rows of other are not for all"):
        ParquetFile(io.BytesIO(), TABLE, {}).write(RowBuffer(other, None).take())
