"""Frames by the tables: every frame that the quick path leaves, rare ones and odd ones alike.

Decodes the performative, writes its row, names what is wrong, and calls the state model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from dissectors.core.rows import cell_of
from dissectors.core.words import word
from dissectors.tables import FRAMES

from . import lifecycle
from .composites import Composite, Vocabulary
from .frames import AMQP_FRAME, FRAME_TYPES
from .layers import Layers
from .meaning import attach_words, delivery_state, error_words
from .registry import likely_sender
from .render import composite_tree, dump, to_json
from .state import ConnectionState
from .types import Problem

_OK, _MALFORMED, _UNKNOWN = word("ok"), word("malformed"), word("unknown")
_INCOMPLETE = word("incomplete")
_UNKNOWN_NAME = word("unknown")
_COLUMN = {name: cell_of(FRAMES, name) for name in FRAMES.names()}
#: begin's fields that the sessions table has columns for.
_BEGIN_DETAILS = ("offered-capabilities", "desired-capabilities", "properties")
_NOTHING: frozenset[str] = frozenset()
BOTH = 2


class RareFrames:
    """Takes frames of one connection by the tables of one vocabulary."""

    #: Fields with columns of their own, by performative.
    IN_COLUMNS: ClassVar[dict[str, frozenset[str]]] = {
        "transfer": frozenset(("delivery-id", "delivery-tag", "settled", "more")),
        "disposition": frozenset(("first", "last", "settled")),
        "flow": frozenset(("delivery-count", "link-credit")),
    }

    def __init__(self, vocabulary: Vocabulary, state: ConnectionState, layers: Layers) -> None:
        self._vocabulary = vocabulary
        self._state = state
        self._layers = layers
        self._opened: set[int] = set()
        self._handlers: dict[str, Callable[[int, int, Composite, Any], None]] = {
            "open": self._open,
            "begin": self._begin,
            "attach": self._attach,
            "flow": self._flow,
            "transfer": self._transfer,
            "disposition": self._disposition,
            "detach": self._detach,
            "end": self._end,
            "close": self._close,
        }

    def take(self, base: int, side: int, channel: int, frame_type: int, body: bytes) -> None:
        """The frame whose row is at `base`; `body` is all behind the frame header."""
        problems: list[Problem] = []
        value = self._vocabulary.types.decode(body, 0, len(body), problems)
        frame = self._vocabulary.decode(value, problems)
        archetype = "frame" if frame_type == AMQP_FRAME else "sasl-frame"
        if frame is None or archetype not in frame.definition.provides:
            detail = f"no {FRAME_TYPES.get(frame_type, frame_type)} frame has this body"
            problems.append(Problem("frame10.unknown_performative", detail, 0))
            self._put(base, "status", _UNKNOWN if frame else _MALFORMED)
            self._put(base, "name", _UNKNOWN_NAME)
            is_sasl = frame is not None and "sasl-frame" in frame.definition.provides
            if frame_type == AMQP_FRAME and not is_sasl:
                # What a broken SASL frame holds may be a secret.
                self._text(base, to_json(self._vocabulary, value))
            self._report(problems, side)
            return
        if value.end < len(body) and frame.name != "transfer":
            detail = f"{len(body) - value.end} octets behind a {frame.name}"
            problems.append(Problem("frame10.trailing_octets", detail, value.end))
        status = _MALFORMED if problems else _OK
        self._put(base, "status", _INCOMPLETE if self._state.has_hole else status)
        self._put(base, "name", word(frame.name))
        # In a SASL frame a field that is wrong may be a secret in the wrong place.
        rest = self._rest(frame) if frame_type == AMQP_FRAME or not problems else None
        self._text(base, dump(rest) if rest else None)
        self._report(problems, side)
        if frame_type == AMQP_FRAME:
            self._handlers[frame.name](base, side, frame, (channel, body))
        else:
            self._layers.sasl(frame)

    def _rest(self, frame: Composite) -> dict[str, Any]:
        """What the row has no column for."""
        in_columns = self.IN_COLUMNS.get(frame.name, _NOTHING)
        return composite_tree(self._vocabulary, frame, in_columns | _plain_state(frame))

    def _put(self, base: int, column: str, cell: Any) -> None:
        if cell is not None:
            self._state.conn.frames.cells[base + _COLUMN[column]] = cell

    def _text(self, base: int, text: str | None) -> None:
        if text is not None:
            self._put(base, "fields", self._state.conn.frames.text(text))

    def _report(self, problems: list[Problem], side: int) -> None:
        if self._state.has_hole:
            # What is wrong with half a frame is that it is half a frame; that was said before.
            return
        for problem in problems:
            detail = f"{problem.detail} (octet {problem.offset} of the frame body)"
            self._state.problem(problem.code, detail, side)

    # -- what each performative does --------------------------------------------------------

    def _open(self, base: int, side: int, frame: Composite, _: Any) -> None:
        self._opened.add(side)
        # With one open missing its side was joined later, and may have begun more than is seen.
        self._state.is_partial = self._state.has_losses or len(self._opened) < BOTH
        self._layers.open(side, frame, self._state.ts_ns)

    def _close(self, base: int, side: int, frame: Composite, _: Any) -> None:
        lifecycle.close(self._state, side)
        self._layers.close(side, frame, self._state.ts_ns)

    def _begin(self, base: int, side: int, frame: Composite, where: Any) -> None:
        details = composite_tree(
            self._vocabulary, frame, frozenset(frame.fields) - frozenset(_BEGIN_DETAILS)
        )
        session = lifecycle.begin(
            self._state,
            side,
            where[0],
            frame["remote-channel"],
            frame["next-outgoing-id"],
            frame["incoming-window"],
            frame["outgoing-window"],
            frame["handle-max"],
            details,
        )
        self._put(base, "session_id", session.session_id)

    def _end(self, base: int, side: int, frame: Composite, where: Any) -> None:
        session = lifecycle.end(self._state, side, where[0], error_words(frame["error"]))
        if session is not None:
            self._put(base, "session_id", session.session_id)

    def _attach(self, base: int, side: int, frame: Composite, where: Any) -> None:
        if frame["name"] is None or frame["handle"] is None or frame["role"] is None:
            return
        session = self._state.session_of(side, where[0])
        words = attach_words(self._vocabulary, frame)
        link = lifecycle.attach(self._state, session, side, words)
        self._put(base, "session_id", session.session_id)
        self._put(base, "link_id", link.link_id)

    def _detach(self, base: int, side: int, frame: Composite, where: Any) -> None:
        session = self._state.session_of(side, where[0])
        self._put(base, "session_id", session.session_id)
        if frame["handle"] is None:
            return
        link = lifecycle.detach(
            self._state,
            session,
            side,
            frame["handle"],
            bool(frame["closed"]),
            error_words(frame["error"]),
        )
        if link is not None:
            self._put(base, "link_id", link.link_id)

    def _transfer(self, base: int, side: int, frame: Composite, where: Any) -> None:
        state, (channel, body) = self._state, where
        if frame["handle"] is None:
            return
        session = state.session_of(side, channel)
        link = state.link_of(session, side, frame["handle"], side)
        outcome = delivery_state(frame["state"])
        payload = frame.value.end
        delivery = state.transfer(
            session,
            link,
            side,
            _number(frame["delivery-id"]),
            frame["delivery-tag"],
            _number(frame["message-format"]),
            _flag(frame["settled"]),
            _flag(frame["more"]),
            _flag(frame["resume"]),
            _flag(frame["aborted"]),
            outcome,
            body,
            payload,
            len(body),
        )
        self._put(base, "session_id", session.session_id)
        self._put(base, "link_id", link.link_id)
        self._put(base, "transfer_id", delivery.transfer_id)
        self._put(base, "delivery_id", frame["delivery-id"])
        if frame["delivery-tag"] is not None:
            tag = frame["delivery-tag"].hex().encode()
            state.conn.frames.put_string(base, _COLUMN["delivery_tag"], tag)
        self._put(base, "is_settled", _stated(frame["settled"]))
        self._put(base, "is_more", int(bool(frame["more"])))
        self._put(base, "outcome", None if outcome is None else outcome.word)
        self._put(base, "body_bytes", len(body) - payload)

    def _disposition(self, base: int, side: int, frame: Composite, where: Any) -> None:
        state = self._state
        if frame["first"] is None or frame["role"] is None:
            return
        if self._state.has_hole and "settled" not in frame.wire:
            return
        session = state.session_of(side, where[0])
        outcome = delivery_state(frame["state"])
        delivery = state.disposition(
            session,
            side,
            int(frame["role"]),
            frame["first"],
            _number(frame["last"]),
            _flag(frame["settled"]),
            outcome,
        )
        self._put(base, "session_id", session.session_id)
        if delivery is not None:
            self._put(base, "link_id", delivery.link.link_id)
            self._put(base, "transfer_id", delivery.transfer_id)
        self._put(base, "delivery_id", frame["first"])
        self._put(base, "delivery_last", frame["last"])
        self._put(base, "is_settled", int(bool(frame["settled"])))
        self._put(base, "outcome", None if outcome is None else outcome.word)

    def _flow(self, base: int, side: int, frame: Composite, where: Any) -> None:
        state = self._state
        session = state.session_of(side, where[0])
        link = None
        if frame["handle"] is not None:
            sender = likely_sender(
                side,
                _number(frame["link-credit"]),
                _number(frame["available"]),
                _flag(frame["drain"]),
            )
            link = state.link_of(session, side, frame["handle"], sender)
        state.flow(
            session,
            link,
            side,
            _number(frame["next-incoming-id"]),
            _number(frame["incoming-window"]),
            _number(frame["next-outgoing-id"]),
            _number(frame["outgoing-window"]),
            _number(frame["delivery-count"]),
            _number(frame["link-credit"]),
            _number(frame["available"]),
            _flag(frame["drain"]),
            _flag(frame["echo"]),
        )
        self._put(base, "session_id", session.session_id)
        if link is not None:
            self._put(base, "link_id", link.link_id)
        self._put(base, "link_credit", frame["link-credit"])
        self._put(base, "delivery_count", frame["delivery-count"])


def _plain_state(frame: Composite) -> frozenset[str]:
    """A state that its column says all about need not be shown again."""
    state = frame.fields.get("state")
    if isinstance(state, Composite) and not state.wire:
        return frozenset(("state",))
    return _NOTHING


def _number(data: int | None) -> int:
    return -1 if data is None else data


def _flag(data: bool | None) -> int:
    return -1 if data is None else int(data)


def _stated(data: bool | None) -> int | None:
    return None if data is None else int(data)
