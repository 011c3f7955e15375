"""Property lists of a connection, read fast and remembered.

Messages of one sender mostly repeat their properties, so they are remembered by their octets, and
compared with the last ones first; the memory is bounded.
"""

from json.encoder import encode_basestring

import cython

from dissectors.amqp09.field_tables import decode_table
from dissectors.amqp09.headers import ContentHeader, decode_header
from dissectors.amqp09.jsonvalue import to_json
from dissectors.amqp09.named_lists import NAMES, NamedLists
from dissectors.amqp09.properties import (
    COLUMNS,
    PERSISTENT,
    POSITIONS,
    Properties,
    json_member,
    make_properties,
)

if not cython.compiled:
    from dissectors.amqp09.wire import be16, be32, be64, cut, is_same

# Property lists remembered per connection.
MAX_REMEMBERED = 4096
# The basic class's properties by their flag, from the high bit on: the same in all dialects.
BASIC = (
    "content-type",
    "content-encoding",
    "headers",
    "delivery-mode",
    "priority",
    "correlation-id",
    "reply-to",
    "expiration",
    "message-id",
    "timestamp",
    "type",
    "user-id",
    "app-id",
    "cluster-id",
)
I_HEADERS = cython.declare(cython.int, BASIC.index("headers"))
I_DELIVERY_MODE = cython.declare(cython.int, BASIC.index("delivery-mode"))
I_PRIORITY = cython.declare(cython.int, BASIC.index("priority"))
I_CORRELATION_ID = cython.declare(cython.int, BASIC.index("correlation-id"))
I_EXPIRATION = cython.declare(cython.int, BASIC.index("expiration"))
I_MESSAGE_ID = cython.declare(cython.int, BASIC.index("message-id"))
I_TIMESTAMP = cython.declare(cython.int, BASIC.index("timestamp"))
I_CLUSTER_ID = cython.declare(cython.int, BASIC.index("cluster-id"))
BASIC_COUNT = cython.declare(cython.int, len(BASIC))
BASIC_CLASS = cython.declare(cython.int, 60)
# Flags that no basic property has, and the one that announces more flags.
OTHER_FLAGS = cython.declare(cython.int, 0x0003)
NAME_FLAGS = cython.declare(cython.int, NAMES)
# Class, weight and body size; the flags follow.
CLASS_TO_SIZE = cython.declare(cython.int, 12)
# Those and one word of flags.
FIXED_SIZE = cython.declare(cython.int, 14)
MAX_TIMESTAMP = cython.declare(cython.ulonglong, 1 << 53)
DELIVERY_MODES = tuple([f'"delivery-mode":{number}' for number in range(256)])
PRIORITIES = tuple([f'"priority":{number}' for number in range(256)])


