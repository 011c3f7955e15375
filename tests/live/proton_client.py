"""Clients made with qpid-proton that count what they do: one sender, one receiver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from proton import Condition, Delivery, Event, Message
from proton.handlers import MessagingHandler
from proton.reactor import AtMostOnce, Container

from tests.live.waiting import PATIENCE_S

STATES = {
    "accepted": Delivery.ACCEPTED,
    "rejected": Delivery.REJECTED,
    "released": Delivery.RELEASED,
    "modified": Delivery.MODIFIED,
}
OUTCOMES = {state: name for name, state in STATES.items()}


def settle(delivery: Delivery, outcome: str) -> None:
    """State the outcome and settle."""
    if outcome == "rejected":
        delivery.local.condition = Condition("amqp:not-allowed", "not wanted")
    if outcome == "modified":
        delivery.local.failed = True
        delivery.local.undeliverable = True
    delivery.update(STATES[outcome])
    delivery.settle()


class Client(MessagingHandler):
    """Ends itself when its work is done, and fails when that takes too long."""

    def __init__(self, port: int, address: str, **options: Any) -> None:
        super().__init__(prefetch=0, auto_accept=False, auto_settle=False)
        self.url = f"amqp://guest:guest@127.0.0.1:{port}"
        self.address = address
        self.options = options
        self.outcomes: Counter[str] = Counter()
        self.error: tuple[str, str, str | None] | None = None
        self.has_timed_out = False

    def run(self) -> Client:
        Container(self).run()
        assert not self.has_timed_out, f"{type(self).__name__} on {self.address} did not finish"
        return self

    def on_start(self, event: Event) -> None:
        self.alarm = event.container.schedule(PATIENCE_S, self)
        self.connection = event.container.connect(self.url, reconnect=False, **self.options)
        self.open_link(event.container)

    def open_link(self, container: Container) -> None:
        raise NotImplementedError

    def on_timer_task(self, event: Event) -> None:
        self.has_timed_out = True
        self.finish()

    def finish(self) -> None:
        self.alarm.cancel()
        self.connection.close()

    def _fail(self, what: str, condition: Condition | None) -> None:
        assert condition is not None
        if self.error is None:
            self.error = (what, condition.name, condition.description)
        self.finish()

    def on_link_error(self, event: Event) -> None:
        self._fail("link", event.link.remote_condition)

    def on_session_error(self, event: Event) -> None:
        self._fail("session", event.session.remote_condition)

    def on_connection_error(self, event: Event) -> None:
        self._fail("connection", event.connection.remote_condition)


class Sender(Client):
    """Sends bodies as data sections and counts what became of them."""

    def __init__(
        self,
        port: int,
        address: str,
        bodies: Sequence[bytes],
        is_presettled: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(port, address, **options)
        self.bodies = bodies
        self.is_presettled = is_presettled
        self.sent = 0
        self.message_bytes: list[int] = []

    def open_link(self, container: Container) -> None:
        mode = AtMostOnce() if self.is_presettled else None
        self.link = container.create_sender(self.connection, self.address, options=mode)

    def on_sendable(self, event: Event) -> None:
        while event.sender.credit and self.sent < len(self.bodies):
            message = Message(body=self.bodies[self.sent], id=f"m{self.sent}", inferred=True)
            self.message_bytes.append(len(message.encode()))
            event.sender.send(message)
            self.sent += 1
        if self.is_presettled and self.sent == len(self.bodies):
            # Nobody will answer: the close follows the last message on the wire.
            self.finish()

    def on_delivery(self, event: Event) -> None:
        if event.delivery.settled and event.delivery.link.is_sender:
            self.outcomes[OUTCOMES[event.delivery.remote_state]] += 1
            event.delivery.settle()
            if self.outcomes.total() == len(self.bodies):
                self.finish()


class Receiver(Client):
    """Takes messages on the credit it grants and settles each as told; may drain at the end."""

    def __init__(
        self,
        port: int,
        address: str,
        outcomes: Sequence[str],
        grants: Sequence[int] | None = None,
        drain: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(port, address, **options)
        self.wanted = outcomes
        self.grants = list(grants or [len(outcomes)])
        self.drain = drain
        self.drained = 0
        self.granted = 0
        self.bodies: list[bytes] = []

    def open_link(self, container: Container) -> None:
        self.link = container.create_receiver(self.connection, self.address)

    def on_link_opened(self, event: Event) -> None:
        self._grant()

    def _grant(self) -> None:
        """The next grant; after the last one, drain or go."""
        if self.grants:
            credit = self.grants.pop(0)
            self.granted += credit
            self.link.flow(credit)
        elif self.drain:
            self.link.drain(self.drain)
        else:
            self.finish()

    def on_message(self, event: Event) -> None:
        outcome = self.wanted[len(self.bodies)]
        self.bodies.append(bytes(event.message.body))
        settle(event.delivery, outcome)
        self.outcomes[outcome] += 1
        if len(self.bodies) == self.granted:
            self._grant()

    def on_link_flow(self, event: Event) -> None:
        if self.drain and not self.grants and event.link.credit == 0 and not self.drained:
            self.drained = self.drain - (len(self.bodies) - self.granted)
            self.finish()
