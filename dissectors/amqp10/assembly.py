"""The end of a message: its joined octets become head, body size and hash of its delivery."""

import cython
from xxhash import xxh3_64_intdigest

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.delivery import Delivery
from dissectors.amqp10.link import Link
from dissectors.amqp10.message import decode_message
from dissectors.amqp10.sections import scan_message
from dissectors.amqp10.settlement import Settlement
from dissectors.core.rows import NULL_CELL, signed_int64
from dissectors.core.words import word

#: 1.0 §2.8.11: the upper three octets of a message-format; 0 is the standard's own.
FORMAT_SHIFT = 8
#: The operation of claims-based security that carries a token, where its link is not known.
PUT_TOKEN = b"put-token"


def finish_message(
    state: Settlement,
    delivery: Delivery,
    buf: bytes,
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.int:
    """Read the message in buf[start:end], all of which has come."""
    link: Link = delivery.link
    if state.reader is not None:
        state.reader.finish(state, delivery, buf[start:end])
        return 0
    if delivery.is_whole and not scan_message(delivery, link, buf, start, end):
        _read_by_tables(state, delivery, buf[start:end])
    elif not delivery.is_whole:
        delivery.body_bytes = delivery.message_bytes
    if link.is_coordinator:
        state.transactions.asked(delivery, buf[start:end])
    if link.is_secret or (link.is_inferred and PUT_TOKEN in delivery.head):
        # Tokens put to `$cbs` are credentials: not even their hash leaves.
        delivery.body_hash = NULL_CELL
    elif state.conn.has_payloads and delivery.is_whole:
        body = body_octets(buf[start:end])
        state.conn.sink.payloads.append(
            {
                "connection_id": state.conn.connection_id,
                "transfer_id": delivery.transfer_id,
                "body": body,
            }
        )
    return 0


def body_octets(payload: bytes) -> bytes:
    """The body as size and hash count it (see `message.py`)."""
    message = decode_message(STANDARD, payload, [])
    return b"".join(payload[begin:stop] for begin, stop in message.body_ranges)


def _read_by_tables(state, delivery: Delivery, payload: bytes) -> None:
    """What the quick scan did not understand: read it by the tables, and say what is wrong."""
    problems: list = []
    message = decode_message(STANDARD, payload, problems)
    is_standard = delivery.message_format >> FORMAT_SHIFT == 0
    if problems and not is_standard:
        # Another format's octets are not ours to judge.
        delivery.body_bytes = len(payload)
        delivery.body_hash = signed_int64(xxh3_64_intdigest(payload))
        return
    for problem in problems:
        detail = f"{problem.detail} (octet {problem.offset} of the message)"
        state.problem(problem.code, detail, delivery.side)
    heads = [s for s in message.sections if s.name not in ("data", "amqp-sequence", "amqp-value")]
    delivery.head = b"".join(
        payload[s.value.start : s.value.end] if s.value.descriptor.type == "ulong" else _numbered(s)
        for s in heads
    )
    if message.body_kind is not None:
        body = b"".join(payload[begin:stop] for begin, stop in message.body_ranges)
        delivery.body_kind = word(message.body_kind)
        delivery.body_bytes = len(body)
        delivery.body_hash = signed_int64(xxh3_64_intdigest(body))


def _numbered(section) -> bytes:
    """A section that came with a symbolic descriptor, with its numeric one."""
    code = STANDARD.descriptor(STANDARD.by_name[section.name])
    return b"\x00" + STANDARD.types.encode(code) + STANDARD.types.encode(section.value.data)
