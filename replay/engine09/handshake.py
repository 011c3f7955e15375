"""The client's way in: header, start-ok, tune-ok, open, with the captured frames as templates.

Client properties, locale and limits are as captured; mechanism and response are our own, and
limits never exceed what the live server offers (0-9-1 §1.4.2.6: the client may only lower them).
"""

from __future__ import annotations

from dissectors.amqp09.dialects import HEADER_OF, PROTOCOL_LITERAL
from dissectors.amqp09.field_tables import make_table
from dissectors.amqp09.frames import METHOD
from dissectors.amqp09.methods import DecodedMethod, encode_method, splice
from replay.engine import Settings
from replay.engine09.parts import PROTOCOL_HEADER, Part, encode_part
from replay.engine09.vocabulary import TABLE_SYSTEMS, Vocabulary
from replay.script import CLIENT

# Mechanisms that we can answer, and whether they take name and password.
MECHANISMS = {"PLAIN": True, "ANONYMOUS": False, "EXTERNAL": False}
# Where the captured one is not among these (AMQPLAIN, challenges), name and password still fit.
FALLBACK_MECHANISM = "PLAIN"
DEFAULT_VHOST = "/"


class HandshakeError(Exception):
    """Why the live server does not let us in."""


class Handshake:
    """Answers the server's methods until open-ok."""

    def __init__(self, parts: list[Part], vocabulary: Vocabulary, settings: Settings) -> None:
        self._vocabulary = vocabulary
        self._settings = settings
        self._templates = {
            part.name: part.method for part in reversed(parts) if part.side == CLIENT
        }
        headers = [p.payload for p in parts if p.side == CLIENT and p.name == PROTOCOL_HEADER]
        dialect = vocabulary.dialect.name
        self.header = headers[0] if headers else PROTOCOL_LITERAL + HEADER_OF[dialect]
        self.captured_frame_max = self._number("connection.tune-ok", "frame-max")
        self.waiting_for = "connection.start"
        self.is_done = False
        # The captured server let the client in; else being refused is as captured.
        self.was_let_in = any(part.name == "connection.open-ok" for part in parts) or not headers
        self.frame_max = 0
        self.heartbeat_s = 0.0
        self.secrets: list[bytes] = []
        self.notes: list[tuple[str, str]] = []

    def answer(self, part: Part) -> bytes:
        """Octets to send for a method of the server; raises HandshakeError when it is over."""
        if part.name == PROTOCOL_HEADER:
            raise HandshakeError(f"the peer refuses this version of AMQP: it offers {_spell(part)}")
        if part.name == "connection.start":
            return self._start_ok(part)
        if part.name == "connection.tune":
            return self._tune_ok(part) + self._open()
        if part.name == "connection.open-ok":
            self.is_done = True
            return b""
        if part.name == "connection.close":
            raise HandshakeError(f"{part.number('reply-code')} {part.text('reply-text')}")
        if part.name == "connection.secure":
            raise HandshakeError("the server asks for another round of authentication")
        return b""

    def _start_ok(self, part: Part) -> bytes:
        offered = part.get("mechanisms", b"")
        names = offered.decode("ascii", "replace").split() if isinstance(offered, bytes) else []
        captured = self._templates.get("connection.start-ok")
        wanted = self._settings.credentials.mechanism or (
            captured["mechanism"] if captured else FALLBACK_MECHANISM
        )
        mechanism = wanted if wanted in MECHANISMS else FALLBACK_MECHANISM
        if mechanism != wanted:
            self.notes.append(("mechanism", f"{mechanism} in place of {wanted}"))
        if mechanism not in names:
            raise HandshakeError(f"the server offers {', '.join(names)}, not {mechanism}")
        has_password = MECHANISMS[mechanism]
        response = self._settings.credentials.plain_response() if has_password else b""
        if response:
            self.secrets.append(response)
        self.waiting_for = "connection.tune"
        values = {
            "client-properties": make_table((), TABLE_SYSTEMS[0]),
            "mechanism": mechanism,
            "response": response,
            "locale": "en_US",
        }
        return self._send("connection.start-ok", values, ("mechanism", "response"))

    def _tune_ok(self, part: Part) -> bytes:
        settings = self._settings
        frame_max = _least(self.captured_frame_max, part.number("frame-max"))
        if settings.max_frame_bytes:
            frame_max = _least(frame_max, settings.max_frame_bytes)
        captured = self._templates.get("connection.tune-ok")
        heartbeat = captured["heartbeat"] if captured else part.number("heartbeat")
        if settings.heartbeat_s is not None:
            heartbeat = int(settings.heartbeat_s)
        values = {
            "channel-max": _least(
                self._number("connection.tune-ok", "channel-max"), part.number("channel-max")
            ),
            "frame-max": frame_max,
            "heartbeat": heartbeat,
        }
        self.frame_max = frame_max
        self.heartbeat_s = float(heartbeat)
        return self._send("connection.tune-ok", values, tuple(values))

    def _open(self) -> bytes:
        vhost = self._settings.rewriter.vhost
        self.waiting_for = "connection.open-ok"
        values = {"virtual-host": vhost or DEFAULT_VHOST, "capabilities": "", "insist": False}
        return self._send("connection.open", values, ("virtual-host",) if vhost else ())

    def _send(self, name: str, values: dict[str, object], changed: tuple[str, ...]) -> bytes:
        """The captured method with some arguments changed, or one made of `values`."""
        captured = self._templates.get(name)
        if captured is None:
            method = self._vocabulary.dialect.by_name[name]
            payload = encode_method(method, values)
        else:
            changes = {key: values[key] for key in changed if captured.get(key) != values[key]}
            payload = splice(captured, changes) if changes else captured.payload
        return encode_part(METHOD, 0, payload)

    def _number(self, name: str, argument: str) -> int:
        captured: DecodedMethod | None = self._templates.get(name)
        return int(captured[argument]) if captured else 0


def _least(one: int, other: int) -> int:
    """The smaller limit; 0 = none."""
    return min(one, other) if one and other else one or other


def _spell(part: Part) -> str:
    return ".".join(str(octet) for octet in part.payload[4:8])
