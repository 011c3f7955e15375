"""Talks of the 0-9 family, made by our encoder: frames of any dialect, and a whole connection.

`Wire09` speaks for both sides and gives the tables of what was said; a test changes, cuts or
repeats octets by saying them itself.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dissectors.amqp09 import frames
from dissectors.amqp09.dialects import HEADER_OF, load_dialect
from dissectors.amqp09.field_tables import FieldTable, make_table
from dissectors.amqp09.field_types import LETTERS_08
from dissectors.amqp09.headers import encode_header
from dissectors.amqp09.methods import encode_method
from dissectors.amqp09.schema import Argument
from dissectors.amqp09.values import Content
from tests.builders.talk import Talk, write_pcap
from tests.tables import Tables, dissect

CLIENT, SERVER = 0, 1
EMPTY = make_table([], LETTERS_08)
DEFAULTS: dict[str, Any] = {
    "bit": False, "octet": 0, "short": 0, "long": 0, "longlong": 0, "timestamp": 0, "shortstr": "",
    "longstr": b"", "table": EMPTY, "content": Content(b""),
}  # fmt: skip
PROPERTIES = {"product": "RabbitMQ", "version": "3.10.8"}


def table(system: str = LETTERS_08, **texts: str) -> FieldTable:
    """A field table of long strings."""
    return make_table([(name, "S", text.encode()) for name, text in texts.items()], system)


class Frames:
    """Frames of one dialect as octets."""

    def __init__(self, dialect: str = "0-9-1", vendor: str = "") -> None:
        self.name = dialect
        self.dialect = load_dialect(dialect, vendor)
        self.framing = frames.framing_of(dialect)

    def payload(self, name: str, **values: Any) -> bytes:
        """A method payload; underlines in argument names are hyphens; what is not given is 0."""
        method = self.dialect.by_name[name]
        given = {key.rstrip("_").replace("_", "-"): value for key, value in values.items()}
        assert set(given) <= {argument.name for argument in method.arguments}, (name, given)
        return encode_method(method, {**self._defaults(method.arguments), **given})

    @staticmethod
    def _defaults(arguments: tuple[Argument, ...]) -> dict[str, Any]:
        return {a.name: DEFAULTS[a.type] for a in arguments if not a.is_optional}

    def frame(self, type_: int, channel: int, payload: bytes, cycle: int = 0) -> bytes:
        return frames.encode_frame(type_, channel, payload, self.framing, cycle)

    def method(self, channel: int, name: str, **values: Any) -> bytes:
        return self.frame(frames.METHOD, channel, self.payload(name, **values))

    def header(self, channel: int, size: int, class_name: str = "basic", weight: int = 0,
               **properties: Any) -> bytes:  # fmt: skip
        class_id = self.dialect.class_ids[class_name]
        named = {key.replace("_", "-"): value for key, value in properties.items()}
        payload = encode_header(class_id, size, named, self.dialect, weight)
        return self.frame(frames.HEADER, channel, payload)

    def body(self, channel: int, octets: bytes) -> bytes:
        return self.frame(frames.BODY, channel, octets)

    def content(self, channel: int, octets: bytes, class_name: str = "basic", cut: int = 0,
                **properties: Any) -> bytes:  # fmt: skip
        """A header and its bodies, `cut` octets each."""
        step = cut or max(len(octets), 1)
        bodies = [octets[at : at + step] for at in range(0, len(octets), step)]
        header = self.header(channel, len(octets), class_name, **properties)
        return header + b"".join(self.body(channel, body) for body in bodies)

    def heartbeat(self) -> bytes:
        return self.frame(frames.HEARTBEAT, 0, b"")


class Wire09:
    """One connection: what each side says, in order, and the tables that come of it."""

    def __init__(self, dialect: str = "0-9-1", vendor: str = "", **talk: Any) -> None:
        self.make = Frames(dialect, vendor)
        self.talk = Talk(**talk).open()

    def say(self, side: int, *octets: bytes) -> Wire09:
        self.talk.say(side, b"".join(octets))
        return self

    def client(self, channel: int, name: str, **values: Any) -> Wire09:
        return self.say(CLIENT, self.make.method(channel, name, **values))

    def server(self, channel: int, name: str, **values: Any) -> Wire09:
        return self.say(SERVER, self.make.method(channel, name, **values))

    def start(self, product: str = "RabbitMQ", version: str = "3.10.8", frame_max: int = 131072,
              response: bytes = b"\0guest\0guest", header: bytes = b"") -> Wire09:  # fmt: skip
        """Everything from the protocol header to connection.open-ok."""
        self.say(CLIENT, b"AMQP" + (header or HEADER_OF[self.make.name]))
        announced = table(product=product, version=version)
        self.server(0, "connection.start", server_properties=announced, mechanisms=b"PLAIN",
                    locales=b"en_US")  # fmt: skip
        mine = table(product="builder", version="1")
        self.client(0, "connection.start-ok", client_properties=mine, mechanism="PLAIN",
                    response=response, locale="en_US")  # fmt: skip
        self.server(0, "connection.tune", channel_max=2047, frame_max=frame_max, heartbeat=60)
        self.client(0, "connection.tune-ok", channel_max=2047, frame_max=frame_max, heartbeat=60)
        self.client(0, "connection.open", virtual_host="/")
        return self.server(0, "connection.open-ok")

    def open(self, *channels: int) -> Wire09:
        for channel in channels or (1,):
            self.client(channel, "channel.open")
            self.server(channel, "channel.open-ok")
        return self

    def publish(self, channel: int, octets: bytes, exchange: str = "", key: str = "q",
                mandatory: bool = False, cut: int = 0, **properties: Any) -> Wire09:  # fmt: skip
        method = self.make.method(
            channel, "basic.publish", exchange=exchange, routing_key=key, mandatory=mandatory
        )
        return self.say(CLIENT, method, self.make.content(channel, octets, cut=cut, **properties))

    def deliver(self, channel: int, tag: int, octets: bytes, consumer_tag: str = "c",
                redelivered: bool = False, key: str = "q",
                **properties: Any) -> Wire09:  # fmt: skip
        method = self.make.method(
            channel, "basic.deliver", consumer_tag=consumer_tag, delivery_tag=tag,
            redelivered=redelivered, routing_key=key,
        )  # fmt: skip
        return self.say(SERVER, method, self.make.content(channel, octets, **properties))

    def consume(self, channel: int, queue: str = "q", tag: str = "c", **values: Any) -> Wire09:
        self.client(channel, "basic.consume", queue=queue, consumer_tag=tag, **values)
        return self.server(channel, "basic.consume-ok", consumer_tag=tag)

    def ack(self, channel: int, tag: int, multiple: bool = False, side: int = CLIENT) -> Wire09:
        return self.say(
            side, self.make.method(channel, "basic.ack", delivery_tag=tag, multiple=multiple)
        )

    def close(self) -> Wire09:
        self.client(0, "connection.close", reply_code=200, reply_text="bye")
        self.server(0, "connection.close-ok")
        self.talk.close()
        return self

    def tables(self, **options: Any) -> Tables:
        with TemporaryDirectory() as folder:
            path = write_pcap(Path(folder) / "talk.pcap", self.talk.packets)
            return dissect(path, **options)
