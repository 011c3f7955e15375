"""What a user may choose about a dissection. Plain values: safe to send to another process."""

from __future__ import annotations

from dataclasses import dataclass, field

# IANA: amqp and amqps. Only used to tell who is the server and what deserves a row when no
# AMQP is found; AMQP itself is found on any port.
AMQP_PORTS = frozenset({5671, 5672})


@dataclass(frozen=True, slots=True)
class Options:
    # port → dialect forced by the user; None = AMQP for sure, dialect to be found.
    forced_ports: dict[int, str | None] = field(default_factory=dict)
    has_payloads: bool = False
    keylog: str | None = None

    def is_amqp_port(self, port: int) -> bool:
        return port in AMQP_PORTS or port in self.forced_ports
