"""Content properties as the tables want them: columns, and JSON of what has no column."""

from json import dumps
from json.encoder import encode_basestring

import cython

from dissectors.amqp09.field_tables import FieldTable
from dissectors.amqp09.headers import ContentHeader
from dissectors.amqp09.jsonvalue import to_json
from dissectors.core.columns import NULL_CELL
from dissectors.core.rows import RowBuffer, cell_of
from dissectors.tables import TRANSFERS

PERSISTENT = 2
NO_BATCH = cython.declare(cython.Py_ssize_t, -1)
# A number that the list does not hold.
ABSENT = cython.declare(cython.int, -1)
MAX_INT64 = 0x7FFFFFFFFFFFFFFF

# Properties with a column of their own in transfers; the rest goes into its `properties`.
COLUMNS = {
    "content-type": "content_type",
    "content-encoding": "content_encoding",
    "correlation-id": "correlation_id",
    "reply-to": "reply_to",
    "message-id": "message_id",
    "type": "subject",
    "user-id": "user_id",
    "app-id": "app_id",
}


# Where in a row of transfers those are that are mostly the same from message to message.
POSITIONS = {
    column: cell_of(TRANSFERS, column)
    for column in COLUMNS.values()
    if column not in ("message_id", "correlation_id")
}


class Properties:
    """One property list, decoded."""

    def __init__(self) -> None:
        # The octets from the flags on.
        self.raw = b""
        # (position in a row, text)
        self.text_columns: list = []
        # The list that it repeats but for what names its message; it has the codes of both.
        self.alike = None
        self.message_id = None
        self.correlation_id = None
        self.priority = ABSENT
        self.ttl_ms = ABSENT
        self.durable = ABSENT
        self.created_ms = ABSENT
        self.rest_json = None
        self.json = None
        # The same in pieces, for lists alike: before each identifier, and behind the last.
        self.json_head = self.json_between = self.json_end = b""
        self.error = None
        self.has_unknown = False
        self.table_error = None
        self.octets = 0
        self.systems = ""
        # Nothing in it is wrong or unknown.
        self.is_plain = False
        # Codes of its texts, valid as long as the batch of frames or of transfers is the same.
        self.json_batch = NO_BATCH
        self.json_code = 0
        self.columns_batch = NO_BATCH
        self.column_count = 0
        if not cython.compiled:
            self.columns = [0] * len(POSITIONS)
            self.column_codes = [0] * len(POSITIONS)
        self.rest_code = 0

    def renamed(self) -> "Properties":
        """The same, for another message; what names that and its JSON's end are to be set."""
        p: Properties = Properties.__new__(Properties)
        p.alike = self
        p.raw = self.raw
        p.text_columns = self.text_columns
        p.message_id = None
        p.correlation_id = None
        p.priority = self.priority
        p.ttl_ms = self.ttl_ms
        p.durable = self.durable
        p.created_ms = ABSENT
        p.rest_json = self.rest_json
        p.error = None
        p.has_unknown = False
        p.table_error = None
        p.systems = self.systems
        p.is_plain = self.is_plain
        p.json_batch = NO_BATCH
        return p

    def json_text(self) -> str | None:
        """All properties, as a JSON object."""
        if self.alike is None:
            return self.json
        names = (self.correlation_id or b"", self.message_id or b"")
        pieces = (self.alike.json_head, names[0], self.alike.json_between, names[1], self.json_end)
        return b"".join(pieces).decode()

    def put_json(
        self, rows: RowBuffer, base: cython.Py_ssize_t, column: cython.Py_ssize_t
    ) -> cython.int:
        """The same into a text column of the newest row."""
        if self.alike is not None and cython.compiled:
            self._put_pieces(rows, base, column)
            return 0
        if self.json_batch != rows.batch_no:
            self.json_batch = rows.batch_no
            shown = self.json_text()
            self.json_code = NULL_CELL if shown is None else rows.text(shown)
        rows.cells[base + column] = self.json_code
        return 0

    def _put_pieces(
        self, rows: RowBuffer, base: cython.Py_ssize_t, column: cython.Py_ssize_t
    ) -> cython.int:
        """Compiled only: glued where they belong, without a text of their own."""
        size: cython.Py_ssize_t = (
            len(self.alike.json_head) + len(self.alike.json_between) + len(self.json_end)
        )
        if self.correlation_id is not None:
            size += len(self.correlation_id)
        if self.message_id is not None:
            size += len(self.message_id)
        out: cython.p_uchar = rows.put_loose(base, column, size)
        out = _glue(out, self.alike.json_head)
        out = _glue(out, self.correlation_id)
        out = _glue(out, self.alike.json_between)
        out = _glue(out, self.message_id)
        _glue(out, self.json_end)
        return 0


def _glue(out: cython.p_uchar, piece: bytes) -> cython.p_uchar:
    """Compiled only: where the next piece goes."""
    if piece is None:
        return out
    memcpy(out, PyBytes_AS_STRING(piece), len(piece))  # type: ignore # noqa: F821
    return out + len(piece)


def make_properties(header: ContentHeader) -> Properties:
    """A decoded header's properties."""
    result = sort_properties(list(header.as_dict().items()))
    result.error = header.error
    result.has_unknown = header.unknown_flags or bool(header.trailing)
    return result


def sort_properties(items: list) -> Properties:
    """Sort (name, value) pairs into columns and JSON."""
    result = Properties()
    shown = []
    rest = []
    for name, value in items:
        as_json = to_json(value)
        shown.append((name, as_json))
        if name in COLUMNS:
            text = as_json if isinstance(as_json, str) else dumps(as_json)
            _put_text(result, COLUMNS[name], text)
        elif name == "priority":
            result.priority = value
        elif name == "ttl":
            result.ttl_ms = min(value, MAX_INT64)
        elif name == "expiration" and isinstance(value, str):
            if value.isascii() and value.isdigit() and len(value) < 18:
                result.ttl_ms = int(value)
            else:
                rest.append((name, as_json))
        elif name == "delivery-mode":
            result.durable = 1 if value == PERSISTENT else 0
        elif name == "timestamp":
            # Seconds in the 0-9 family; a value that cannot be is kept with the rest.
            if value < 1 << 53:
                result.created_ms = value * 1000
            else:
                rest.append((name, as_json))
        else:
            rest.append((name, as_json))
        if isinstance(value, FieldTable):
            result.table_error = value.error
            if value.error is None and value.entries:
                result.systems = value.system
    result.json = _object(shown)
    result.rest_json = _object(rest)
    return result


def _put_text(result: Properties, column: str, text: str) -> None:
    if column == "message_id":
        result.message_id = text.encode("utf-8", "backslashreplace")
    elif column == "correlation_id":
        result.correlation_id = text.encode("utf-8", "backslashreplace")
    else:
        result.text_columns.append((POSITIONS[column], text))


def _object(items: list) -> object:
    if not items:
        return None
    return "{" + ",".join([json_member(name, value) for name, value in items]) + "}"


def json_member(name: str, value: object) -> str:
    if isinstance(value, str):
        return f'"{name}":{encode_basestring(value)}'
    return f'"{name}":' + dumps(value, ensure_ascii=False, separators=(",", ":"))
