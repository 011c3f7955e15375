"""Captured and live frames as parts of a dialogue: named, and joined into contents.

A part is decoded when somebody asks for its arguments; most publishes and bodies never are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from struct import Struct

import xxhash

from dissectors.amqp09.frames import BODY, FRAME_END, HEADER, HEARTBEAT, METHOD
from dissectors.amqp09.headers import ContentHeader, decode_header
from dissectors.amqp09.methods import DecodedMethod
from replay.engine09.vocabulary import CONTENT_METHODS, TABLE_SYSTEMS, Vocabulary
from replay.script import CLIENT, ConversationScript, Step

FRAME_HEADER = Struct(">BHI")
FRAME_OVERHEAD = FRAME_HEADER.size + 1
BODY_SIZE_AT = 4
HEADER_FIXED_SIZE = 12
TYPE_NAMES = {HEADER: "header", BODY: "body", HEARTBEAT: "heartbeat"}
PROTOCOL_HEADER = "protocol-header"
UNKNOWN = "unknown"


class Content:
    """A method with its header and bodies."""

    __slots__ = ("bodies", "header", "is_complete", "method", "needed", "plan")

    def __init__(self, method: Part) -> None:
        self.method = method
        self.header: Part | None = None
        self.bodies: list[Part] = []
        self.needed = 0
        self.is_complete = False
        # What goes out for it, decided when its method does: see `contents`.
        self.plan: object = None

    def add(self, part: Part) -> None:
        """The next header or body; sets `is_complete` with the last one."""
        if part.type == HEADER:
            self.header = part
            self.needed = int.from_bytes(part.payload[BODY_SIZE_AT:HEADER_FIXED_SIZE], "big")
        else:
            self.bodies.append(part)
            self.needed -= len(part.payload)
        self.is_complete = self.header is not None and self.needed <= 0

    def body(self) -> bytes:
        return b"".join([part.payload for part in self.bodies])

    def body_hash(self) -> str:
        return xxhash.xxh3_64_hexdigest(self.body())


class Part:
    """One frame with its meaning. `step` is None for a live one."""

    __slots__ = ("_method", "channel", "content", "name", "payload", "reply", "request", "side",
                 "step", "ts_ns", "type", "vocabulary")  # fmt: skip

    def __init__(
        self,
        vocabulary: Vocabulary,
        side: int,
        type_: int,
        channel: int,
        payload: bytes,
        step: Step | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.side = side
        self.type = type_
        self.channel = channel
        self.payload = payload
        self.step = step
        self.ts_ns = step.ts_ns if step else 0
        self.content: Content | None = None
        self.reply: Part | None = None
        self.request: Part | None = None
        self._method: DecodedMethod | None = None
        if type_ == METHOD:
            self.name = vocabulary.name(payload) or UNKNOWN
        else:
            self.name = TYPE_NAMES.get(type_, UNKNOWN)

    @property
    def method(self) -> DecodedMethod | None:
        """The arguments; None for anything but a method of the dialect that reads cleanly."""
        if self._method is None and self.type == METHOD and self.name != UNKNOWN:
            decoded = self.vocabulary.decode(self.payload)
            if decoded is not None and decoded.fields.error is None:
                self._method = decoded
        return self._method

    def get(self, argument: str, default: object = None) -> object:
        method = self.method
        return default if method is None else method.get(argument, default)

    def text(self, argument: str) -> str:
        """A short string argument, or what stands in its place in a broken method."""
        value = self.get(argument, "")
        return value if isinstance(value, str) else ""

    def number(self, argument: str) -> int:
        value = self.get(argument, 0)
        return value if isinstance(value, int) else 0

    def header(self) -> ContentHeader | None:
        decoded = decode_header(self.payload, self.vocabulary.dialect, TABLE_SYSTEMS)
        return decoded if isinstance(decoded, ContentHeader) and decoded.error is None else None


class Assembler:
    """Joins parts into contents, per side and channel."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], Content] = {}

    def add(self, part: Part) -> Content | None:
        """Attach a part to its content; the content when this part completes it."""
        place = (part.side, part.channel)
        if part.type == METHOD:
            self._open.pop(place, None)
            if part.name in CONTENT_METHODS:
                part.content = self._open[place] = Content(part)
            return None
        content = self._open.get(place)
        if content is None or part.type not in (HEADER, BODY):
            return None
        part.content = content
        content.add(part)
        if not content.is_complete:
            return None
        del self._open[place]
        return content


def read_parts(conversation: ConversationScript, vocabulary: Vocabulary) -> list[Part]:
    """The conversation's frames; contents joined, replies tied to their requests."""
    parts: list[Part] = []
    assembler = Assembler()
    requests: dict[int, deque[Part]] = {}
    for step in conversation.steps:
        octets = step.octets
        if step.is_protocol_header or len(octets) < FRAME_OVERHEAD:
            part = Part(vocabulary, step.side, 0, 0, octets, step)
            part.name = PROTOCOL_HEADER if step.is_protocol_header else UNKNOWN
            parts.append(part)
            continue
        type_, channel, _ = FRAME_HEADER.unpack_from(octets)
        part = Part(vocabulary, step.side, type_, channel, octets[FRAME_HEADER.size : -1], step)
        if octets[-1] != FRAME_END:
            part.name = UNKNOWN
        assembler.add(part)
        _tie(part, requests.setdefault(channel, deque()))
        parts.append(part)
    return parts


def _tie(part: Part, requests: deque[Part]) -> None:
    """Requests of the client wait in order; a reply belongs to the first it can answer."""
    if part.type != METHOD:
        return
    if part.side == CLIENT:
        if is_request(part):
            requests.append(part)
    elif part.name in part.vocabulary.server_replies and requests:
        part.request = requests.popleft()
        part.request.reply = part
    elif part.name in ("channel.close", "connection.close"):
        requests.clear()


def is_request(part: Part) -> bool:
    """Whether the server must answer it (0-9-1 §2.2.1; not with no-wait)."""
    method = part.method if part.name in part.vocabulary.requests else None
    if method is None:
        return False
    return not (method.get("nowait") or method.get("no-wait"))


def encode_part(type_: int, channel: int, payload: bytes) -> bytes:
    return FRAME_HEADER.pack(type_, channel, len(payload)) + payload + bytes((FRAME_END,))


def split_body(channel: int, body: bytes, limit: int) -> Iterator[bytes]:
    """Body frames of at most `limit` octets each; 0 = no limit."""
    size = limit - FRAME_OVERHEAD if limit else max(1, len(body))
    for start in range(0, len(body), size):
        yield encode_part(BODY, channel, body[start : start + size])
