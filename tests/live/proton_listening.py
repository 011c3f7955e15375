"""A qpid-proton container that listens in a thread: what the proton peers have in common."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from proton import Event
from proton.handlers import MessagingHandler
from proton.reactor import Container

from tests.live.waiting import PATIENCE_S, free_ports


class ListeningThread(MessagingHandler):
    """`with` it a peer serves that many connections, then is gone."""

    def __init__(self, prefetch: int = 0, connections: int = 1) -> None:
        super().__init__(prefetch=prefetch, auto_accept=False, auto_settle=False)
        (self.port,) = free_ports(1)
        self.connections_left = connections
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=Container(self).run, daemon=True)

    def __enter__(self) -> Any:
        self._thread.start()
        assert self._is_ready.wait(PATIENCE_S), "the peer does not listen"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._thread.join(PATIENCE_S)
            assert not self._thread.is_alive(), "the peer still has connections"

    def on_start(self, event: Event) -> None:
        self._acceptor = event.container.listen(f"127.0.0.1:{self.port}")
        self._is_ready.set()

    def on_transport_closed(self, event: Event) -> None:
        self.connections_left -= 1
        if self.connections_left == 0:
            self._acceptor.close()
