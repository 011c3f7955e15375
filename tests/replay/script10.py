"""Conversations written by hand: `Script10().client("begin", …).server("begin", …)`."""

from __future__ import annotations

from typing import Any

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.frames import AMQP_PROTOCOL, encode_protocol_header
from dissectors.amqp10.message import encode_message
from replay.engine10.frame import make_frame
from replay.script import CLIENT, SERVER, ConversationScript, Step

WINDOW = 2048
FIRST_NS = 1_700_000_000_000_000_000
GAP_NS = 1_000_000


def state(name: str, /, **fields: Any) -> Any:
    """A delivery state or terminus by name; underscores stand for hyphens."""
    return STANDARD.encode(name, _fields(fields))


def message(body: bytes = b"hello", **properties: Any) -> bytes:
    sections: dict[str, Any] = {"data": body}
    if properties:
        sections["properties"] = _fields(properties)
    return encode_message(STANDARD, sections)


def _fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in fields.items()}


class Script10:
    """Steps in order, a millisecond apart."""

    def __init__(self, has_prologue: bool = True) -> None:
        self.steps: list[Step] = []
        if has_prologue:
            for side in (CLIENT, SERVER):
                self.octets(side, encode_protocol_header(AMQP_PROTOCOL))
            self.client("open", container_id="c", hostname="h", max_frame_size=4096)
            self.server("open", container_id="s", max_frame_size=4096)

    def octets(self, side: int, octets: bytes) -> Script10:
        no = len(self.steps)
        self.steps.append(Step(no, side, FIRST_NS + no * GAP_NS, no + 1, octets))
        return self

    def client(
        self, frame: str, /, channel: int = 0, payload: bytes = b"", **fields: Any
    ) -> Script10:
        return self.octets(CLIENT, make_frame(frame, _fields(fields), channel, payload=payload))

    def server(
        self, frame: str, /, channel: int = 0, payload: bytes = b"", **fields: Any
    ) -> Script10:
        return self.octets(SERVER, make_frame(frame, _fields(fields), channel, payload=payload))

    def begun(self, client_channel: int = 0, server_channel: int = 0) -> Script10:
        """A session, begun by the client."""
        window = {"incoming_window": WINDOW, "outgoing_window": WINDOW}
        self.client("begin", client_channel, next_outgoing_id=0, **window)
        return self.server(
            "begin", server_channel, remote_channel=client_channel, next_outgoing_id=0, **window
        )

    def sender(
        self, address: str = "q", credit: int = 10, handle: int = 0, name: str = "out"
    ) -> Script10:
        """The client's sending link, with credit."""
        termini = {"source": state("source"), "target": state("target", address=address)}
        self.client("attach", name=name, handle=handle, role=False, initial_delivery_count=0,
                    **termini)  # fmt: skip
        self.server("attach", name=name, handle=handle, role=True, **termini)
        return self.server("flow", **self.flow(), handle=handle, delivery_count=0,
                           link_credit=credit)  # fmt: skip

    def receiver(
        self, address: str = "q", credit: int = 10, handle: int = 0, name: str = "in"
    ) -> Script10:
        """The client's receiving link, with credit."""
        termini = {"source": state("source", address=address), "target": state("target")}
        self.client("attach", name=name, handle=handle, role=True, **termini)
        self.server("attach", name=name, handle=handle, role=False, initial_delivery_count=0,
                    **termini)  # fmt: skip
        return self.client("flow", **self.flow(), handle=handle, delivery_count=0,
                           link_credit=credit)  # fmt: skip

    @staticmethod
    def flow(incoming: int = 0, outgoing: int = 0) -> dict[str, int]:
        return {
            "next_incoming_id": incoming,
            "incoming_window": WINDOW,
            "next_outgoing_id": outgoing,
            "outgoing_window": WINDOW,
        }

    def closed(self) -> Script10:
        return self.client("close").server("close")

    @property
    def conversation(self) -> ConversationScript:
        return ConversationScript("test", "1.0", "client", "server", steps=self.steps)
