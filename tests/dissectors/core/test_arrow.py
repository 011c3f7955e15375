"""From row buffers to Arrow batches."""

from __future__ import annotations

from dissectors.core.arrow import take_batch
from dissectors.core.rows import RowBuffer
from dissectors.tables import SESSIONS


def test_a_batch_of_one_row_keeps_it_when_the_buffer_is_used_again() -> None:
    rows = RowBuffer(SESSIONS, lambda _buffer: None, 16)
    rows.append({"connection_id": "first", "session_id": 1, "channel": 5})
    batch = take_batch(rows)
    rows.append({"connection_id": "second", "session_id": 2, "channel": 6})
    (row,) = batch.to_pylist()
    assert (row["connection_id"], row["session_id"], row["channel"]) == ("first", 1, 5)
