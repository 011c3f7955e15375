"""Row buffers: where decoded rows wait, as numbers, until a batch is full.

A row is one 64-bit cell per column, whatever the table: whole numbers and booleans are
themselves, words and texts are codes, strings are lengths into a heap of their column (and so are
loose texts, which would fill the pool of codes for nothing). So a value costs a store and no
Python object is made for it. Cells lie column by column, as Arrow wants them:
the cell of a row is at the row's number plus its column's `cell_of`. All cells of the rows to come
hold the defaults already. A full buffer hands its cells on as a ``Batch`` and goes on with others;
what they become is the business of ``core/arrow.py`` and ``parquet``. NumPy is theirs, too: loading
it takes longer than dissecting most captures.
"""

from typing import Any

import cython

from dissectors.core.columns import NULL_CELL, fill, is_blank
from dissectors.core.mapped import map_octets
from dissectors.core.words import word
from dissectors.tables import Table

MAX_INT64 = 0x7FFFFFFFFFFFFFFF
ROWS_PER_BATCH = 65_536
# Columns lie this many cells apart. A power of two would make all cells of a row compete for the
# same lines of the processor's caches.
COLUMN_STRIDE = cython.declare(cython.Py_ssize_t, ROWS_PER_BATCH + 72)
CELL_BYTES = 8
# Memory is taken for a whole batch but used as rows come: most captures are small.
FIRST_ROWS = 256
GROWTH = 4
# A batch is also cut when its unique strings pass this size, so that memory stays bounded.
HEAP_BYTES_PER_BATCH = cython.declare(cython.Py_ssize_t, 8 * 1024 * 1024)
# The cell of a loose text, whose octets stand in its column's heap: this, their place, their size.
LOOSE = 1 << 62
LOOSE_SIZE_BITS = 24
LOOSE_BIT = cython.declare(cython.longlong, LOOSE)
LOOSE_SHIFT = cython.declare(cython.int, LOOSE_SIZE_BITS)
# As many as `heap_used` in the .pxd has places for.
MAX_COLUMNS = 64
HEAP_KINDS = ("string", "bytes", "text")
FIRST_HEAP_BYTES = cython.declare(cython.Py_ssize_t, 4096)
# Cells that came back and wait to be used again.
MAX_SPARES = 4

DIGIT_0 = cython.declare(cython.int, 0x30)
HEX_DIGITS = cython.declare(bytes, b"0123456789abcdef")


def cell_of(table: Table, column: str) -> int:
    """Where a column's cells begin: add it to a row's number."""
    return table.index(column) * COLUMN_STRIDE


def clip_int64(value: int) -> int:
    """Unsigned 64-bit wire values over the signed range have no cell: they become the limit."""
    return value if value <= MAX_INT64 else MAX_INT64


def signed_int64(value: int) -> int:
    """The bit pattern of an unsigned 64-bit digest as a cell."""
    return value if value <= MAX_INT64 else value - 0x10000000000000000


def map_cells(width: int, has_many_rows: bool) -> memoryview:
    """Cells by columns. Of huge pages the first row would take all, so they are asked for where
    many rows will come: the cells of a row lie so far apart that looking up small pages would cost
    more than the stores."""
    return map_octets(CELL_BYTES * width * COLUMN_STRIDE, has_many_rows).cast("q")


class Batch:
    """Rows taken out of a buffer: column by column their cells, and what codes of texts and
    lengths of strings in them mean."""

    def __init__(self, rows) -> None:
        self.table = rows.table
        self.num_rows = rows.count
        self.texts = list(rows.pool)
        self.heaps = rows.heaps
        self._grid = rows.grid
        self._room = rows.room
        self._spares = rows.spares
        self._in_use = set(range(len(rows.kinds)))

    def column(self, position: int) -> memoryview:
        """Its cells."""
        start = position * COLUMN_STRIDE
        return self._grid[start : start + self.num_rows]

    def wipe(self, position: int) -> None:
        """A column has been read for the last time: it is blank again."""
        fill(self.column(position), NULL_CELL)
        self.leave(position)

    def leave(self, position: int) -> None:
        """A column is blank, as somebody has seen who looked."""
        self._in_use.discard(position)

    def release(self) -> None:
        """The cells may be used again; nobody looks at them any more."""
        spares, self._spares = self._spares, []
        if len(spares) < MAX_SPARES:
            for position in tuple(self._in_use):
                if not is_blank(self.column(position)):
                    self.wipe(position)
            spares.append((self._grid, self._room))