class PropertyMemory:
    """Decoded property lists by class and octets.

    Where only an identifier is new, the list is read by `_read_basic`, which remembers the parts
    that repeat; anything odd is left to the tables, which give the same result.
    """

    def __init__(self) -> None:
        self.known: dict = {}
        # (property, octets) → (octets, text, JSON member, (position in a row, text) or None)
        self.texts: dict = {}
        # octets of a field table → (JSON member, type system, error)
        self.tables: dict = {}
        self.named = NamedLists()
        # The basic class's list that was looked for last, of those that may come again.
        self.last = None
        # What `texts` has of the last short string, by property.
        self.last_texts: list = [None] * BASIC_COUNT
        # Type systems that field tables were read with, in order of first use.
        self.systems: dict = {}

    def forget(self) -> cython.int:
        """What was remembered may be read otherwise from here on."""
        self.known.clear()
        self.texts.clear()
        self.tables.clear()
        self.named = NamedLists()
        self.last = None
        self.last_texts = [None] * BASIC_COUNT
        self.systems.clear()
        return 0

    def recall(
        self, buf: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> Properties | None:
        """Properties of a header of the basic class, if they are the same as the last ones, or
        differ from earlier ones only in what names the message. The fixed part is there."""
        last: Properties = self.last
        at: cython.Py_ssize_t = start + CLASS_TO_SIZE
        if last is not None and is_same(buf, at, end, last.raw):
            return last
        if be16(buf, at) & NAME_FLAGS:
            return self.named.find(buf, at, end)
        return None

    def find(self, buf: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t, dialect, systems):
        """Properties of the header payload at [start, end); an error if it has no fixed part."""
        p: Properties = None
        # Where the flags are; the tables say so where they are not.
        at: cython.Py_ssize_t = min(start + CLASS_TO_SIZE, end)
        is_basic: cython.bint = end - start >= FIXED_SIZE and be16(buf, start) == BASIC_CLASS
        raw: bytes
        key: bytes = None
        if is_basic and be16(buf, at) & NAME_FLAGS:
            # A list that names its message is most likely not to come again as it is.
            p = self.named.find(buf, at, end)
            if p is not None:
                return p
            raw = cut(buf, at, end)
        else:
            raw = cut(buf, at, end)
            key = buf[start : start + 2] + raw
            p = self.known.get(key)
        if p is None:
            if is_basic:
                try:
                    p = self._read_basic(buf, start, end, systems)
                except UnicodeDecodeError:
                    p = None
            if p is None:
                header = decode_header(buf[start:end], dialect, systems)
                if not isinstance(header, ContentHeader):
                    return header
                p = make_properties(header)
            p.raw = raw
            p.octets = len(raw)
            p.is_plain = p.error is None and not p.has_unknown and p.table_error is None
            if p.systems:
                self.systems[p.systems] = None
            if key is not None:
                if len(self.known) >= MAX_REMEMBERED:
                    self.known.clear()
                self.known[key] = p
        if is_basic and key is not None:
            self.last = p
        return p

    def _read_basic(
        self, buf: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t, systems
    ) -> Properties | None:
        """A list of the basic class in which nothing is odd; None leaves it to the tables,
        and so do octets that are not UTF-8."""
        p: Properties
        flags: cython.int
        index: cython.int
        size: cython.Py_ssize_t
        number: cython.ulonglong
        at: cython.Py_ssize_t = start + FIXED_SIZE
        flags = be16(buf, at - 2)
        if flags & OTHER_FLAGS:
            return None
        p = Properties()
        shown: list = []
        rest: list = []
        for index in range(BASIC_COUNT):
            if not flags & (0x8000 >> index):
                continue
            if index == I_HEADERS:
                if at + 4 > end:
                    return None
                size = be32(buf, at)
                at += 4 + size
                if at > end:
                    return None
                member, p.systems, p.table_error = self._table(cut(buf, at - size, at), systems)
                rest.append(member)
            elif index == I_DELIVERY_MODE or index == I_PRIORITY:  # noqa: SIM109
                if at >= end:
                    return None
                number = buf[at]
                at += 1
                if index == I_PRIORITY:
                    p.priority = number
                    member = PRIORITIES[number]
                else:
                    p.durable = 1 if number == PERSISTENT else 0
                    member = DELIVERY_MODES[number]
            elif index == I_TIMESTAMP:
                if at + 8 > end:
                    return None
                number = be64(buf, at)
                at += 8
                member = f'"timestamp":{number}'
                if number < MAX_TIMESTAMP:
                    p.created_ms = number * 1000
                else:
                    rest.append(member)
            else:
                if at >= end:
                    return None
                size = buf[at]
                at += 1 + size
                if at > end:
                    return None
                member = self._text(p, index, buf, at - size, at, rest)
            shown.append(member)
        if at != end:
            return None
        if shown:
            p.json = f"{{{','.join(shown)}}}"
        if rest:
            p.rest_json = f"{{{','.join(rest)}}}"
        if flags & NAME_FLAGS and p.table_error is None:
            self.named.learn(p, shown, buf, start + CLASS_TO_SIZE, end)
        return p

    def _text(
        self,
        p: Properties,
        index: cython.int,
        buf: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        rest: list,
    ):
        """A short string's place; its JSON member."""
        raw: bytes
        known: tuple
        if index == I_MESSAGE_ID:
            p.message_id = raw = cut(buf, at, end)
            return '"message-id":' + encode_basestring(raw.decode("utf-8"))
        if index == I_CORRELATION_ID:
            p.correlation_id = raw = cut(buf, at, end)
            return '"correlation-id":' + encode_basestring(raw.decode("utf-8"))
        known = self.last_texts[index]
        if known is None or not is_same(buf, at, end, known[0]):
            known = self._short_string(index, cut(buf, at, end))
            self.last_texts[index] = known
        _, text, member, column = known
        if column is not None:
            p.text_columns.append(column)
        elif index == I_EXPIRATION and text.isascii() and text.isdigit() and len(text) < 18:
            p.ttl_ms = int(text)
        else:
            rest.append(member)
        return member

    def _short_string(self, index: cython.int, raw: bytes) -> tuple:
        """What is remembered of a short string: see `texts`."""
        known = self.texts.get((index, raw))
        if known is None:
            text = raw.decode("utf-8")
            name = BASIC[index]
            position = POSITIONS.get(COLUMNS.get(name))
            column = None if position is None else (position, text)
            known = (raw, text, f'"{name}":' + encode_basestring(text), column)
            if len(self.texts) >= MAX_REMEMBERED:
                self.texts.clear()
            self.texts[index, raw] = known
        return known

    def _table(self, raw: bytes, systems) -> tuple:
        known = self.tables.get(raw)
        if known is None:
            table = decode_table(raw, systems)
            is_read = table.error is None and len(table.entries) > 0
            system = table.system if is_read else ""
            known = (json_member("headers", to_json(table)), system, table.error)
            if len(self.tables) >= MAX_REMEMBERED:
                self.tables.clear()
            self.tables[raw] = known
        return known
