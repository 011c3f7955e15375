"""The layers of a connection (1.0 §2.2, §2.4, §5): protocol headers, SASL, open and close.

Turns them into the facts of the `connections` row. Secrets are never looked at.
"""

from __future__ import annotations

from typing import Any

from .composites import Composite, Vocabulary
from .definitions import MIN_MAX_FRAME_SIZE
from .frames import PROTOCOLS, TLS_PROTOCOL, ProtocolHeader
from .meaning import error_words, text_of
from .render import composite_tree, dump
from .silence import Silence

_SIDES = ("client", "server")
_SASL_CODES = ("ok", "auth", "sys", "sys-perm", "sys-temp")
#: Fields of open that have columns.
_OPEN_COLUMNS = frozenset(("container-id", "hostname", "idle-time-out"))
#: 1.0 §2.4.5: the idle-time-out in an open should be half the time after which the peer really
#: gives up; silence beyond the whole of it breaks it.
_THRESHOLD = 2
_NS_PER_MS = 1_000_000


#: Headers that one side may send before we stop comparing: TLS, SASL, AMQP and a margin.
MAX_HEADERS = 8


class Layers:
    """What the connection itself has gone through."""

    def __init__(self, conn: Any, vocabulary: Vocabulary, silence: Silence) -> None:
        self._conn = conn
        self._vocabulary = vocabulary
        self._silence = silence
        self._headers: tuple[list[ProtocolHeader], list[ProtocolHeader]] = ([], [])
        self._opens: list[Composite | None] = [None, None]
        self._details: dict[str, Any] = {}
        self.is_tls = [False, False]
        self.is_closed = False

    def protocol_header(self, side: int, header: ProtocolHeader, moment: Any) -> None:
        """A header of either side; a server that answers with another one refuses (§2.2)."""
        if header.protocol == TLS_PROTOCOL:
            self.is_tls[side] = True
        mine, theirs = self._headers[side], self._headers[1 - side]
        if len(mine) < MAX_HEADERS:
            mine.append(header)
        if len(theirs) >= len(mine) and theirs[len(mine) - 1] != header:
            asked, offered = (_spelled(sent[len(mine) - 1]) for sent in self._headers)
            detail = f"the client asked for {asked}, the server offers {offered}"
            self._conn.facts["close_reason"] = f"refused: {detail}"
            moment.problem("detect.refused_version", detail, side)
        if all(self.is_tls):
            self._conn.facts["transport"] = "tls"

    def sasl(self, frame: Composite) -> None:
        facts = self._conn.facts
        if frame.name == "sasl-mechanisms":
            self._details["sasl_mechanisms"] = frame["sasl-server-mechanisms"]
        elif frame.name == "sasl-init":
            facts["mechanism"] = frame["mechanism"]
        elif frame.name == "sasl-outcome":
            code = frame["code"]
            if code is not None and code < len(_SASL_CODES):
                facts["auth_outcome"] = _SASL_CODES[code]
                if code:
                    facts.setdefault("close_reason", f"SASL outcome {_SASL_CODES[code]}")

    def open(self, side: int, frame: Composite, ts_ns: int) -> None:
        facts = self._conn.facts
        self._opens[side] = frame
        self._silence.watch(1 - side, ts_ns)
        who = _SIDES[side]
        properties = frame["properties"] if isinstance(frame["properties"], dict) else {}
        facts[f"{who}_container"] = frame["container-id"]
        facts[f"{who}_product"] = text_of(properties.get("product"))
        facts[f"{who}_version"] = text_of(properties.get("version"))
        facts[f"{who}_idle_timeout_ms"] = frame["idle-time-out"]
        if side == 0:
            facts["vhost"] = frame["hostname"]
        rest = composite_tree(self._vocabulary, frame, _OPEN_COLUMNS)
        if rest:
            self._details[who] = rest
        opens = [frame for frame in self._opens if frame is not None]
        # 1.0 §2.7.1: each side limits what it receives; what both can use is the smaller.
        facts["frame_max"] = max(min(o["max-frame-size"] for o in opens), MIN_MAX_FRAME_SIZE)
        facts["channel_max"] = min(o["channel-max"] for o in opens)
        if len(opens) == 2:
            facts.setdefault("opened_ts_ns", ts_ns)

    def close(self, side: int, frame: Composite, ts_ns: int) -> None:
        facts = self._conn.facts
        error = error_words(frame["error"])
        self._silence.excuse(side)
        if not self.is_closed:
            self.is_closed = True
            facts["closed_ts_ns"] = ts_ns
            facts["close_initiator"] = _SIDES[side]
            facts["close_reason"] = "closed"
        if error is not None and facts.get("close_condition") is None:
            facts["close_condition"] = error["condition"]
            facts["close_reason"] = error["description"] or error["condition"]

    def finish(self, ts_ns: int) -> None:
        """Facts that need the whole connection: the longest silence of each side, the one that
        the end cut short included, and whether that kept the idle-time-out asked of it."""
        for side, who in enumerate(_SIDES):
            self._silence.hear(side, ts_ns)
            frame = self._opens[1 - side]
            limit_ms = None if frame is None else frame["idle-time-out"]
            if limit_ms:
                longest = self._silence.longest_1 if side else self._silence.longest_0
                self._details[f"{who}_longest_silence_ms"] = longest // _NS_PER_MS
                self._details[f"{who}_kept_idle_timeout"] = (
                    longest <= _THRESHOLD * limit_ms * _NS_PER_MS
                )
        if self._details:
            self._conn.facts["details"] = dump(self._details)


def _spelled(header: ProtocolHeader) -> str:
    name = PROTOCOLS.get(header.protocol, f"protocol {header.protocol}")
    return f"{name} {header.major}.{header.minor}.{header.revision}"
