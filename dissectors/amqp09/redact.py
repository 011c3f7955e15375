"""What may leave the decoder: the fields of a method with its secrets taken out.

The codec keeps all octets because a replay needs them; every row is made from here. A SASL
response, a challenge's answer and a rotated secret are never shown; that they were there, and how
long they were, is. Where a length was damaged the mechanism before a response, or the locale behind
it, may hold a part of it: what cannot be such a name (RFC 4422 §3.1) is treated as a secret too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .field_tables import FieldTable
from .methods import DecodedMethod

# class.method -> arguments that are secret, in every dialect
SECRETS: dict[str, frozenset[str]] = {
    "connection.start-ok": frozenset({"response"}),
    "connection.secure-ok": frozenset({"response"}),
    "connection.update-secret": frozenset({"new-secret"}),
    "message.transfer": frozenset({"security-token"}),
}
_NONE: frozenset[str] = frozenset()
# Arguments that are names, next to the secret.
_NAMES = frozenset({"mechanism", "locale"})
_NAME = re.compile(r"[A-Za-z0-9_.-]{0,20}")


def shown_fields(decoded: DecodedMethod) -> Iterator[tuple[str, Any]]:
    """(name, value) of a method's arguments, secrets as `<n octets>`."""
    secret = SECRETS.get(decoded.method.full_name, _NONE)
    for name, value in decoded.fields.as_dict().items():
        if name in _NAMES:
            value = shown_name(value)
        elif secret:
            value = shown_table(value)
        yield (name, f"<{len(value)} octets>") if name in secret else (name, value)


def shown_name(name: str | None) -> str | None:
    """A mechanism or locale, if it can be one."""
    if name is None or _NAME.fullmatch(name):
        return name
    return f"<{len(name)} octets>"


def shown_table(value: Any) -> Any:
    """A table beside a secret: where it cannot be read, its octets may be those of the secret."""
    if isinstance(value, FieldTable) and value.error is not None:
        return f"<{len(value.raw)} octets>"
    return value


def may_show_octets(method_name: str) -> bool:
    """Whether raw octets of this method may appear in a problem row."""
    return method_name not in SECRETS
