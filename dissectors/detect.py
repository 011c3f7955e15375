"""Which protocol a connection speaks: by its header, else by the shape of its frames.

Works on the first pieces of both sides and nothing else; it decides, it does not decode. The
rows below are the wire facts of every version; the order of the checks is the order of trust.
"""

from __future__ import annotations

from typing import NamedTuple

from dissectors import shapes
from dissectors.upgrade import head_size, is_amqp_upgrade

# octets after "AMQP" → dialect
PROTOCOL_HEADERS: dict[bytes, str] = {
    bytes((0, 0, 9, 1)): "0-9-1",
    bytes((1, 1, 0, 9)): "0-9",
    bytes((1, 1, 0, 11)): "0-9",
    bytes((1, 1, 8, 0)): "0-8",
    bytes((1, 1, 9, 1)): "0-9-draft",
    bytes((1, 1, 0, 10)): "0-10",
    bytes((0, 1, 0, 0)): "1.0",
    bytes((2, 1, 0, 0)): "1.0",
    bytes((3, 1, 0, 0)): "1.0",
}
DIALECTS = tuple(dict.fromkeys((*PROTOCOL_HEADERS.values(), "1.0-draft")))
AMQP = b"AMQP"
TLS_HEADER = b"AMQP\x02\x01\x00\x00"
HEADER_BYTES = 8
HTTP_STARTS = (b"GET ", b"POST ", b"PUT ", b"HEAD ", b"OPTIONS ", b"DELETE ", b"PATCH ",
               b"CONNECT ", b"PRI * HTTP/2", b"HTTP/1.")  # fmt: skip

# Held per connection before the search for AMQP is given up: more than the largest frame of usual
# settings (128 KiB), inside which a capture may begin.
MAX_HELD_BYTES = 256 * 1024
MAX_HELD_PIECES = 256
# Where the beginning of the connection is there and is no AMQP, a few more looks are enough (a
# proxy may have put its own line in front).
MAX_PIECES_AFTER_START = 16
# What the beginning of a stream is looked at for (an HTTP head may be long).
MAX_START_BYTES = 16 * 1024
# While few pieces are held all are looked at again, since another side may explain them.
FEW_PIECES = 4


class Verdict(NamedTuple):
    """What was found. ``client_side`` is -1 where the content does not tell."""

    dialect: str | None
    confidence: float
    known_by: str
    client_side: int = -1
    client_known_by: str = "unknown"
    is_midstream: bool = False
    # The 1.0 header that announces TLS opened the stream: records follow, not frames (1.0 §5.2).
    is_inband_tls: bool = False


class Piece(NamedTuple):
    """Bytes of one side as TCP gave them."""

    side: int
    octets: bytes
    ts_ns: int
    packet_no: int
    offset: int


def detect(pieces: list[Piece], is_final: bool, is_whole: bool) -> Verdict | None:
    """The verdict, or None while more is needed. ``is_whole``: the streams' beginnings are here."""
    starts = [_start_of(pieces, 0), _start_of(pieces, 1)]
    first_side = pieces[0].side
    for side in (first_side, 1 - first_side):
        start = starts[side]
        if start.startswith(AMQP) and (is_whole or side == first_side):
            if len(start) < HEADER_BYTES and not is_final:
                return None
            if len(start) >= HEADER_BYTES:
                answer = starts[1 - side]
                is_enough = is_final or _is_enough(pieces, is_whole)
                if not (is_whole or answer or is_enough):
                    return None
                verdict = _by_header(start, answer, side, is_enough)
                if verdict is not None and not is_whole and _is_answer(verdict, answer):
                    return verdict._replace(client_side=1 - side)
                if verdict is not None or not is_final:
                    return verdict
        if start.startswith(HTTP_STARTS):
            if head_size(start) == 0 and not is_final:
                return None
            client = side if not start.startswith(b"HTTP/") else 1 - side
            dialect = "websocket" if is_amqp_upgrade(start) else "http"
            return Verdict(dialect, 1.0, "frame-shape", client, "method")
        if shapes.is_tls(start):
            client = side if shapes.is_client_hello(start) else -1
            return Verdict(
                "tls", 1.0, "frame-shape", client, "method" if client >= 0 else "unknown"
            )
    has_looked = len(pieces) > FEW_PIECES and not is_final
    verdict = _by_shape(pieces[-1:] if has_looked else pieces)
    if verdict is not None:
        return verdict
    if is_final or _is_enough(pieces, is_whole):
        return _by_shape(_inner_pieces(pieces)) or Verdict(None, 0.0, "frame-shape")
    return None


