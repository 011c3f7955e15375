"""What comes before the first AMQP frame: protocol headers and SASL (1.0 §2.2, §5.3).

Never a replay of the capture: secrets are not repeated. The client logs in with its own
credentials by the mechanism that was captured, if the live peer offers it; the mock server offers
what was captured, lets everybody in, and refuses only where the capture did.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.frames import (
    AMQP_PROTOCOL,
    SASL_FRAME,
    SASL_PROTOCOL,
    TLS_PROTOCOL,
    decode_protocol_header,
    encode_protocol_header,
)
from replay.engine import Credentials

from .frame import PROTOCOL_HEADER, Frame, make_frame
from .octets import text_of

_OK = 0
_OUTCOMES = {1: "auth", 2: "sys", 3: "sys-perm", 4: "sys-temp"}
PLAIN, ANONYMOUS, EXTERNAL = "PLAIN", "ANONYMOUS", "EXTERNAL"
#: Tried in this order when the captured mechanism is not offered, or is one we do not speak.
_SPOKEN = (PLAIN, ANONYMOUS, EXTERNAL)
_SASL_HEADER = encode_protocol_header(SASL_PROTOCOL)
_AMQP_HEADER = encode_protocol_header(AMQP_PROTOCOL)


class CapturedLogin:
    """What the capture shows of headers and SASL: mechanisms and outcome, never the secrets."""

    def __init__(self) -> None:
        self.has_sasl = False
        self.mechanisms: list[str] = []
        self.mechanism: str | None = None
        self.outcome = _OK
        self.is_refused = False

    def see(self, frame: Frame) -> None:
        """Any step of either side before the first AMQP frame."""
        if frame.name == PROTOCOL_HEADER:
            header = decode_protocol_header(frame.octets)
            self.has_sasl |= header is not None and header.protocol == SASL_PROTOCOL
        elif frame.name == "sasl-mechanisms":
            self.mechanisms = mechanisms_of(frame)
        elif frame.name == "sasl-init":
            self.mechanism = text_of(frame.raw("mechanism"))
        elif frame.name == "sasl-outcome":
            code = frame.raw("code")
            self.outcome = code[1] if len(code) == 2 else _OK
            self.is_refused = self.outcome != _OK


def mechanisms_of(frame: Frame) -> list[str]:
    """One symbol or an array of them (1.0 §5.3.3.1)."""
    value = STANDARD.types.decode(frame.octets, frame.body, len(frame.octets), [])
    composite = STANDARD.decode(value, [])
    found = None if composite is None else composite["sasl-server-mechanisms"]
    return [name for name in found or [] if isinstance(name, str)]


class Prologue(ABC):
    """`take` what the peer sent, send what is in `out`, until `is_done` or `failure`."""

    def __init__(self, login: CapturedLogin) -> None:
        self.login = login
        self.out = bytearray()
        self.is_done = False
        self.failure: str | None = None
        self.is_refused = False
        self.waiting_for = "the protocol header"
        # What must not be recorded.
        self.secrets: list[bytes] = []

    @abstractmethod
    def start(self) -> None: ...

    def take(self, octets: bytes) -> None:
        """One protocol header or SASL frame of the peer."""
        frame = Frame(octets)
        if frame.name == PROTOCOL_HEADER:
            header = decode_protocol_header(octets)
            assert header is not None
            version = (header.major, header.minor, header.revision)
            if version != (1, 0, 0):
                spelled = ".".join(map(str, octets[4:]))
                self.failure = f"the peer speaks AMQP {spelled}, not 1.0"
            else:
                self._header(header.protocol)
        elif octets[5] == SASL_FRAME:
            self._sasl(frame)
        else:
            self.failure = f"the peer sent {frame.name} before the layers were agreed"

    def _say(self, name: str, fields: dict[str, object]) -> None:
        self.out += make_frame(name, fields, 0, SASL_FRAME)

    @abstractmethod
    def _header(self, protocol: int) -> None: ...

    @abstractmethod
    def _sasl(self, frame: Frame) -> None: ...


class ClientPrologue(Prologue):
    """Asks for SASL if the capture had it or credentials name a mechanism."""

    def __init__(self, login: CapturedLogin, credentials: Credentials) -> None:
        super().__init__(login)
        self._credentials = credentials
        self._asked = (
            SASL_PROTOCOL if login.has_sasl or credentials.mechanism is not None else AMQP_PROTOCOL
        )
        self.mechanism: str | None = None

    def start(self) -> None:
        self.out += encode_protocol_header(self._asked)

    def _header(self, protocol: int) -> None:
        if protocol != self._asked:
            wanted = {SASL_PROTOCOL: "SASL", TLS_PROTOCOL: "TLS"}.get(protocol, "no SASL")
            self.failure = f"the peer wants {wanted} first (it answered with protocol {protocol})"
        elif protocol == SASL_PROTOCOL:
            self.waiting_for = "sasl-mechanisms"
        else:
            self.is_done = True

    def _sasl(self, frame: Frame) -> None:
        if frame.name == "sasl-mechanisms":
            self._init(mechanisms_of(frame))
        elif frame.name == "sasl-challenge":
            # PLAIN, ANONYMOUS and EXTERNAL said all they have in their initial response.
            self._say("sasl-response", {"response": b""})
        elif frame.name == "sasl-outcome":
            self._outcome(frame)
        else:
            self.failure = f"the peer sent {frame.name}, which only a client may"

    def _init(self, offered: list[str]) -> None:
        self.mechanism = self._choose(offered)
        if self.mechanism is None:
            self.failure = f"the peer offers only {', '.join(offered) or 'no mechanism'}"
            return
        fields: dict[str, object] = {"mechanism": self.mechanism}
        if self.mechanism == PLAIN:
            fields["initial-response"] = self._credentials.plain_response()
            self.secrets = [self._credentials.plain_response()]
        elif self.mechanism == ANONYMOUS:
            fields["initial-response"] = b"amqpscope"
        else:
            fields["initial-response"] = b""
        self._say("sasl-init", fields)
        self.waiting_for = "sasl-outcome"

    def _choose(self, offered: list[str]) -> str | None:
        if self._credentials.mechanism is not None:
            wanted = self._credentials.mechanism
            return wanted if wanted in offered and wanted in _SPOKEN else None
        captured = () if self.login.mechanism not in _SPOKEN else (self.login.mechanism,)
        return next((name for name in (*captured, *_SPOKEN) if name in offered), None)

    def _outcome(self, frame: Frame) -> None:
        code = frame.raw("code")
        number = code[1] if len(code) == 2 else _OK
        if number == _OK:
            self._asked = AMQP_PROTOCOL
            self.out += _AMQP_HEADER
            self.waiting_for = "the protocol header"
            return
        self.is_refused = True
        said = _OUTCOMES.get(number, str(number))
        self.failure = f"the peer refused the login: {self.mechanism}, outcome {said}"


class ServerPrologue(Prologue):
    """Answers whatever the client asks for; a capture that ends in a refusal is kept to."""

    def start(self) -> None:
        """The client speaks first."""

    def _header(self, protocol: int) -> None:
        if protocol == SASL_PROTOCOL:
            offered = self.login.mechanisms or [ANONYMOUS, PLAIN]
            self.out += _SASL_HEADER
            self._say("sasl-mechanisms", {"sasl-server-mechanisms": offered})
            self.waiting_for = "sasl-init"
        elif protocol == AMQP_PROTOCOL:
            self.out += _AMQP_HEADER
            self.is_done = True
        else:
            self.out += _SASL_HEADER
            self.failure = f"the client asks for protocol {protocol}"

    def _sasl(self, frame: Frame) -> None:
        if frame.name not in ("sasl-init", "sasl-response"):
            self.failure = f"the client sent {frame.name}, which only a server may"
            return
        self._say("sasl-outcome", {"code": self.login.outcome})
        self.waiting_for = "the protocol header"
        if self.login.is_refused:
            self.is_done = True
