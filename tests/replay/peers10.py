"""Live peers and clients of 1.0 for replays, made with qpid-proton; all of them count."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any

from proton import Event, Message
from proton.handlers import MessagingHandler
from proton.reactor import Container
from proton.utils import BlockingConnection

from tests.live.proton_client import Client, settle
from tests.live.proton_peer import Peer
from tests.live.waiting import PATIENCE_S


class DynamicPeer(Peer):
    """Also makes nodes on request, and answers requests at the address that they name."""

    def __init__(self, connections: int = 1) -> None:
        super().__init__(connections)
        self.made: list[str] = []
        self.replies: list[tuple[str, str, str]] = []
        self.containers: list[str] = []
        self._answering: dict[str, Any] = {}

    def on_connection_opening(self, event: Event) -> None:
        self.containers.append(event.connection.remote_container)

    def on_link_opening(self, event: Event) -> None:
        link = event.link
        if link.is_sender and link.remote_source.dynamic:
            link.source.address = f"made/{uuid.uuid4()}"
            self.made.append(link.source.address)
            self._answering[link.source.address] = link
        else:
            super().on_link_opening(event)

    def on_sendable(self, event: Event) -> None:
        if event.link.source.address not in self._answering:
            super().on_sendable(event)

    def on_link_flow(self, event: Event) -> None:
        if event.link.source.address not in self._answering:
            super().on_link_flow(event)

    def on_message(self, event: Event) -> None:
        message = event.message
        if message.reply_to is None:
            super().on_message(event)
            return
        self.received += 1
        self.replies.append((message.reply_to, str(message.id), str(message.body)))
        settle(event.delivery, "accepted")
        answer = Message(body=f"answer to {message.id}", correlation_id=message.id)
        self._answering[message.reply_to].send(answer)


def ask(port: int) -> None:
    """Requests with a dynamic reply address, which also stands in the bodies."""
    connection = BlockingConnection(f"amqp://guest:guest@127.0.0.1:{port}", timeout=PATIENCE_S)
    answers = connection.create_receiver(None, dynamic=True, credit=10)
    address = answers.link.remote_source.address
    requests = connection.create_sender("in.accepted")
    for number in range(3):
        body = f"question {number}, answer to {address}"
        requests.send(Message(body=body, reply_to=address, id=f"id-{number}"))
        answer = answers.receive(timeout=PATIENCE_S)
        assert answer.correlation_id == f"id-{number}"
        answers.accept()
    connection.close()


def send_large(port: int) -> None:
    """Messages of one and of several frames, there and back over a queue of RabbitMQ."""
    connection = BlockingConnection(f"amqp://guest:guest@127.0.0.1:{port}", timeout=PATIENCE_S)
    sender = connection.create_sender("/queue/large")
    receiver = connection.create_receiver("/queue/large", credit=5)
    for size in (10, 200_000, 70_000):
        sender.send(Message(body=b"L" * size, inferred=True))
        assert len(receiver.receive(timeout=PATIENCE_S).body) == size
        receiver.accept()
    connection.close()


class ManyLinks(Client):
    """Two sessions with two sending links and a receiving one each."""

    MESSAGES = 6

    def __init__(self, port: int) -> None:
        super().__init__(port, "in.accepted")
        self.received = 0

    def open_link(self, container: Container) -> None:
        self.unsent: dict[str, int] = {}
        for number in range(2):
            session = self.connection.session()
            session.open()
            for name in ("a", "b"):
                link = session.sender(f"send-{number}{name}")
                link.target.address = "in.accepted" if name == "a" else "in.released"
                link.open()
                self.unsent[link.name] = self.MESSAGES
            link = session.receiver(f"receive-{number}")
            link.source.address = f"out.{self.MESSAGES}"
            link.open()
            link.flow(self.MESSAGES)

    def on_sendable(self, event: Event) -> None:
        link = event.link
        while link.credit and self.unsent[link.name]:
            self.unsent[link.name] -= 1
            link.send(Message(body=f"{link.name} {self.unsent[link.name]}".encode(), inferred=True))

    def on_message(self, event: Event) -> None:
        self.received += 1
        settle(event.delivery, "accepted")
        self._check()

    def on_delivery(self, event: Event) -> None:
        if event.delivery.link.is_sender and event.delivery.settled:
            self.outcomes[str(event.delivery.remote_state)] += 1
            event.delivery.settle()
            self._check()

    def _check(self) -> None:
        if self.received == 2 * self.MESSAGES and self.outcomes.total() == 4 * self.MESSAGES:
            self.finish()


class Sink(MessagingHandler):
    """Takes everything as fast as it comes: for load."""

    def __init__(self, port: int) -> None:
        super().__init__(prefetch=1000)
        self.port = port
        self.received = 0

    def on_start(self, event: Event) -> None:
        self.acceptor = event.container.listen(f"127.0.0.1:{self.port}")

    def on_message(self, event: Event) -> None:
        self.received += 1


class Served:
    """`with Served(run) as served:` runs a blocking server in a thread and keeps what it says."""

    def __init__(self, run: Callable[[Callable[[int], None]], Any]) -> None:
        self.port = 0
        self.result: Any = None
        self.error: BaseException | None = None
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(run,), daemon=True)

    def _run(self, run: Callable[[Callable[[int], None]], Any]) -> None:
        try:
            self.result = run(self._listening)
        except BaseException as error:
            self.error = error
            self._is_ready.set()

    def _listening(self, port: int) -> None:
        self.port = port
        self._is_ready.set()

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._is_ready.wait(PATIENCE_S), "the server does not listen"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._thread.join(PATIENCE_S)
            assert not self._thread.is_alive(), "the server does not end"
            assert self.error is None, self.error
