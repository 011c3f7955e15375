"""What a user may choose about a dissection. Plain values: safe to send to another process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# IANA: amqp and amqps. Only used to tell who is the server and what deserves a row when no
# AMQP is found; AMQP itself is found on any port.
AMQP_PORTS = frozenset({5671, 5672})


class Options(NamedTuple):
    # port → dialect forced by the user; None = AMQP for sure, dialect to be found.
    forced_ports: Mapping[int, str | None] = {}
    has_payloads: bool = False
    keylog: str | None = None

    def is_amqp_port(self, port: int) -> bool:
        return port in AMQP_PORTS or port in self.forced_ports
