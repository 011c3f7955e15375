"""Waiting for a condition, never for a time: slow machines only make it longer."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

# Long enough for a busy two-core machine; nothing that works comes near it.
PATIENCE_S = 60.0
POLL_S = 0.02


def until(condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {patience_s:.0f} s")
        time.sleep(POLL_S)


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def free_ports(count: int) -> list[int]:
    """Ports that nobody has at this moment; all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
