"""A message's header and properties into its row of `transfers`.

The standard's defaults are filled in (1.0 §3.2.1), so durable and priority are always known.
Fields that have a column are read where they stand; annotations, application-properties, footer
and the remaining fields become JSON, once per distinct octets.
"""

from array import array

import cython

from dissectors.amqp10.head_values import primitive_text, read_timestamp
from dissectors.amqp10.octets import (
    after_code,
    cut,
    is_ascii,
    is_same,
    list_count,
    list_items,
    read_boolean,
    read_code,
    read_uint,
    skip_value,
)
from dissectors.amqp10.section_json import section_json
from dissectors.core.rows import NULL_CELL, RowBuffer, cell_of
from dissectors.tables import TRANSFERS

T_CREATED = cython.declare(cython.int, cell_of(TRANSFERS, "created_ts_ms"))
T_PRIORITY = cython.declare(cython.int, cell_of(TRANSFERS, "priority"))
T_TTL = cython.declare(cython.int, cell_of(TRANSFERS, "ttl_ms"))
T_DURABLE = cython.declare(cython.int, cell_of(TRANSFERS, "is_durable"))
T_REDELIVERED = cython.declare(cython.int, cell_of(TRANSFERS, "is_redelivered"))
T_PROPERTIES = cython.declare(cython.int, cell_of(TRANSFERS, "properties"))

HEADER = cython.declare(cython.int, 0x70)
PROPERTIES = cython.declare(cython.int, 0x73)
#: 1.0 §3.2.1: the priority of a message that states none.
DEFAULT_PRIORITY = cython.declare(cython.longlong, 4)
#: The creation-time's place among the properties; it is the only number with a column.
CREATION_TIME = cython.declare(cython.int, 9)
#: Column of each field of `properties` by place, or None: such fields go to the JSON.
_NAMES = (
    "message_id",
    "user_id",
    "to",
    "subject",
    "reply_to",
    "correlation_id",
    "content_type",
    "content_encoding",
    None,
    "created_ts_ms",
    "app_id",
    None,
    None,
)
#: Where the columns' cells begin, or -1.
_COLUMNS = [-1 if name is None else cell_of(TRANSFERS, name) for name in _NAMES]
#: Whether a column holds strings that are mostly unique, by place.
_IS_UNIQUE = [
    name is not None and TRANSFERS.columns[TRANSFERS.index(name)].kind == "string"
    for name in _NAMES
]
#: JSON texts kept by the octets they were made of; all are dropped when there are more.
MAX_CACHED = 4096


