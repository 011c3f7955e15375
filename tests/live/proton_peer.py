"""An AMQP 1.0 peer made with qpid-proton, listening in a thread, that counts what it sees.

What it does on a link is told by the link's address:
  in.OUTCOME       settles every message that comes with that outcome
  out.N            sends N messages as credit allows, and drains when asked to
  out.N.SIZE       the same, with bodies of that size
  fail.WHAT        ends the link, the session or the connection with an error
"""

from __future__ import annotations

from collections import Counter

from proton import Condition, Event, Link, Message

from tests.live.proton_client import OUTCOMES, settle
from tests.live.proton_listening import ListeningThread

DEFAULT_SIZE = 20
CREDIT = 10


class Peer(ListeningThread):
    """`with Peer(connections=1) as peer:` serves that many connections, then is gone."""

    def __init__(self, connections: int = 1) -> None:
        super().__init__(CREDIT, connections)
        self.received = 0
        self.received_presettled = 0
        self.received_sizes: list[int] = []
        self.sent = 0
        self.given_up = 0
        self.outcomes_stated: Counter[str] = Counter()
        self.outcomes_heard: Counter[str] = Counter()
        self._sent_on: Counter[tuple[str, str]] = Counter()

    def on_link_opening(self, event: Event) -> None:
        link = event.link
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        kind, _, what = self.address_of(link).partition(".")
        if kind == "fail" and what != "link":
            self._fail(link, what)

    def _fail(self, link: Link, what: str) -> None:
        endpoint = {"link": link, "session": link.session, "connection": link.connection}[what]
        endpoint.condition = Condition(f"amqp:{what}-fault", f"the {what} must end")
        endpoint.close()

    def on_message(self, event: Event) -> None:
        outcome = self.address_of(event.link).partition(".")[2]
        self.received += 1
        self.received_sizes.append(len(event.message.body))
        if event.delivery.settled:
            self.received_presettled += 1
            event.delivery.settle()
        else:
            self.outcomes_stated[outcome] += 1
            settle(event.delivery, outcome)

    def on_delivery(self, event: Event) -> None:
        if event.link.is_sender and event.delivery.settled:
            self.outcomes_heard[OUTCOMES[event.delivery.remote_state]] += 1
            event.delivery.settle()

    def on_sendable(self, event: Event) -> None:
        # proton sends no detach for a link that is closed in the moment of its opening.
        kind, _, what = self.address_of(event.link).partition(".")
        if kind == "out":
            self._send(event.link)
        elif what == "link":
            self._fail(event.link, what)

    def on_link_flow(self, event: Event) -> None:
        if event.link.is_sender and event.link.drain_mode:
            self._send(event.link)
            self.given_up += event.link.drained()

    def _send(self, link: Link) -> None:
        _, count, *size = self.address_of(link).split(".")
        body = b"p" * int(size[0] if size else DEFAULT_SIZE)
        # A link's name is its own only between two containers (1.0 §2.6.1).
        key = (link.connection.remote_container, link.name)
        while link.credit and self._sent_on[key] < int(count):
            link.send(Message(body=body, id=f"p{self._sent_on[key]}", inferred=True))
            self._sent_on[key] += 1
            self.sent += 1

    def address_of(self, link: Link) -> str:
        terminus = link.remote_source if link.is_sender else link.remote_target
        return terminus.address