def _is_answer(verdict: Verdict, other: bytes) -> bool:
    """Whether a header was the server's: both sides of 1.0 send one, the client first (1.0 §2.2).
    Where the other side is past its own, that one went before."""
    is_header = other.startswith(AMQP[: len(other)])
    return verdict.dialect in ("1.0", "1.0-draft") and not is_header


def _is_enough(pieces: list[Piece], is_whole: bool) -> bool:
    """Whether more pieces would not tell more."""
    if is_whole and len(pieces) > MAX_PIECES_AFTER_START and pieces[0].offset == 0:
        return True
    held = sum([len(piece.octets) for piece in pieces])
    return held > MAX_HELD_BYTES or len(pieces) > MAX_HELD_PIECES


def _inner_pieces(pieces: list[Piece]) -> list[Piece]:
    """Where frames begin inside the held streams, not with a segment."""
    found = []
    for side in (0, 1):
        run, end = b"", -1
        for piece in [p for p in pieces if p.side == side] + [Piece(side, b"", 0, 0, -1)]:
            if piece.offset != end:
                place = shapes.find_frames(run)
                if place >= 0:
                    found.append(Piece(side, run[place:], 0, 0, 0))
                run = b""
            run += piece.octets
            end = piece.offset + len(piece.octets)
    return found


def _start_of(pieces: list[Piece], side: int) -> bytes:
    """A side's bytes from its first piece, as far as they are contiguous."""
    start = b""
    origin = -1
    for piece in pieces:
        if piece.side != side:
            continue
        if origin < 0:
            origin = piece.offset
        if piece.offset != origin + len(start) or len(start) > MAX_START_BYTES:
            break
        start += piece.octets
    return start


def _by_header(start: bytes, answer: bytes, side: int, is_final: bool) -> Verdict | None:
    """A protocol header opens the stream; two versions of it need a look at what follows."""
    dialect = PROTOCOL_HEADERS.get(start[4:HEADER_BYTES])
    if dialect is None:
        return Verdict("1.0" if start[4] < 4 and start[5] == 1 else "0-9-1", 0.3,
                       "protocol-header", side, "protocol-header")  # fmt: skip
    if start.startswith(TLS_HEADER):
        return Verdict(dialect, 1.0, "protocol-header", side, "protocol-header", False, True)
    confidence = 1.0
    if dialect == "0-9-draft":
        # RabbitMQ and old clients send the draft's header and speak 0-8: the frame header tells.
        frames = answer[HEADER_BYTES:] if answer.startswith(AMQP) else answer
        width = shapes.frame_header_width(frames) or shapes.frame_header_width(start[HEADER_BYTES:])
        if width is None and not is_final:
            return None
        dialect = "0-8" if width == 7 else "0-9-draft"
        confidence = 1.0 if width else 0.5
    elif dialect == "1.0":
        draft = shapes.is_draft(start)
        if draft is None:
            draft = shapes.is_draft(answer)
        if draft is None and not is_final:
            return None
        if draft:
            dialect = "1.0-draft"
    return Verdict(dialect, confidence, "protocol-header", side, "protocol-header")


def _by_shape(pieces: list[Piece]) -> Verdict | None:
    """Frames that begin at the start of some piece."""
    best: Verdict | None = None
    for piece in pieces:
        frames, sender = shapes.score_09(piece.octets)
        if frames:
            client = (
                -1 if sender is None else (piece.side if sender == "client" else 1 - piece.side)
            )
            known_by = "unknown" if client < 0 else "method"
            confidence = min(0.99, 0.7 + 0.1 * frames)
            verdict = Verdict("0-9-1", confidence, "frame-shape", client, known_by, True)
            if best is None or best.client_side < 0 <= client or best.confidence < confidence:
                best = verdict
            if client >= 0:
                return verdict
            continue
        dialect, frames = _other_frames(piece.octets)
        if frames:
            confidence = min(0.99, 0.7 + 0.1 * frames)
            return Verdict(dialect, confidence, "frame-shape", is_midstream=True)
    return best


def _other_frames(octets: bytes) -> tuple[str, int]:
    """A dialect with another frame header than 0-9-1, and how many of its frames begin here."""
    frames = shapes.score_10(octets)
    if frames:
        return ("1.0-draft" if shapes.is_draft(octets) else "1.0"), frames
    frames, _ = shapes.score_09(octets, 8)
    if frames:
        return "0-9-draft", frames
    return "0-10", shapes.score_010(octets)