class RowBuffer:
    """Rows of one table. ``on_full`` is called with the buffer when a batch must be taken."""

    def __init__(self, table: Table, on_full, capacity: int = ROWS_PER_BATCH) -> None:
        self.table = table
        self.kinds = [c.kind for c in table.columns]
        if len(self.kinds) > MAX_COLUMNS:
            raise ValueError(f"{table.name} has more than {MAX_COLUMNS} columns")
        self.places = {c.name: cell_of(table, c.name) for c in table.columns}
        self.capacity = min(capacity, ROWS_PER_BATCH)
        self.count = 0
        self.batch_no = 0
        self.spares: list = []
        self.blank = [NULL_CELL] * len(table.columns)
        self.defaults: dict = {}
        self.pool: dict = {}
        self.has_been_full = False
        self.grid: Any = None
        self.room = 0
        self._begin_heaps()
        self.on_full = on_full

    def _begin(self) -> None:
        """Take cells for a batch: some that came back, or new ones."""
        if self.spares:
            self.grid, self.room = self.spares.pop()
            for column, value in self.defaults.items():
                fill(self.grid[column : column + self.room], self.text(value))
        else:
            self.grid = map_cells(len(self.kinds), self.has_been_full)
            self.room = 0
        self.cells = self.grid

    def _begin_heaps(self) -> None:
        self.heap_bytes = 0
        self.heaps = [bytearray() if kind in HEAP_KINDS else None for kind in self.kinds]

    def new_row(self) -> cython.Py_ssize_t:
        """The number of a fresh row: all absent but for the defaults."""
        if self.count >= self.room or self.heap_bytes > HEAP_BYTES_PER_BATCH:
            self._make_room()
        self.count += 1
        return self.count - 1

    def _make_room(self) -> None:
        """At the capacity, or with a full heap, the batch must be taken; else the room grows."""
        if self.room >= self.capacity or self.heap_bytes > HEAP_BYTES_PER_BATCH:
            self.on_full(self)
        if self.grid is None:
            self._begin()
        if self.count >= self.room:
            room = min(self.capacity, max(FIRST_ROWS, self.room * GROWTH))
            for place, value in enumerate(self.blank):
                start = place * COLUMN_STRIDE
                fill(self.grid[start + self.room : start + room], value)
            self.room = room

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
        return self.put_slice(base, column, value, 0, len(value))

    def put_loose(
        self, base: cython.Py_ssize_t, column: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> cython.p_uchar:
        """Compiled only: room in a text column for a text that does not repeat, and so needs no
        code. Only for the newest row, and shorter than HEAP_BYTES_PER_BATCH."""
        used: cython.Py_ssize_t = self.heap_used[column // COLUMN_STRIDE]
        octets: cython.p_uchar = self._extend(base, column, size)
        self.cells[base + column] = LOOSE_BIT | (used << LOOSE_SHIFT) | size
        return octets

    def put_slice(
        self,
        base: cython.Py_ssize_t,
        column: cython.Py_ssize_t,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.int:
        """The same for octets within others."""
        size: cython.Py_ssize_t = end - start
        if not cython.compiled:
            self.heaps[column // COLUMN_STRIDE] += buf[start:end]
            self.heap_bytes += size
            self.cells[base + column] = size
            return 0
        octets: cython.p_uchar = buf
        if start < 0 or size < 0 or end > len(buf):
            raise IndexError("octets are missing")
        memcpy(self._extend(base, column, size), octets + start, size)  # type: ignore # noqa: F821
        return 0

    def put_number(
        self, base: cython.Py_ssize_t, column: cython.Py_ssize_t, value: cython.ulonglong
    ) -> cython.int:
        """Store an unsigned number in decimal digits in a string column."""
        if not cython.compiled:
            return self.put_string(base, column, b"%d" % value)
        size: cython.Py_ssize_t = 1
        rest: cython.ulonglong = value
        while rest > 9:
            rest //= 10
            size += 1
        digits: cython.p_uchar = self._extend(base, column, size)
        while size:
            size -= 1
            digits[size] = DIGIT_0 + value % 10
            value //= 10
        return 0

    def put_hex(
        self, base: cython.Py_ssize_t, column: cython.Py_ssize_t, value: bytes
    ) -> cython.int:
        """Store octets in hex digits in a string column."""
        if not cython.compiled:
            return self.put_string(base, column, value.hex().encode())
        size: cython.Py_ssize_t = len(value)
        i: cython.Py_ssize_t
        octets: cython.p_uchar = value
        symbols: cython.p_uchar = HEX_DIGITS
        digits: cython.p_uchar = self._extend(base, column, 2 * size)
        for i in range(size):
            digits[2 * i] = symbols[octets[i] >> 4]
            digits[2 * i + 1] = symbols[octets[i] & 15]
        return 0

    @cython.cdivision(True)
    def _extend(
        self, base: cython.Py_ssize_t, column: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> cython.p_uchar:
        """Compiled only: room for a string of the newest row behind what its column's heap holds.
        Heaps grow by doubling and are cut to what they hold when the batch is taken."""
        place: cython.Py_ssize_t = column // COLUMN_STRIDE
        heap: bytearray = self.heaps[place]
        used: cython.Py_ssize_t = self.heap_used[place]
        if used + size > len(heap):
            PyByteArray_Resize(heap, 2 * (used + size) + FIRST_HEAP_BYTES)  # type: ignore # noqa: F821
        self.heap_used[place] = used + size
        self.heap_bytes += size
        self.cells[base + column] = size
        return cython.cast(cython.p_uchar, PyByteArray_AS_STRING(heap)) + used  # type: ignore # noqa: F821

    def _cut_heaps(self) -> None:
        """Compiled only: nothing stands behind what was put into them."""
        i: cython.Py_ssize_t
        for i in range(len(self.heaps)):
            if self.heaps[i] is not None:
                del self.heaps[i][self.heap_used[i] :]
                self.heap_used[i] = 0

    def set_default(self, column: cython.Py_ssize_t, value: str) -> None:
        """From the next row on, this text column holds ``value`` unless a row says otherwise."""
        self.defaults[column] = value
        self._set_blank(column, value)
        if self.grid is not None:
            fill(self.grid[column + self.count : column + self.room], self.text(value))

    def _set_blank(self, column: cython.Py_ssize_t, value: str) -> None:
        self.blank[column // COLUMN_STRIDE] = self.text(value)

    def append(self, row: dict) -> None:
        """A whole row by column name: for the tables that are not hot."""
        base = self.new_row()
        for name, value in row.items():
            if value is not None:
                self.put(base, self.places[name], value)

    def put(self, base: cython.Py_ssize_t, column: cython.Py_ssize_t, value) -> cython.int:
        """Store any Python value in the way of its column's kind. Only for the newest row."""
        kind = self.kinds[column // COLUMN_STRIDE]
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

    def is_nearly_full(self) -> bool:
        """Time to take the batch: if it comes back before the next row, its cells are used again
        while they are in the processor's caches."""
        return self.count >= self.capacity - self.capacity // 4

    def take(self) -> Batch:
        """The rows so far. Codes of texts are void from here: ``batch_no`` tells."""
        if self.grid is None:
            self._begin()
        if cython.compiled:
            self._cut_heaps()
        if not self.has_been_full and self.is_nearly_full():
            self.has_been_full = True
            self.spares = []  # the small pages go with this batch
        taken = Batch(self)
        self.batch_no += 1
        self.count = 0
        self.pool = {}
        self.grid = None
        self.room = 0
        self._begin_heaps()
        for column, value in self.defaults.items():
            self._set_blank(column, value)
        return taken
