"""The quick look at a message: where its sections are, how large its body is and its hash.

Walks section extents only (1.0 §3.2). Whatever it does not understand goes to `message.py`,
which reads the same octets by the tables and names what is wrong.
"""

import cython
from xxhash import xxh3_64

from dissectors.amqp10.delivery import Delivery
from dissectors.amqp10.link import Link
from dissectors.amqp10.octets import after_code, cut, is_same, read_code, skip_value
from dissectors.core.digest import digest
from dissectors.core.rows import NULL_CELL, signed_int64
from dissectors.core.words import word

NULL = cython.declare(cython.longlong, NULL_CELL)
HEADER = cython.declare(cython.int, 0x70)
APPLICATION_PROPERTIES = cython.declare(cython.int, 0x74)
DATA = cython.declare(cython.int, 0x75)
SEQUENCE = cython.declare(cython.int, 0x76)
VALUE = cython.declare(cython.int, 0x77)
FOOTER = cython.declare(cython.int, 0x78)
KIND_DATA = cython.declare(cython.longlong, word("data"))
KIND_SEQUENCE = cython.declare(cython.longlong, word("sequence"))
KIND_VALUE = cython.declare(cython.longlong, word("value"))


def scan_message(
    delivery: Delivery,
    link: Link,
    buf: bytes,
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.int:
    """Fill the delivery's head (all sections but the body), body kind, size and hash.

    0 when some octets are no section in its place: nothing is filled then.
    """
    octets: cython.p_uchar = buf
    at: cython.Py_ssize_t = start
    stop: cython.Py_ssize_t
    content: cython.Py_ssize_t
    code: cython.longlong
    last: cython.longlong = HEADER
    head_end: cython.Py_ssize_t = start
    body_start: cython.Py_ssize_t = 0
    body_end: cython.Py_ssize_t = 0
    body_bytes: cython.longlong = 0
    kind: cython.longlong = NULL
    sections: cython.int = 0
    hasher = None
    tail: bytes = None
    if not 0 <= start <= end <= len(buf):
        return 0
    while at < end:
        if at + 3 < end and not octets[at] and octets[at + 1] == 0x53:
            code = octets[at + 2]
            content = at + 3
        else:
            code = read_code(buf, at, end)
            content = after_code(buf, at) if code >= 0 else at
        if code < last or code > FOOTER:
            return 0
        stop = skip_value(buf, content, end, 0)
        if stop < 0:
            return 0
        if code <= APPLICATION_PROPERTIES:
            if code == last and at > start:
                return 0
            head_end = stop
        elif code == FOOTER:
            tail = cut(buf, at, stop)
        else:
            if sections and (code != last or code == VALUE):
                return 0
            content = _content(buf, content, code)
            if content < 0:
                return 0
            if sections:
                if hasher is None:
                    hasher = xxh3_64(buf[body_start:body_end])
                hasher.update(buf[content:stop])
            else:
                kind = (
                    KIND_DATA if code == DATA else KIND_SEQUENCE if code == SEQUENCE else KIND_VALUE
                )
                body_start = content
                body_end = stop
            body_bytes += stop - content
            sections += 1
        last = code
        at = stop
    if tail is not None:
        delivery.head = buf[start:head_end] + tail
    elif head_end > start:
        # Messages without properties of their own have the head of the one before.
        if link.last_head is None or not is_same(buf, start, head_end, link.last_head):
            link.last_head = cut(buf, start, head_end)
        delivery.head = link.last_head
    delivery.body_kind = kind
    delivery.body_bytes = body_bytes
    if hasher is not None:
        delivery.body_hash = signed_int64(hasher.intdigest())
    elif sections:
        if cython.compiled:
            delivery.body_hash = cython.cast(cython.longlong, digest(buf, body_start, body_end))
        else:
            delivery.body_hash = signed_int64(digest(buf, body_start, body_end))
    return 1


def _content(buf: bytes, at: cython.Py_ssize_t, code: cython.longlong) -> cython.Py_ssize_t:
    """Where the body's octets begin in a body section's value; -1 if its type is not right."""
    kind: cython.int = buf[at]
    if code == DATA:
        if kind == 0xA0:
            return at + 2
        return at + 5 if kind == 0xB0 else -1
    if code == SEQUENCE:
        return at if kind == 0xC0 or kind == 0xD0 or kind == 0x45 else -1
    # A string, symbol or binary value: its content is the body, as in a data section.
    if kind == 0xA0 or kind == 0xA1 or kind == 0xA3:
        return at + 2
    if kind == 0xB0 or kind == 0xB1 or kind == 0xB3:
        return at + 5
    return at
