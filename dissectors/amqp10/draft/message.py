"""Messages of the draft (Book III §8.11, Book IV §2): fragments → sections → head and body.

A frame carries fragments; their contents, joined, are the message. A section goes from a
fragment marked first to one marked last, and its format-code says what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import xxhash

from dissectors.core.rows import NULL_CELL, signed_int64
from dissectors.core.words import word

from ..composites import Composite
from ..types import Described, Problem, Value
from .definitions import SECTION_CODES, SECTION_NUMBERS
from .vocabulary import DRAFT

#: Sections that are about the message, in the order of Book IV §2.
HEAD_SECTIONS = ("header", "properties", "footer")
#: What the `transfers` table calls a body of these sections.
BODY_KINDS = {"data": "data", "amqp-data": "value", "amqp-map": "value", "amqp-list": "sequence"}
#: Values whose content, not encoding, is the body, as in the published version's messages.
_CONTENT_TYPES = frozenset(("string", "symbol", "binary"))
#: Fragments of one message that are kept.
MAX_FRAGMENTS = 65_536


class Fragment(NamedTuple):
    """A fragment less its payload."""

    is_first: bool
    is_last: bool
    format_code: int
    offset: int | None
    size: int


class Section(NamedTuple):
    """A section by its name, or by its format-code where the draft has no name for it."""

    name: str
    octets: bytes


def read_fragments(fragments: Any) -> tuple[list[Fragment], bytes]:
    """The fragments of one transfer frame, and their joined payloads."""
    found, parts = [], []
    for fragment in fragments or ():
        if not isinstance(fragment, Composite) or fragment.name != "fragment":
            continue
        payload = fragment["payload"] or b""
        found.append(
            Fragment(
                bool(fragment["first"]),
                bool(fragment["last"]),
                fragment["format-code"] or 0,
                fragment["fragment-offset"],
                len(payload),
            )
        )
        parts.append(payload)
    return found, b"".join(parts)


def cut_sections(
    fragments: list[Fragment], message: bytes, problems: list[Problem]
) -> list[Section]:
    """The message's sections; a fragment that is out of place is told and kept."""
    sections: list[Section] = []
    at, code, is_open, octets = 0, -1, False, b""
    for fragment in fragments:
        if fragment.offset is not None and fragment.offset != at:
            detail = f"a fragment says offset {fragment.offset}, {at} octets came before it"
            problems.append(Problem("message10.bad_fragment", detail, at))
        if is_open and (fragment.is_first or fragment.format_code != code):
            problems.append(Problem("message10.bad_fragment", "a section has no last fragment", at))
            sections.append(Section(_name(code), octets))
            is_open = False
        if not is_open:
            if not fragment.is_first:
                problems.append(Problem("message10.bad_fragment", "no first fragment", at))
            is_open, code, octets = True, fragment.format_code, b""
        octets += message[at : at + fragment.size]
        at += fragment.size
        if fragment.is_last:
            sections.append(Section(_name(code), octets))
            is_open = False
    if is_open:
        problems.append(Problem("message10.bad_fragment", "the message ends in a section", at))
        sections.append(Section(_name(code), octets))
    return sections


def _name(code: int) -> str:
    return SECTION_CODES.get(code, f"section {code}")


class MessageReader:
    """Joins the messages of one connection; one is in the making per link."""

    def __init__(self) -> None:
        self._fragments: dict[int, list[Fragment]] = {}

    def add(self, link_id: int, fragments: list[Fragment], is_new: bool) -> None:
        """The fragments of a transfer that is about to be told to the state model."""
        if is_new:
            self._fragments[link_id] = []
        kept = self._fragments.setdefault(link_id, [])
        kept.extend(fragments[: MAX_FRAGMENTS - len(kept)])

    def finish(self, state: Any, delivery: Any, message: bytes) -> int:
        """All of a message has come: fill its delivery's head, body kind, size and hash."""
        fragments = self._fragments.pop(delivery.link.link_id, [])
        if not delivery.is_whole or sum(f.size for f in fragments) != len(message):
            delivery.is_whole = False
            delivery.body_bytes = delivery.message_bytes
            return 0
        problems: list[Problem] = []
        sections = cut_sections(fragments, message, problems)
        delivery.head = b"".join(s.octets for s in sections if s.name in HEAD_SECTIONS)
        body = [section for section in sections if section.name in BODY_KINDS]
        for section in sections:
            if section.name not in HEAD_SECTIONS and section.name not in BODY_KINDS:
                problems.append(Problem("message10.unknown_section", section.name, 0))
        values = body_values(body, problems)
        for problem in problems:
            state.problem(problem.code, problem.detail, delivery.side)
        if delivery.link.is_coordinator:
            request = DRAFT.decode(values[0], []) if len(values) == 1 else None
            state.transactions.asked(delivery, request)
        self._fill_body(state, delivery, body, values)
        return 0

    @staticmethod
    def _fill_body(state: Any, delivery: Any, body: list[Section], values: list[Value]) -> None:
        if not body:
            delivery.body_hash = NULL_CELL
            return
        octets = b"".join(section.octets for section in body)
        if len(values) == 1 and len(body) == 1 and values[0].type in _CONTENT_TYPES:
            only = values[0]
            octets = octets[only.start + 1 + only.encoding.width : only.end]
        delivery.body_kind = word(BODY_KINDS[body[0].name])
        delivery.body_bytes = len(octets)
        delivery.body_hash = signed_int64(xxhash.xxh3_64_intdigest(octets))
        if state.conn.has_payloads:
            state.conn.sink.payloads.append(
                {
                    "connection_id": state.conn.connection_id,
                    "transfer_id": delivery.transfer_id,
                    "body": octets,
                }
            )


def body_values(body: list[Section], problems: list[Problem]) -> list[Value]:
    """The AMQP values of the body's sections; opaque data has none."""
    values = []
    for section in body:
        at = 0
        while section.name != "data" and at < len(section.octets):
            value = DRAFT.types.decode(section.octets, at, len(section.octets), problems)
            values.append(value)
            at = max(value.end, at + 1)
    return values


# -- the other way ------------------------------------------------------------------------


def encode_section(name: str, content: Any) -> bytes:
    """One section's octets: fields by name for header, properties and footer, octets for data,
    a ready value or values for the others."""
    if name in HEAD_SECTIONS:
        return DRAFT.types.encode(DRAFT.encode(name, content)) if content is not None else b""
    if name == "data":
        return bytes(content)
    values = content if isinstance(content, (list, tuple)) else (content,)
    return b"".join(DRAFT.types.encode(value) for value in values)


def make_fragments(sections: Mapping[str, Any], max_payload_bytes: int = 0) -> list[Described]:
    """A message as fragments, each section cut into pieces of at most that many octets."""
    fragments, offset = [], 0
    for name, content in sections.items():
        octets = encode_section(name, content)
        step = max_payload_bytes or max(len(octets), 1)
        for at in range(0, max(len(octets), 1), step):
            piece = octets[at : at + step]
            fields = {
                "first": at == 0,
                "last": at + step >= len(octets),
                "format-code": SECTION_NUMBERS[name],
                "fragment-offset": offset,
                "payload": piece,
            }
            fragments.append(DRAFT.encode("fragment", fields))
            offset += len(piece)
    return fragments