class HeadReader:
    """Reads heads into rows; keeps the JSON of sections that repeat."""

    def __init__(self) -> None:
        self.cache: dict = {}
        # Codes in the present batch: of the JSON by the octets of all sections in it, and of
        # the last text of each property by place.
        self.batch_no = -1
        self.codes: dict = {}
        self.last_texts: list = []
        self.last_codes = array("q", [0] * len(_COLUMNS))
        # The octets that the last JSON was made of, and its code.
        self.rest: bytes | None = None
        self.rest_code = 0
        self.columns = array("q", _COLUMNS)
        self.is_unique = array("q", _IS_UNIQUE)
        # The octets of the last header section, and what they put into the row.
        self.header: bytes | None = None
        self.header_is_rest = False
        self.priority = 0
        self.durable = 0
        self.ttl = 0
        self.redelivered = 0

    def read(self, rows: RowBuffer, base: cython.Py_ssize_t, head: bytes) -> cython.int:
        """Fill the message columns of the row at `base` from the sections in `head`."""
        at: cython.Py_ssize_t = 0
        stop: cython.Py_ssize_t
        end: cython.Py_ssize_t = len(head)
        code: cython.longlong
        is_rest: cython.bint
        # Sections for the JSON: the last that follow each other, and those further in front.
        rest_at: cython.Py_ssize_t = 0
        rest_end: cython.Py_ssize_t = -1
        front: bytes = None
        if self.batch_no != rows.batch_no:
            self._begin_batch(rows.batch_no)
        if self.header is not None and is_same(head, 0, len(self.header), self.header):
            at = len(self.header)
            if self.header_is_rest:
                rest_end = at
            rows.cells[base + T_PRIORITY] = self.priority
            rows.cells[base + T_DURABLE] = self.durable
            rows.cells[base + T_TTL] = self.ttl
            rows.cells[base + T_REDELIVERED] = self.redelivered
        else:
            rows.cells[base + T_PRIORITY] = DEFAULT_PRIORITY
            rows.cells[base + T_DURABLE] = 0
        while at < end:
            code = read_code(head, at, end)
            if code < 0:
                break
            stop = skip_value(head, after_code(head, at), end, 0)
            if stop < 0:
                break
            if code == HEADER:
                is_rest = self._header(rows, base, head, after_code(head, at), stop)
                if at == 0:
                    self._keep_header(rows, base, cut(head, 0, stop), is_rest)
            elif code == PROPERTIES:
                is_rest = self._properties(rows, base, head, after_code(head, at), stop)
            else:
                is_rest = True
            if is_rest:
                if rest_end != at:
                    if rest_end >= 0:
                        front = (front or b"") + cut(head, rest_at, rest_end)
                    rest_at = at
                rest_end = stop
            at = stop
        if front is not None:
            front += cut(head, rest_at, rest_end)
            rows.cells[base + T_PROPERTIES] = self._rest_code(rows, front, 0, len(front))
        elif rest_end >= 0:
            rows.cells[base + T_PROPERTIES] = self._rest_code(rows, head, rest_at, rest_end)
        return 0

    def _keep_header(
        self, rows: RowBuffer, base: cython.Py_ssize_t, header: bytes, is_rest: cython.bint
    ) -> cython.int:
        """Senders give nearly all their messages the same header: it is read once."""
        self.header = header
        self.header_is_rest = is_rest
        self.priority = rows.cells[base + T_PRIORITY]
        self.durable = rows.cells[base + T_DURABLE]
        self.ttl = rows.cells[base + T_TTL]
        self.redelivered = rows.cells[base + T_REDELIVERED]
        return 0

    def _begin_batch(self, batch_no: cython.Py_ssize_t) -> cython.int:
        self.batch_no = batch_no
        self.codes = {}
        self.rest = None
        self.last_texts = [None] * len(_COLUMNS)
        return 0

    def _rest_code(
        self, rows: RowBuffer, buf: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> cython.longlong:
        """The code of the JSON of some sections, one behind the other; NULL if it is empty."""
        if self.rest is None or not is_same(buf, start, stop, self.rest):
            self.rest = cut(buf, start, stop)
            self.rest_code = self._find_code(rows, self.rest)
        return self.rest_code

    def _find_code(self, rows: RowBuffer, rest: bytes) -> cython.longlong:
        code = self.codes.get(rest)
        if code is None:
            if len(self.codes) >= MAX_CACHED:
                self.codes.clear()
            text = self._rest_json(rest)
            code = self.codes[rest] = rows.text(text) if text else NULL_CELL
        return code

    def _rest_json(self, rest: bytes) -> str:
        at: cython.Py_ssize_t = 0
        stop: cython.Py_ssize_t
        texts = []
        while at < len(rest):
            stop = skip_value(rest, at, len(rest), 0)
            section = rest[at:stop]
            text = self.cache.get(section)
            if text is None:
                if len(self.cache) >= MAX_CACHED:
                    self.cache.clear()
                text = self.cache[section] = section_json(section)
            if text:
                texts.append(text)
            at = stop
        return "{" + ",".join(texts) + "}" if texts else ""

    def _header(
        self,
        rows: RowBuffer,
        base: cython.Py_ssize_t,
        buf: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.int:
        """1 when a field without a column is there."""
        count: cython.longlong = list_count(buf, at, end)
        i: cython.longlong
        number: cython.longlong
        has_more: cython.int = 0
        if count < 0:
            return 1
        at = list_items(buf, at)
        for i in range(min(count, 5)):
            if i == 0:
                number = read_boolean(buf, at, end)
                if number >= 0:
                    rows.cells[base + T_DURABLE] = number
            elif i == 1:
                if at + 2 <= end and buf[at] == 0x50:
                    rows.cells[base + T_PRIORITY] = buf[at + 1]
            elif i == 2:
                number = read_uint(buf, at, end)
                if number >= 0:
                    rows.cells[base + T_TTL] = number
            elif i == 3:
                number = read_boolean(buf, at, end)
                if number >= 0:
                    # Only a sender that says so tells a first delivery from another.
                    rows.cells[base + T_REDELIVERED] = 1 - number
                    has_more = 1
            else:
                number = read_uint(buf, at, end)
                if number > 0:
                    rows.cells[base + T_REDELIVERED] = 1
                    has_more = 1
            at = skip_value(buf, at, end, 0)
            if at < 0:
                return 1
        return has_more

    def _properties(
        self,
        rows: RowBuffer,
        base: cython.Py_ssize_t,
        buf: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.int:
        """1 when a field without a column is there."""
        count: cython.longlong = list_count(buf, at, end)
        i: cython.longlong
        stop: cython.Py_ssize_t
        has_more: cython.int = 0
        if count < 0:
            return 1
        at = list_items(buf, at)
        for i in range(count):
            if at < end and buf[at] == 0x40:
                at += 1
                continue
            stop = skip_value(buf, at, end, 0)
            if stop < 0:
                return 1
            if i >= len(self.columns) or self.columns[i] < 0:
                has_more = 1
            elif i == CREATION_TIME:
                if buf[at] == 0x83:
                    rows.cells[base + T_CREATED] = read_timestamp(buf, at + 1)
            elif not self._text(rows, base, i, buf, at, stop):
                has_more = 1
            at = stop
        return has_more

    def _text(
        self,
        rows: RowBuffer,
        base: cython.Py_ssize_t,
        place: cython.Py_ssize_t,
        buf: bytes,
        at: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
    ) -> cython.int:
        """A property into its column; 0 if it has a type that is no text."""
        code: cython.int = buf[at]
        if (code == 0xA1 or code == 0xA3) and is_ascii(buf, at + 2, stop):
            return self._put(rows, base, place, buf, at + 2, stop)
        text = primitive_text(buf, at, stop)
        if text is None:
            return 0
        octets: bytes = text.encode()
        return self._put(rows, base, place, octets, 0, len(octets))

    def _put(
        self,
        rows: RowBuffer,
        base: cython.Py_ssize_t,
        place: cython.Py_ssize_t,
        buf: bytes,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
    ) -> cython.int:
        """1, with the UTF-8 in buf[start:stop] in the property's column."""
        if self.is_unique[place]:
            rows.put_slice(base, self.columns[place], buf, start, stop)
            return 1
        last: bytes = self.last_texts[place]
        if last is None or not is_same(buf, start, stop, last):
            last = cut(buf, start, stop)
            self.last_texts[place] = last
            self.last_codes[place] = rows.text(last.decode())
        rows.cells[base + self.columns[place]] = self.last_codes[place]
        return 1
