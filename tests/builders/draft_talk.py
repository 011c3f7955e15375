"""A client and a broker that speak the 2010 draft: what their transcripts are built from."""

from __future__ import annotations

from typing import Any

from dissectors.amqp10.draft.encode import encode_draft_frame, make
from dissectors.amqp10.draft.message import make_fragments
from dissectors.amqp10.types import Described
from tests.builders.talk import START_NS, Talk, pcap_bytes

NS_PER_S = 1_000_000_000
CLIENT, BROKER = 0, 1
HEADER = b"AMQP\x00\x01\x00\x00"
SENDER, RECEIVER = False, True


class Transcript:
    """A talk between a client and a broker: ``client`` and ``broker`` say one frame each."""

    def __init__(self, number: int) -> None:
        # Each on a port and in a second of its own: all of them may be read as one capture.
        start_ns = START_NS + number * NS_PER_S
        self.talk = Talk((40001 + number, 5672), now_ns=start_ns).open()
        self.talk.say(CLIENT, HEADER).say(BROKER, HEADER)
        self.client("open", container_id="client", hostname="broker.example")
        self.broker("open", container_id="broker")
        self.client("begin")
        self.broker("begin", remote_channel=0)

    def client(self, frame: str, /, **fields: Any) -> None:
        self._say(CLIENT, frame, fields)

    def broker(self, frame: str, /, **fields: Any) -> None:
        self._say(BROKER, frame, fields)

    def _say(self, side: int, frame: str, fields: dict[str, Any]) -> None:
        spelt = {key.replace("_", "-"): value for key, value in fields.items()}
        self.talk.say(side, encode_draft_frame(frame, spelt))

    def close(self) -> Transcript:
        for name in ("end", "close"):
            self.client(name)
            self.broker(name)
        self.talk.close()
        return self

    def octets(self) -> bytes:
        return pcap_bytes(self.talk.packets)


def accepted(**fields: Any) -> Described:
    return make("transfer-state", outcome=make("accepted"), **fields)


def in_transaction(txn_id: bytes) -> Described:
    return make("transfer-state", txn_id=txn_id)


def extent(first: int, handle: int, settled: bool, state: Described) -> list[Described]:
    return [make("extent", first=first, last=first, handle=handle, settled=settled, state=state)]


def message(number: int, text: bytes) -> list[Described]:
    """A message in sections, which the paper elides."""
    sections = {
        "header": {"durable": True},
        "properties": {"message-id": f"message-{number}", "content-type": "text/plain"},
        "data": text,
        "footer": {},
    }
    return make_fragments(sections)


def request(name: str, **fields: Any) -> list[Described]:
    """Declare and discharge travel as one value in an amqp-data section (Book V §2)."""
    return make_fragments({"amqp-data": make(name, **fields)})
