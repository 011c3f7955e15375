"""Property lists that differ from an earlier one only in what names their message.

A sender that gives each message an identifier repeats the rest of the list. So a list that was
read is kept in pieces, octets and the JSON they became, and the next one is compared piece by
piece; nothing but the identifiers and the time is read anew. It reads no list by itself:
`property_memory` does, and teaches it.
"""

import cython

from dissectors.amqp09.properties import Properties

if not cython.compiled:
    from dissectors.amqp09.wire import be16, be32, be64, cut, is_plain, is_same

# Heads of lists remembered per connection, and how long a list may be for that.
MAX_REMEMBERED = 1024
MAX_LIST_BYTES = cython.declare(cython.Py_ssize_t, 0x10000)
# The basic class's properties by flag.
CONTENT_TYPE = cython.declare(cython.int, 0x8000)
CONTENT_ENCODING = cython.declare(cython.int, 0x4000)
HEADERS = cython.declare(cython.int, 0x2000)
DELIVERY_MODE = cython.declare(cython.int, 0x1000)
PRIORITY = cython.declare(cython.int, 0x0800)
CORRELATION_ID = cython.declare(cython.int, 0x0400)
REPLY_TO = cython.declare(cython.int, 0x0200)
EXPIRATION = cython.declare(cython.int, 0x0100)
MESSAGE_ID = cython.declare(cython.int, 0x0080)
TIMESTAMP = cython.declare(cython.int, 0x0040)
# What differs from message to message, and what of it makes a list worth keeping in pieces.
VARIABLES = (CORRELATION_ID, MESSAGE_ID, TIMESTAMP)
NAMES = CORRELATION_ID | MESSAGE_ID
FLAGS_SIZE = cython.declare(cython.int, 2)
TIMESTAMP_SIZE = cython.declare(cython.int, 8)
# Later ones are no times (`properties`).
MAX_TIMESTAMP = cython.declare(cython.ulonglong, 1 << 53)


