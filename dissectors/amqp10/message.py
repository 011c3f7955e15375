"""A message's sections (1.0 §3.2): from the joined payload of its transfers to named parts.

Delivery, link and settlement are not known here. The body is also given as byte ranges, so that
its size and hash need no copy: the octets inside `data` sections and inside a string, symbol or
binary `amqp-value`; of any other body the encoded values themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .composites import Composite, Vocabulary
from .plain import guess
from .schema import Definition
from .types import Described, Malformed, Problem, Value

#: Message formats with this high part follow the standard's section format (1.0 §2.8.11).
STANDARD_FORMAT = 0

#: Body kinds by section, as the `transfers` table calls them.
BODY_KINDS = {"data": "data", "amqp-sequence": "sequence", "amqp-value": "value"}

#: 1.0 §3.2: the order in which sections may come; the body kinds share one place.
_PLACES = {
    "header": 0,
    "delivery-annotations": 1,
    "message-annotations": 2,
    "properties": 3,
    "application-properties": 4,
    "data": 5,
    "amqp-sequence": 5,
    "amqp-value": 5,
    "footer": 6,
}
_SYMBOL_KEYS = frozenset(("delivery-annotations", "message-annotations", "footer"))
#: amqp-values whose content, not encoding, is the body.
_CONTENT_TYPES = frozenset(("string", "symbol", "binary"))


class Section:
    """One section: its name, its described value, and its fields if it is a composite."""

    __slots__ = ("composite", "name", "value")

    def __init__(self, name: str, value: Described, composite: Composite | None) -> None:
        self.name = name
        self.value = value
        self.composite = composite


class Message:
    """The sections of one message in wire order, and where its body is."""

    __slots__ = ("body_kind", "body_ranges", "sections")

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.body_kind: str | None = None
        self.body_ranges: list[tuple[int, int]] = []

    @property
    def body_bytes(self) -> int:
        return sum(end - start for start, end in self.body_ranges)

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((section for section in self.sections if section.name == name), None)

    def field(self, section: str, field: str) -> Any:
        """A field of `header` or `properties`; None when the section is not there."""
        found = self.section(section)
        return None if found is None or found.composite is None else found.composite[field]


def decode_message(
    vocabulary: Vocabulary,
    payload: bytes | memoryview,
    problems: list[Problem],
    start: int = 0,
) -> Message:
    """All sections that can be read; the first octets that are no section end the message."""
    message = Message()
    end = len(payload)
    place = -1
    while start < end:
        value = vocabulary.types.decode(payload, start, end, problems)
        start = value.end
        definition = vocabulary.definition_of(value)
        if definition is None or "section" not in definition.provides:
            if not isinstance(value, Malformed):
                detail = f"{value.type} where a section should be"
                problems.append(Problem("message10.unknown_section", detail, value.start))
            continue
        assert isinstance(value, Described)
        composite = vocabulary.decode(value, problems) if definition.is_composite else None
        message.sections.append(Section(definition.name, value, composite))
        if _PLACES[definition.name] < place:
            detail = f"{definition.name} comes too late"
            problems.append(Problem("message10.section_order", detail, value.start))
        place = max(place, _PLACES[definition.name])
        if definition.name in BODY_KINDS:
            _add_body(message, definition.name, value, problems)
    return message


def _add_body(message: Message, name: str, value: Described, problems: list[Problem]) -> None:
    kind = BODY_KINDS[name]
    if message.body_kind is None:
        message.body_kind = kind
    elif message.body_kind != kind or kind == "value":
        detail = f"a {kind} section after a {message.body_kind} section"
        problems.append(Problem("message10.mixed_body", detail, value.start))
    content = value.data
    begin = content.start
    if content.type in _CONTENT_TYPES and not isinstance(content, Malformed):
        begin += 1 + content.encoding.width
    message.body_ranges.append((begin, content.end))


def encode_section(vocabulary: Vocabulary, name: str, content: Any) -> bytes:
    """One section: fields by name for a composite, otherwise plain Python or a ready value."""
    definition = vocabulary.by_name[name]
    if definition.is_composite:
        return vocabulary.types.encode(vocabulary.encode(name, content))
    value = _section_value(vocabulary, definition, content)
    return vocabulary.types.encode(Described(vocabulary.descriptor(definition), value))


def encode_message(vocabulary: Vocabulary, sections: Mapping[str, Any]) -> bytes:
    """A message from one section of each name given, in the order of the standard."""
    names = sorted(sections, key=_PLACES.__getitem__)
    return b"".join(encode_section(vocabulary, name, sections[name]) for name in names)


def _section_value(vocabulary: Vocabulary, definition: Definition, content: Any) -> Value:
    if isinstance(content, Value):
        return content
    if definition.source == "binary":
        return vocabulary.types.make("binary", content)
    # Annotations and footers have symbols as keys, application-properties strings (1.0 §3.2).
    key_type = "symbol" if definition.name in _SYMBOL_KEYS else "string"
    return guess(vocabulary.types, content, key_type)
