"""Waiting for a condition, never for a time: slow machines only make it longer."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable
from contextlib import suppress

# Long enough for a busy two-core machine; nothing that works comes near it.
PATIENCE_S = 60.0
POLL_S = 0.02
# Below the ports of outgoing connections (Linux: from 32768 on), above those of known services.
SERVER_PORTS = range(12_000, 32_000)


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
    """Ports that nobody has at this moment; all different.

    Not those that the system gives to outgoing connections: one of these could have the port
    before the server that it is meant for, or connect to itself where nobody listens.
    """
    sockets: list[socket.socket] = []
    while len(sockets) < count:
        with suppress(OSError):
            sockets.append(socket.create_server(("127.0.0.1", random.choice(SERVER_PORTS))))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