class NamedList:
    """One such list: head, correlation-id, between, message-id, timestamp, tail."""

    def __init__(self, p: Properties, flags: int) -> None:
        self.properties = p
        self.head = self.between = self.tail = b""
        self.has_correlation_id = flags & CORRELATION_ID != 0
        self.has_message_id = flags & MESSAGE_ID != 0
        self.has_timestamp = flags & TIMESTAMP != 0
        # JSON from the message-id's end to the time, and after it; both with this time. What stands
        # before is in the properties.
        self.json_after = self.json_tail = ""
        self.timestamp = 0
        self.json_end = b""

    def read(
        self, buf: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> Properties | None:
        """Properties at [start, end), which begins with this head; None if the rest is other."""
        timestamp: cython.ulonglong = 0
        at: cython.Py_ssize_t = start + len(self.head)
        correlation_at: cython.Py_ssize_t = at
        correlation_end: cython.Py_ssize_t = at
        message_at: cython.Py_ssize_t
        message_end: cython.Py_ssize_t
        p: Properties
        if self.has_correlation_id:
            if at >= end:
                return None
            correlation_at = at + 1
            correlation_end = at = correlation_at + buf[at]
        if not is_same(buf, at, at + len(self.between), self.between):
            return None
        message_at = message_end = at = at + len(self.between)
        if self.has_message_id:
            if at >= end:
                return None
            message_at = at + 1
            message_end = at = message_at + buf[at]
        if self.has_timestamp:
            if at + TIMESTAMP_SIZE > end:
                return None
            timestamp = be64(buf, at)
            at += TIMESTAMP_SIZE
        if not is_same(buf, at, end, self.tail) or timestamp >= MAX_TIMESTAMP:
            return None
        if not is_plain(buf, correlation_at, correlation_end):
            return None
        if not is_plain(buf, message_at, message_end):
            return None
        if timestamp != self.timestamp:
            self._set_timestamp(timestamp)
        p = self.properties.renamed()
        p.octets = end - start
        if self.has_correlation_id:
            p.correlation_id = cut(buf, correlation_at, correlation_end)
        if self.has_message_id:
            p.message_id = cut(buf, message_at, message_end)
        if self.has_timestamp:
            p.created_ms = timestamp * 1000
        p.json_end = self.json_end
        return p

    def _set_timestamp(self, timestamp: cython.ulonglong) -> cython.int:
        self.timestamp = timestamp
        shown: str = f"{timestamp}" if self.has_timestamp else ""
        self.json_end = f"{self.json_after}{shown}{self.json_tail}".encode()
        return 0


class NamedLists:
    """Lists in pieces, by their heads."""

    def __init__(self) -> None:
        self.known: dict = {}
        self.last = None

    def find(
        self, buf: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> Properties | None:
        """Properties of the list at [start, end), if one like it was learned."""
        last: NamedList = self.last
        at: cython.Py_ssize_t
        if last is None:
            return None
        at = start + len(last.head)
        if at > end or not is_same(buf, start, at, last.head):
            at = head_end(buf, start, end)
            if not at:
                return None
            last = self.known.get(cut(buf, start, at))
            if last is None:
                return None
            self.last = last
        return last.read(buf, start, end)

    def learn(
        self,
        p: Properties,
        members: list,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.int:
        """Keep a list that was read well, from the flags on, and the JSON of its properties."""
        if end - start > MAX_LIST_BYTES:
            return 0
        flags: cython.int = be16(buf, start)
        at: cython.Py_ssize_t = head_end(buf, start, end)
        place: cython.Py_ssize_t
        flag: cython.int
        new: NamedList = NamedList(p, flags)
        new.head = cut(buf, start, at)
        if flags & CORRELATION_ID:
            at += 1 + buf[at]
        place = at
        for flag in (REPLY_TO, EXPIRATION):
            if flags & flag:
                at += 1 + buf[at]
        new.between = cut(buf, place, at)
        if flags & MESSAGE_ID:
            at += 1 + buf[at]
        if flags & TIMESTAMP:
            new.timestamp = be64(buf, at)
            at += TIMESTAMP_SIZE
            if new.timestamp >= MAX_TIMESTAMP:
                return 0
        new.tail = cut(buf, at, end)
        pieces: list = _pieces(flags, members)
        if flags & CORRELATION_ID:
            p.json_head = pieces.pop(0).encode()
        if flags & MESSAGE_ID:
            p.json_between = pieces.pop(0).encode()
        if flags & TIMESTAMP:
            new.json_after = pieces.pop(0)
        new.json_tail = pieces.pop(0)
        new._set_timestamp(new.timestamp)
        if len(self.known) >= MAX_REMEMBERED:
            self.known.clear()
        self.known[new.head] = self.last = new
        return 0


def head_end(buf: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the correlation-id of the list at [at, end) is or would be; 0 if not inside."""
    flags: cython.int
    if at + FLAGS_SIZE > end:
        return 0
    flags = be16(buf, at)
    at += FLAGS_SIZE
    if flags & CONTENT_TYPE and at < end:
        at += 1 + buf[at]
    if flags & CONTENT_ENCODING and at < end:
        at += 1 + buf[at]
    if flags & HEADERS and at + 4 <= end:
        at += 4 + be32(buf, at)
    if flags & DELIVERY_MODE:
        at += 1
    if flags & PRIORITY:
        at += 1
    return at if at <= end else 0


def _pieces(flags: int, members: list) -> list:
    """The JSON object of these members, cut where a value stands that may differ."""
    pieces = [""]
    separator = "{"
    flag = CONTENT_TYPE
    for member in members:
        while not flags & flag:
            flag >>= 1
        if flag in VARIABLES:
            quote = "" if flag == TIMESTAMP else '"'
            name = member[: member.index(":") + 1]
            pieces[-1] += separator + name + quote
            pieces.append(quote)
        else:
            pieces[-1] += separator + member
        separator = ","
        flag >>= 1
    pieces[-1] += "}"
    return pieces
