"""What a message's sections say beside the columns of `transfers`, as JSON."""

from __future__ import annotations

from .composites import STANDARD
from .render import composite_tree, dump, tree

#: Fields that the row has columns for, so that the JSON need not repeat them.
_IN_COLUMNS = frozenset(
    (
        "durable",
        "priority",
        "ttl",
        "message-id",
        "user-id",
        "to",
        "subject",
        "reply-to",
        "correlation-id",
        "content-type",
        "content-encoding",
        "creation-time",
        "group-id",
    )
)


def section_json(section: bytes) -> str:
    """`"name":{…}` of one section, less what has columns; empty if nothing is left."""
    value = STANDARD.types.decode(section, 0, len(section), [])
    definition = STANDARD.definition_of(value)
    if definition is None:
        return ""
    composite = STANDARD.decode(value, [])
    if composite is not None:
        data = composite_tree(STANDARD, composite, _IN_COLUMNS)
    else:
        data = tree(STANDARD, value.data)
    return f"{dump(definition.name)}:{dump(data)}" if data else ""
