"""The engine contract: one captured connection, one of its sides played again, no I/O.

An engine is made for a conversation and a role. A driver owns the socket, the clock and the pace:

    engine.start(now_ns)                    once, when the connection stands
    octets = engine.urgent(now_ns)          what must go out at once whatever the pace: handshake,
                                            answers that the protocol demands, heartbeats
    ts_ns  = engine.next_ts_ns              capture time of our next step (None: no step is left);
                                            the driver waits until the pace says that it is due …
    out    = engine.poll(now_ns)            … then asks for it until it is given: None means that
                                            ``engine.waiting_for`` has not come yet
    engine.receive(octets, now_ns)          whatever the live peer sent
    engine.end_of_stream(now_ns)            the live peer closed the stream
    engine.skip_wait(now_ns)                the driver has waited long enough (--step-timeout): note
                                            it and go on without what ``waiting_for`` names
    engine.is_done                          all our steps are sent and all that the capture shows
                                            in answer has come, or the connection is over
    engine.goodbye(now_ns)                  octets of an orderly close, as far as one is possible
    engine.wake_ns                          when ``urgent`` must be asked again at the latest

Rules that keep the two engines alike:

* Our role's captured frames go out as captured (`Step.octets`) unless a field must be rewritten;
  then only that field is spliced. Frames that cannot be decoded go out as they are.
* The handshake is the engine's own: captured secrets are never sent; ``settings.credentials`` are.
* Names go through ``settings.rewriter`` (shared by all engines of one copy, so that a generated
  name learnt on one connection is known on the others).
* What the engine had to do differently or missed is a `Note`; what the peer did differently is
  found later by comparing tables (`compare`), not here.
* ``settings.causality``: "protocol" waits for what the protocol makes necessary; "window" also
  keeps no more messages unsettled than the capture had; "strict" also waits for everything that
  the capture shows as received before.
* ``failure`` is set when the run cannot go on (login refused, peer gone, malformed answer).

The role "server" serves a live client: ``settings.unmatched`` says what happens to frames that
the capture does not have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from replay.rewrite import Rewriter
from replay.script import CLIENT, SERVER, ConversationScript, Step

ROLES = {"client": CLIENT, "server": SERVER}
CAUSALITIES = ("protocol", "window", "strict")
UNMATCHED = ("close", "error", "ignore")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who we are on the live connection. Never printed: the representation hides the secret."""

    username: str = "guest"
    password: str = field(default="guest", repr=False)
    mechanism: str | None = None  # None: as captured

    def plain_response(self) -> bytes:
        """RFC 4616."""
        return b"\0" + self.username.encode() + b"\0" + self.password.encode()


@dataclass(slots=True)
class Settings:
    """What the user chose, as far as an engine needs it."""

    rewriter: Rewriter = field(default_factory=Rewriter)
    credentials: Credentials = field(default_factory=Credentials)
    causality: str = "window"
    # wire: captured octets; semantic: the same operations, written anew from their values
    mode: str = "wire"
    # Our own limit on frames, over and above what was captured and what the peer allows.
    max_frame_bytes: int | None = None
    heartbeat_s: float | None = None  # None: as captured
    unmatched: str = "close"
    # Load mode: identifies one of several copies (container-ids must be unique).
    copy_no: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the engine did otherwise than captured. severity: hard | soft | info."""

    code: str
    text: str
    severity: str = "info"
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What goes out for a captured step; empty octets: the step was skipped or is answered."""

    octets: bytes
    step: Step


class Engine(ABC):
    """See the module's text. Subclasses fill ``notes`` and ``waiting_for``."""

    dialects: ClassVar[tuple[str, ...]] = ()

    def __init__(self, conversation: ConversationScript, role: str, settings: Settings) -> None:
        self.conversation = conversation
        self.role = role
        self.side = ROLES[role]
        self.settings = settings
        self.rewriter = settings.rewriter
        self.notes: list[Note] = []
        self.waiting_for: str | None = None
        self.failure: str | None = None
        # The connection is over: closed by either side, or lost.
        self.is_closed = False
        self.sent_step_count = 0
        self.skipped_step_count = 0
        # Octets that must not be recorded (a SASL response): masked wherever they are written.
        self.secrets: list[bytes] = []
        # xxh3-64 of bodies that went out changed → of the captured body, for the comparison.
        self.body_hashes: dict[str, str] = {}

    @abstractmethod
    def start(self, now_ns: int) -> None: ...

    @abstractmethod
    def receive(self, octets: bytes, now_ns: int) -> None: ...

    @abstractmethod
    def end_of_stream(self, now_ns: int) -> None: ...

    @abstractmethod
    def urgent(self, now_ns: int) -> bytes: ...

    @property
    @abstractmethod
    def next_ts_ns(self) -> int | None: ...

    @abstractmethod
    def poll(self, now_ns: int) -> Outgoing | None: ...

    @abstractmethod
    def skip_wait(self, now_ns: int) -> None: ...

    @property
    @abstractmethod
    def is_done(self) -> bool: ...

    @abstractmethod
    def goodbye(self, now_ns: int) -> bytes: ...

    @property
    def wake_ns(self) -> int | None:
        return None

    @property
    def settle_ns(self) -> int:
        """How long the live peer may need for what was sent before, on whatever connection, until
        it can answer our next step as captured. The driver keeps the captured distance up to this,
        at any speed: nothing on the wire says when a publish without confirms has arrived."""
        return 0

    # Cross-connection causality: how far this engine is in the captured timeline. The driver lets
    # no other connection send a step captured later than what is still outstanding here.
    @property
    def outstanding_ts_ns(self) -> int | None:
        """Capture time of the oldest step that is not done yet: ours not sent, or an answer of
        the peer to a request of ours not received. None: nothing is outstanding."""
        return self.next_ts_ns

    def note(self, code: str, text: str, severity: str = "info", step: Step | None = None) -> None:
        self.notes.append(Note(code, text, severity, step))


def make_engine(conversation: ConversationScript, role: str, settings: Settings) -> Engine:
    """The engine of the conversation's dialect; ValueError where there is none."""
    if conversation.dialect in ("0-9-1", "0-9", "0-8"):
        from replay.engine09 import make_engine as make
    elif conversation.dialect == "1.0":
        from replay.engine10 import make_engine as make
    else:
        raise ValueError(f"AMQP {conversation.dialect or 'of no known version'} cannot be replayed")
    return make(conversation, role, settings)
