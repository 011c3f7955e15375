"""Row buffers: strings in their heaps, defaults, growth and the end of a batch."""

from __future__ import annotations

import pytest

from dissectors.core.arrow import to_arrow
from dissectors.core.rows import FIRST_ROWS, ROWS_PER_BATCH, RowBuffer, cell_of
from dissectors.tables import FRAMES, SESSIONS

TAG = cell_of(FRAMES, "delivery_tag")
NAME = "capture"


def frames(capacity: int = ROWS_PER_BATCH) -> RowBuffer:
    return RowBuffer(FRAMES, RowBuffer.take, capacity)


def tags(rows: RowBuffer) -> list[str | None]:
    return to_arrow(rows.take()).column("delivery_tag").to_pylist()


@pytest.mark.parametrize("number", [0, 9, 10, 99, 100, 1 << 32, (1 << 64) - 1])
def test_numbers_are_written_in_digits(number: int) -> None:
    rows = frames()
    rows.put_number(rows.new_row(), TAG, number)
    assert tags(rows) == [str(number)]


@pytest.mark.parametrize("octets", [b"", b"\x00", b"\x9f\x00\xff", bytes(range(256))])
def test_octets_are_written_in_hex(octets: bytes) -> None:
    rows = frames()
    rows.put_hex(rows.new_row(), TAG, octets)
    assert tags(rows) == [octets.hex()]


def test_strings_absent_and_cut_out_of_others() -> None:
    rows = frames()
    rows.put_string(rows.new_row(), TAG, b"whole")
    rows.new_row()
    rows.put_slice(rows.new_row(), TAG, b"0123456789", 3, 6)
    rows.put_slice(rows.new_row(), TAG, b"0123456789", 5, 5)
    assert tags(rows) == ["whole", None, "345", ""]


def test_a_default_holds_from_the_next_row_on_and_in_the_next_batch() -> None:
    rows = frames()
    for name in ("first", "second"):
        for _ in range(2):
            rows.new_row()
        rows.set_default(rows.places[NAME], name)
    rows.new_row()
    assert to_arrow(rows.take()).column(NAME).to_pylist() == [
        None,
        None,
        "first",
        "first",
        "second",
    ]
    rows.text("a text that takes the first code of no batch with defaults")
    rows.new_row()
    assert to_arrow(rows.take()).column(NAME).to_pylist() == ["second"]


def test_rows_of_a_batch_that_was_cut_early_leave_nothing_behind() -> None:
    rows = RowBuffer(SESSIONS, RowBuffer.take)
    rows.append({"connection_id": "a", "session_id": 1, "channel": 7})
    rows.take().release()
    for _ in range(2 * FIRST_ROWS):
        rows.append({"connection_id": "b", "session_id": 2})
    column = to_arrow(rows.take()).column("channel")
    assert column.null_count == len(column) == 2 * FIRST_ROWS


def test_a_full_buffer_is_taken() -> None:
    batches = []
    rows = RowBuffer(SESSIONS, lambda buffer: batches.append(buffer.take()), 300)
    for number in range(1000):
        rows.append({"connection_id": "a", "session_id": number})
    batches.append(rows.take())
    assert [b.num_rows for b in batches] == [300, 300, 300, 100]
    ids = [i for b in batches for i in to_arrow(b).column("session_id").to_pylist()]
    assert ids == list(range(1000))
