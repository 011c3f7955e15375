"""From row buffers to Arrow batches."""

from __future__ import annotations

from dissectors.core.arrow import to_arrow
from dissectors.core.rows import RowBuffer
from dissectors.tables import SESSIONS, TRANSFERS


def test_a_batch_of_one_row_keeps_it_when_the_buffer_is_used_again() -> None:
    rows = RowBuffer(SESSIONS, lambda _buffer: None, 16)
    rows.append({"connection_id": "first", "session_id": 1, "channel": 5})
    batch = to_arrow(rows.take())
    rows.append({"connection_id": "second", "session_id": 2, "channel": 6})
    (row,) = batch.to_pylist()
    assert (row["connection_id"], row["session_id"], row["channel"]) == ("first", 1, 5)


def test_dictionaries_hold_the_strings_of_their_own_column_only() -> None:
    """Texts share a pool; a column of one value must not carry the other's thousands."""
    rows = RowBuffer(TRANSFERS, lambda _buffer: None)
    for number in range(1000):
        rows.append({"routing_key": f"key {number}", "exchange": "logs" if number % 2 else None})
    batch = to_arrow(rows.take())
    assert len(batch.column("routing_key").dictionary) == 1000
    assert batch.column("exchange").dictionary.to_pylist() == ["logs"]
    assert batch.column("exchange").to_pylist() == [None, "logs"] * 500
    assert batch.column("routing_key").to_pylist() == [f"key {n}" for n in range(1000)]


def test_texts_of_any_kind_stand_beside_each_other() -> None:
    """ASCII, other scripts, octets that are no UTF-8 (kept as surrogates), and nothing at all."""
    rows = RowBuffer(TRANSFERS, lambda _buffer: None)
    keys = ["plain", "größer", "鍵", "", b"cut \xff".decode("utf-8", "surrogateescape")]
    for key in keys:
        rows.append({"routing_key": key})
    column = to_arrow(rows.take()).column("routing_key")
    assert column.to_pylist() == ["plain", "größer", "鍵", "", "cut \\udcff"]
