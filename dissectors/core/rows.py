"""Row buffers: where decoded rows wait, as numbers, until a batch is full.

A row is ``width`` 64-bit cells in one flat array, whatever the table: whole numbers and booleans
are themselves, words and texts are codes, strings are lengths into a heap of their column. So a
row costs a copy of the template and a store per value, compiled or not, and no Python object is
made per value. What the cells become in Arrow is the business of ``core/arrow.py``.
"""

from array import array

import cython

from dissectors.core.words import word
from dissectors.tables import Table

# Absent. No spec-defined number of AMQP reaches it: 64-bit values are clipped by clip_int64.
NULL = cython.declare(cython.longlong, -0x7FFFFFFFFFFFFFFF - 1)
NULL_CELL = -0x8000000000000000  # the same for modules that only import this one
MAX_INT64 = 0x7FFFFFFFFFFFFFFF
ROWS_PER_BATCH = 65_536
# A buffer starts small and grows: most captures are, and all tables have one.
FIRST_ROWS = 256
GROWTH = 4
# A batch is also cut when its unique strings pass this size, so that memory stays bounded.
HEAP_BYTES_PER_BATCH = 8 * 1024 * 1024


def clip_int64(value: int) -> int:
    """Unsigned 64-bit wire values over the signed range have no cell: they become the limit."""
    return value if value <= MAX_INT64 else MAX_INT64


def signed_int64(value: int) -> int:
    """The bit pattern of an unsigned 64-bit digest as a cell."""
    return value if value <= MAX_INT64 else value - 0x10000000000000000


class RowBuffer:
    """Rows of one table. ``on_full`` is called with the buffer when a batch must be taken."""

    def __init__(self, table: Table, on_full, capacity: int = ROWS_PER_BATCH) -> None:
        self.table = table
        self.kinds = [c.kind for c in table.columns]
        self.positions = {c.name: i for i, c in enumerate(table.columns)}
        self.width = len(table.columns)
        self.capacity = capacity
        self.room = min(capacity, FIRST_ROWS)
        self.count = 0
        self.batch_no = 0
        self.cells = array("q", [NULL_CELL]) * (self.width * self.room)
        self.template = array("q", [NULL_CELL]) * self.width
        self.defaults: dict = {}
        self.pool: dict = {}
        self.heaps: list = [
            bytearray() if kind in ("string", "bytes") else None for kind in self.kinds
        ]
        self.heap_bytes = 0
        self.on_full = on_full

    def new_row(self) -> cython.Py_ssize_t:
        """Index of the first cell of a fresh row: all absent but for the defaults."""
        base: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if self.count >= self.room or self.heap_bytes > HEAP_BYTES_PER_BATCH:
            self._make_room()
        base = self.count * self.width
        if cython.compiled:
            for i in range(self.width):
                self.cells[base + i] = self.template[i]
        else:
            self.cells[base : base + self.width] = self.template
        self.count += 1
        return base

    def _make_room(self) -> None:
        """Grow up to the capacity; then, or with a full heap, the batch must be taken."""
        if self.room >= self.capacity or self.heap_bytes > HEAP_BYTES_PER_BATCH:
            self.on_full(self)
            return
        self.room = min(self.capacity, self.room * GROWTH)
        grown = array("q", [NULL_CELL]) * (self.width * self.room)
        memoryview(grown)[: self.count * self.width] = memoryview(self.cells)
        self.cells = grown

    def text(self, value: str) -> cython.longlong:
        """Code of a repeating string, valid until the batch is taken."""
        code = self.pool.get(value)
        if code is None:
            code = len(self.pool)
            self.pool[value] = code
        return code

    def put_string(
        self, base: cython.Py_ssize_t, column: cython.Py_ssize_t, value: bytes
    ) -> cython.int:
        """Store a mostly unique string (UTF-8) or raw octets. Only for the newest row."""
        heap: bytearray = self.heaps[column]
        heap += value
        self.heap_bytes += len(value)
        self.cells[base + column] = len(value)
        return 0

    def put_number(
        self, base: cython.Py_ssize_t, column: cython.Py_ssize_t, value: cython.ulonglong
    ) -> cython.int:
        """Store an unsigned number in decimal digits in a string column."""
        return self.put_string(base, column, b"%d" % value)

    def set_default(self, column: cython.Py_ssize_t, value: str) -> None:
        """From the next row on, this text column holds ``value`` unless a row says otherwise."""
        self.defaults[column] = value
        self.template[column] = self.text(value)

    def append(self, row: dict) -> None:
        """A whole row by column name: for the tables that are not hot."""
        base = self.new_row()
        for name, value in row.items():
            if value is not None:
                self.put(base, self.positions[name], value)

    def put(self, base: cython.Py_ssize_t, column: cython.Py_ssize_t, value) -> cython.int:
        """Store any Python value in the way of its column's kind. Only for the newest row."""
        kind = self.kinds[column]
        if kind == "text":
            self.cells[base + column] = self.text(value)
        elif kind == "word":
            self.cells[base + column] = word(value)
        elif kind == "string":
            self.put_string(base, column, value.encode("utf-8", "backslashreplace"))
        elif kind == "bytes":
            self.put_string(base, column, bytes(value))
        elif kind == "hash":
            self.cells[base + column] = signed_int64(value)
        elif kind == "ratio":
            self.cells[base + column] = round(value * 1_000_000)
        else:
            self.cells[base + column] = clip_int64(int(value))
        return 0

    def clear(self) -> None:
        """Start the next batch. Codes of texts are void from here: ``batch_no`` tells."""
        column: cython.Py_ssize_t
        self.count = 0
        self.batch_no += 1
        self.pool = {}
        self.heap_bytes = 0
        for column in range(self.width):
            if self.heaps[column] is not None:
                self.heaps[column] = bytearray()
        for column, value in self.defaults.items():
            self.template[column] = self.text(value)
