"""AMQP 1.0 conversations for tests: performatives by name, written with our encoder into a
capture, or octets given by hand where the encoding itself is the point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.frames import AMQP_FRAME, SASL_FRAME, encode_frame, encode_protocol_header
from dissectors.amqp10.message import encode_message
from dissectors.amqp10.types import Value
from tests.builders.talk import Talk, write_pcap
from tests.tables import Tables, dissect

CLIENT, SERVER = 0, 1
SENDER, RECEIVER = False, True
NULL = STANDARD.types.make("null", None)


def fields(given: dict[str, Any]) -> dict[str, Any]:
    """Python names and dicts → the standard's names and composites."""
    return {name.replace("_", "-").rstrip("-"): value for name, value in given.items()}


def composite(composite_name: str, **given: Any) -> Value:
    return STANDARD.encode(composite_name, fields(given))


def performative(performative_name: str, **given: Any) -> bytes:
    return STANDARD.types.encode(composite(performative_name, **given))


def message(body: bytes = b"body", **sections: Any) -> bytes:
    return encode_message(STANDARD, {**fields(sections), "data": body})


class Dialogue:
    """A connection in the making. `say` sends a frame of one side in a packet of its own."""

    def __init__(self, is_whole: bool = True) -> None:
        self.talk = Talk()
        if is_whole:
            self.talk.open()

    def octets(self, side: int, raw: bytes) -> Dialogue:
        self.talk.say(side, raw)
        return self

    def say(
        self,
        side: int,
        performative_name: str,
        channel: int = 0,
        payload: bytes = b"",
        extended_header: bytes = b"",
        **given: Any,
    ) -> Dialogue:
        frame_type = SASL_FRAME if performative_name.startswith("sasl-") else AMQP_FRAME
        body = performative(performative_name, **given) + payload
        return self.octets(side, encode_frame(body, channel, frame_type, extended_header))

    def header(self, side: int, protocol: int = 0) -> Dialogue:
        return self.octets(side, encode_protocol_header(protocol))

    def wait(self, milliseconds: int) -> Dialogue:
        self.talk.now_ns += milliseconds * 1_000_000
        return self

    def opened(self, **given: Any) -> Dialogue:
        """Headers and opens both ways; fields are the client's."""
        for side in (CLIENT, SERVER):
            self.header(side)
        self.say(CLIENT, "open", **{"container_id": "client", **given})
        return self.say(SERVER, "open", container_id="server")

    def begun(self, channel: int = 0, remote: int | None = None, **given: Any) -> Dialogue:
        """A session on `channel`, which the server answers on `remote`."""
        windows = {"next_outgoing_id": 0, "incoming_window": 100, "outgoing_window": 100, **given}
        answer = channel if remote is None else remote
        self.say(CLIENT, "begin", channel, **windows)
        return self.say(SERVER, "begin", answer, remote_channel=channel, **windows)

    def attached(
        self,
        name: str = "link",
        role: bool = SENDER,
        handle: int = 0,
        remote: int | None = None,
        channel: int = 0,
        source: Value | None = None,
        target: Value | None = None,
        count: int = 0,
        **given: Any,
    ) -> Dialogue:
        """A link both ways; `role` is the client's, `count` the initial-delivery-count."""
        termini = {
            "source": composite("source", address="from") if source is None else source,
            "target": composite("target", address="to") if target is None else target,
        }
        for side, number in ((CLIENT, handle), (SERVER, handle if remote is None else remote)):
            mine = role if side == CLIENT else not role
            counting = {} if mine == RECEIVER else {"initial_delivery_count": count}
            both = {**termini, **counting, **given}
            self.say(side, "attach", channel, name=name, handle=number, role=mine, **both)
        return self

    def credit(self, side: int, credit: int, count: int = 0, handle: int = 0, **given: Any) -> Any:
        """A flow of the receiving side."""
        windows = {
            "next_incoming_id": 0,
            "incoming_window": 100,
            "next_outgoing_id": 0,
            "outgoing_window": 100,
        }
        return self.say(
            side,
            "flow",
            **{
                **windows,
                "handle": handle,
                "delivery_count": count,
                "link_credit": credit,
                **given,
            },
        )

    def transfer(self, side: int, delivery_id: int | None, **given: Any) -> Dialogue:
        if delivery_id is not None:
            given.setdefault("delivery_tag", b"t%d" % delivery_id)
            given["delivery_id"] = delivery_id
        given.setdefault("handle", 0)
        given.setdefault("payload", message())
        return self.say(side, "transfer", **given)

    def settle(
        self, side: int, role: bool, first: int, last: int | None = None, state: Any = "accepted",
        settled: bool = True,
    ) -> Dialogue:  # fmt: skip
        stated = composite(state) if isinstance(state, str) else state
        return self.say(
            side, "disposition", role=role, first=first, last=last, settled=settled, state=stated
        )

    def closed(self) -> Dialogue:
        self.say(CLIENT, "close")
        self.say(SERVER, "close")
        self.talk.close()
        return self

    def tables(self, folder: Path, **options: Any) -> Tables:
        path = write_pcap(folder / "dialogue.pcap", self.talk.packets)
        return dissect(path, **options)


def session(**given: Any) -> Dialogue:
    """An open connection with one session."""
    return Dialogue().opened().begun(**given)
