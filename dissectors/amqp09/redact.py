"""What may leave the decoder: the fields of a method with its secrets taken out.

The codec keeps all octets because a replay needs them; every row is made from here. A SASL
response, a challenge's answer and a rotated secret are never shown; that they were there, and how
long they were, is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .methods import DecodedMethod

# class.method -> arguments that are secret, in every dialect
SECRETS: dict[str, frozenset[str]] = {
    "connection.start-ok": frozenset({"response"}),
    "connection.secure-ok": frozenset({"response"}),
    "connection.update-secret": frozenset({"new-secret"}),
    "message.transfer": frozenset({"security-token"}),
}
_NONE: frozenset[str] = frozenset()


def shown_fields(decoded: DecodedMethod) -> Iterator[tuple[str, Any]]:
    """(name, value) of a method's arguments, secrets as `<n octets>`."""
    secret = SECRETS.get(decoded.method.full_name, _NONE)
    for name, value in decoded.fields.as_dict().items():
        yield (name, f"<{len(value)} octets>") if name in secret else (name, value)


def may_show_octets(method_name: str) -> bool:
    """Whether raw octets of this method may appear in a problem row."""
    return method_name not in SECRETS
