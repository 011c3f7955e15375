"""qpid-proton peers that go where clients seldom go, and count what they do: messages in parts by
turns, settlement by the sender, narrow windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from proton import Delivery, Event, Handler, Link, Message
from proton.handlers import MessagingHandler
from proton.reactor import Container, LinkOption

from tests.live.proton_client import OUTCOMES, STATES
from tests.live.proton_listening import ListeningThread
from tests.live.waiting import PATIENCE_S

SMALL_FRAME = 1024
# Octets of a message that go in one transfer.
PART = 900


class Listening(ListeningThread):
    """Takes messages whole or in parts. `received` are (tag, octets) of whole messages."""

    credit = 100
    session_bytes: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.received: list[tuple[str, int]] = []
        self.aborted: list[str] = []
        self._parts: Counter[str] = Counter()

    def on_connection_bound(self, event: Event) -> None:
        event.transport.max_frame_size = SMALL_FRAME

    def on_session_remote_open(self, event: Event) -> None:
        if self.session_bytes is not None:
            event.session.incoming_capacity = self.session_bytes

    def on_link_opening(self, event: Event) -> None:
        link = event.link
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        link.rcv_settle_mode = link.remote_rcv_settle_mode
        if link.is_receiver:
            link.flow(self.credit)

    def on_delivery(self, event: Event) -> None:
        delivery, link = event.delivery, event.link
        if not link.is_receiver or not delivery.readable:
            return
        if delivery.aborted:
            self.aborted.append(delivery.tag)
            link.advance()
            delivery.settle()
            return
        is_whole = not delivery.partial
        octets = link.recv(delivery.pending)
        self._parts[delivery.tag] += len(octets or b"")
        if is_whole:
            self.received.append((delivery.tag, self._parts.pop(delivery.tag)))
            link.advance()
            self.take(delivery, octets)

    def take(self, delivery: Delivery, octets: bytes) -> None:
        """A whole message came; its last octets."""
        if not delivery.settled:
            delivery.update(Delivery.ACCEPTED)
        delivery.settle()


class Calling(MessagingHandler):
    """Connects to a peer, does its work, and is done."""

    def __init__(self, port: int) -> None:
        super().__init__(prefetch=0, auto_accept=False, auto_settle=False)
        self.port = port
        self.has_timed_out = False

    def run(self) -> Any:
        Container(self).run()
        assert not self.has_timed_out, "the client did not finish"
        return self

    def on_start(self, event: Event) -> None:
        self.container = event.container
        self.connection = event.container.connect(f"amqp://127.0.0.1:{self.port}", reconnect=False)
        self.alarm = event.container.schedule(PATIENCE_S, self)
        self.begin()

    def begin(self) -> None:
        raise NotImplementedError

    def on_timer_task(self, event: Event) -> None:
        self.has_timed_out = True
        self.connection.close()

    def finish(self) -> None:
        self.alarm.cancel()
        self.connection.close()


class Turns(Handler):
    """Calls a function at each turn of the reactor until it returns False."""

    def __init__(self, container: Container, take_turn: Callable[[], bool]) -> None:
        self.container = container
        self.take_turn = take_turn
        container.schedule(0, self)

    def on_timer_task(self, event: Event) -> None:
        if self.take_turn():
            self.container.schedule(0, self)


class Streamer(Calling):
    """Messages of three links in parts by turns; one is aborted, one is sent settled."""

    def begin(self) -> None:
        self.sizes: dict[str, int] = {}
        self.settled = 0
        self.left: dict[int, tuple[Delivery, bytes]] = {}
        self.links = [self.container.create_sender(self.connection, f"q{i}") for i in range(3)]

    def on_sendable(self, event: Event) -> None:
        if self.sizes or not all(link.credit for link in self.links):
            return
        for number in range(3):
            octets = Message(body=b"s" * (9_000 + number), inferred=True).encode()
            self.sizes[f"t{number}"] = len(octets)
            self.left[number] = (self.links[number].delivery(f"t{number}"), octets)
        Turns(self.container, self._send_parts)

    def _send_parts(self) -> bool:
        for number, (delivery, octets) in list(self.left.items()):
            self.left[number] = (delivery, octets[PART:])
            if number == 1 and len(octets) < 5_000:
                delivery.abort()
                del self.left[number]
                continue
            self.links[number].stream(octets[:PART])
            if len(octets) <= PART:
                delivery.settle() if number == 2 else self.links[number].advance()
                del self.left[number]
        return bool(self.left)

    def on_settled(self, event: Event) -> None:
        # Of t0 only: t1 is void and t2 was sent settled.
        self.settled += 1
        Turns(self.container, self._finish_when_sent)

    def _finish_when_sent(self) -> bool:
        if not self.left:
            self.finish()
        return bool(self.left)


class SettleSecond(LinkOption):
    def apply(self, link: Link) -> None:
        link.rcv_settle_mode = Link.RCV_SECOND


class Deciding(Listening):
    """States outcomes in turn and waits for the sender to settle first."""

    def take(self, delivery: Delivery, octets: bytes) -> None:
        delivery.update(list(STATES.values())[int(delivery.tag) % len(STATES)])

    def on_settled(self, event: Event) -> None:
        event.delivery.settle()


class Confirming(Calling):
    """Settles what the receiver has stated an outcome for."""

    count = 12

    def begin(self) -> None:
        self.sent = 0
        self.outcomes: Counter[str] = Counter()
        self.container.create_sender(self.connection, "q", options=SettleSecond())

    def on_sendable(self, event: Event) -> None:
        while event.link.credit and self.sent < self.count:
            event.link.send(Message(body="second"), tag=str(self.sent))
            self.sent += 1

    def on_delivery(self, event: Event) -> None:
        delivery = event.delivery
        if delivery.updated and delivery.remote_state in OUTCOMES and not delivery.settled:
            self.outcomes[OUTCOMES[delivery.remote_state]] += 1
            delivery.update(delivery.remote_state)
            delivery.settle()
            if self.outcomes.total() == self.count:
                self.finish()


class Narrow(Listening):
    session_bytes = 4 * SMALL_FRAME


class Filler(Calling):
    """Sends more than the session window holds."""

    def begin(self) -> None:
        self.sizes: list[int] = []
        self.settled = 0
        self.container.create_sender(self.connection, "q")

    def on_sendable(self, event: Event) -> None:
        while len(self.sizes) < 4:
            message = Message(body=b"w" * (8_000 * len(self.sizes)), inferred=True)
            self.sizes.append(len(message.encode()))
            event.link.send(message)

    def on_settled(self, event: Event) -> None:
        self.settled += 1
        if self.settled == len(self.sizes):
            self.finish()
