"""Captured 0-9-1 conversations written as lists, and engines asked in dialogue."""

from __future__ import annotations

from dissectors.amqp09.dialects import load_dialect
from dissectors.amqp09.field_tables import make_table
from dissectors.amqp09.frames import BODY, HEADER, METHOD
from dissectors.amqp09.headers import encode_header
from dissectors.amqp09.methods import encode_method
from replay.engine import Engine, Settings, make_engine
from replay.engine09.parts import Part, encode_part
from replay.engine09.vocabulary import vocabulary
from replay.rewrite import Rewriter
from replay.script import CLIENT, SERVER, ConversationScript, Step

DIALECT = load_dialect("0-9-1", "rabbitmq")
PROTOCOL = b"AMQP\x00\x00\x09\x01"
EMPTY = make_table((), "rabbitmq")
# What an argument is when a line does not give it, by its type.
DEFAULTS = {"bit": False, "shortstr": "", "longstr": b"", "table": EMPTY}


def method(channel: int, name: str, **values: object) -> bytes:
    """`method(1, "queue.declare", queue="q")`; underscores stand for hyphens."""
    known = DIALECT.by_name[name]
    given = {key.replace("_", "-"): value for key, value in values.items()}
    unknown = set(given) - {a.name for a in known.arguments}
    assert not unknown, f"{name} has no {unknown}"
    filled = {a.name: given.get(a.name, DEFAULTS.get(a.type, 0)) for a in known.arguments}
    return encode_part(METHOD, channel, encode_method(known, filled))


def content(channel: int, body: bytes, **properties: object) -> list[bytes]:
    given = {key.replace("_", "-"): value for key, value in properties.items()}
    header = encode_part(HEADER, channel, encode_header(60, len(body), given, DIALECT))
    return [header, encode_part(BODY, channel, body)] if body else [header]


def start(mechanisms: bytes = b"PLAIN EXTERNAL ANONYMOUS") -> bytes:
    return method(0, "connection.start", version_minor=9, mechanisms=mechanisms, locales=b"en_US")


def tune(frame_max: int = 131_072) -> bytes:
    return method(0, "connection.tune", channel_max=2047, frame_max=frame_max, heartbeat=60)


START_OK = method(0, "connection.start-ok", mechanism="PLAIN", response=b"\0old\0secret",
                  locale="en_US")  # fmt: skip
TUNE_OK = method(0, "connection.tune-ok", channel_max=2047, frame_max=131_072, heartbeat=0)
OPEN = method(0, "connection.open", virtual_host="/")
OPEN_OK = method(0, "connection.open-ok")

HANDSHAKE: list[tuple[int, bytes]] = [
    (CLIENT, PROTOCOL), (SERVER, start()), (CLIENT, START_OK), (SERVER, tune()),
    (CLIENT, TUNE_OK), (CLIENT, OPEN), (SERVER, OPEN_OK),
]  # fmt: skip


def conversation(*lines: tuple[int, bytes], handshake: bool = True) -> ConversationScript:
    """One step per line, a millisecond apart."""
    every = [*(HANDSHAKE if handshake else ()), *lines]
    steps = [
        Step(no, side, no * 1_000_000, no + 1, octets) for no, (side, octets) in enumerate(every)
    ]
    return ConversationScript("c", "0-9-1", "c:1", "s:5672", steps=steps)


def client(
    *lines: tuple[int, bytes], rewriter: Rewriter | None = None, **settings: object
) -> Engine:
    """A client engine that has been let in."""
    engine = make_engine(
        conversation(*lines),
        "client",
        Settings(rewriter or Rewriter(), **settings),  # type: ignore[arg-type]
    )
    let_in(engine)
    return engine


def let_in(engine: Engine, frame_max: int = 131_072) -> None:
    engine.start(0)
    assert engine.urgent(0) == PROTOCOL
    for said in (start(), tune(frame_max), OPEN_OK):
        engine.receive(said, 0)
    engine.urgent(0)


def sent(engine: Engine) -> list[bytes]:
    """Everything that may go out now."""
    found = []
    while (out := engine.poll(0)) is not None:
        found += [out.octets] if out.octets else []
    return found


def names(octets: list[bytes]) -> list[str]:
    known = vocabulary("0-9-1", "RabbitMQ")
    return [Part(known, CLIENT, one[0], 0, one[7:-1]).name for one in octets]


def argument(octets: bytes, name: str) -> object:
    known = vocabulary("0-9-1", "RabbitMQ")
    return Part(known, CLIENT, octets[0], 0, octets[7:-1]).get(name)
