"""Cells read without Arrow are what Arrow makes of them."""

from __future__ import annotations

import pytest

from dissectors.core.arrow import to_arrow
from dissectors.core.reading import read_rows
from dissectors.core.rows import Batch, RowBuffer
from dissectors.options import Options
from dissectors.pipeline import Dissection
from dissectors.tables import KINDS, TABLES, Column, Table
from tests.samples import sample

# Values of all types, in all families, and a capture full of problems.
SAMPLES = ["07", "19a", "23e", "28"]
EVERY_KIND = Table("kinds", "", tuple(Column(kind, kind, "") for kind in KINDS))
VALUES = {
    "int64": [0, -1, 2**63 - 1],
    "int32": [0, -1, 2**31 - 1],
    "bool": [True, False, True],
    "ratio": [0.0, 0.123456, 1.0],
    "word": ["publish", "deliver", "publish"],
    "text": ["größer", b"cut \xff".decode("utf-8", "surrogateescape"), ""],
    "string": ["", "鍵", b"cut \xff".decode("utf-8", "surrogateescape")],
    "hash": [0, 0xFEDCBA9876543210, 2**63 + 1],
    "bytes": [b"", b"\xff\x00", b"long " * 1000],
}


def every_kind() -> Batch:
    """Rows with each value, between rows with nothing."""
    rows = RowBuffer(EVERY_KIND, lambda _buffer: None)
    for number in range(3):
        rows.append({})
        rows.append({kind: values[number] for kind, values in VALUES.items()})
    return rows.take()


def test_every_kind_of_column() -> None:
    batch = every_kind()
    rows = list(read_rows(batch))
    assert rows == to_arrow(batch).to_pylist()
    assert rows[0] == dict.fromkeys(KINDS)
    assert rows[5]["hash"] == "8000000000000001"
    assert rows[3]["text"] == "cut \\udcff"


def test_only_some_columns() -> None:
    batch = every_kind()
    assert list(read_rows(batch, ("hash", "bool"))) == to_arrow(batch, ("hash", "bool")).to_pylist()


@pytest.mark.parametrize("name", SAMPLES)
def test_every_row_of_a_capture(name: str) -> None:
    tables = set()
    for table, batch in Dissection(sample(name), Options(has_payloads=True)).batches():
        assert list(read_rows(batch)) == to_arrow(batch).to_pylist()
        tables.add(table)
    assert {"connections", "frames", "payloads"} <= tables <= set(TABLES)
