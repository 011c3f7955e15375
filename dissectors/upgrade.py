"""The HTTP/1.1 exchange that turns a connection into a WebSocket for AMQP (RFC 6455 §4).

Reads heads only, as far as they tell whether AMQP follows; it is no HTTP implementation.
"""

from __future__ import annotations

# "amqp" is the OASIS binding's subprotocol (AMQP WebSocket Binding 1.0 §2.1), the other is of its
# draft.
SUBPROTOCOLS = frozenset({"amqp", "amqpwsb10"})
HEAD_END = b"\r\n\r\n"
# A longer head is not read: servers refuse such requests too.
MAX_HEAD_BYTES = 16 * 1024
_SWITCHING = b"101"


def head_size(octets: bytes) -> int:
    """Octets of the head that opens these bytes; 0 while its end is not there; -1 = too long."""
    end = octets.find(HEAD_END, 0, MAX_HEAD_BYTES)
    if end >= 0:
        return end + len(HEAD_END)
    return 0 if len(octets) < MAX_HEAD_BYTES else -1


def is_switch(head: bytes) -> bool:
    """Whether a response agrees to change protocols."""
    return head.startswith(b"HTTP/1.1 " + _SWITCHING)


def is_amqp_upgrade(head: bytes) -> bool:
    """Whether a request asks for, or a response grants, a WebSocket that carries AMQP."""
    fields = read_fields(head)
    offered = fields.get("sec-websocket-protocol", "").split(",")
    return "websocket" in fields.get("upgrade", "").lower() and any(
        name.strip().lower() in SUBPROTOCOLS for name in offered
    )


def read_fields(head: bytes) -> dict[str, str]:
    """Header fields by lower-case name; repeated ones are joined, as HTTP allows."""
    fields: dict[str, str] = {}
    for line in head.partition(HEAD_END)[0].split(b"\r\n")[1:]:
        name, _, value = line.decode("latin-1").partition(":")
        key = name.strip().lower()
        fields[key] = f"{fields[key]},{value.strip()}" if key in fields else value.strip()
    return fields
