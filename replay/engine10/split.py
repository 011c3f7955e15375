"""A transfer that is larger than the live peer's max-frame-size, cut into several (1.0 §2.6.14).

Continuations carry the handle and `more` only; everything else was said by the first transfer.
"""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.amqp10.frames import FRAME_HEADER_BYTES

from .frame import Frame
from .octets import FALSE, NULL, TRUE


def split_transfer(octets: bytes, max_frame_bytes: int) -> list[bytes]:
    """The transfer as frames of at most that size; itself if it fits or cannot be cut."""
    if len(octets) <= max_frame_bytes:
        return [octets]
    frame = Frame(octets)
    if frame.performative is None or not frame.payload:
        return [octets]
    return list(_pieces(frame, max_frame_bytes))


def _pieces(frame: Frame, max_frame_bytes: int) -> Iterator[bytes]:
    payload = frame.payload
    is_more = frame.flag("more")
    continued = _continuation(frame)
    at = 0
    while at < len(payload):
        part = frame if at == 0 else continued
        head = len(part.with_fields({"more": TRUE}, b""))
        # 1.0 §2.7.1 allows no limit under 512, so that there is always room; a peer that asks
        # for less gets one octet at a time rather than a loop without end.
        room = max(max_frame_bytes - head, 1)
        piece = payload[at : at + room]
        at += len(piece)
        is_last = at >= len(payload) and not is_more
        more = (FALSE if part is continued else frame.raw("more")) if is_last else TRUE
        yield part.with_fields({"more": NULL if is_last and more == FALSE else more}, piece)


def _continuation(frame: Frame) -> Frame:
    """The head of every transfer but the first."""
    assert frame.performative is not None
    bare = frame.performative.descriptor + b"\xc0\x00\x00"
    start = frame.octets[:FRAME_HEADER_BYTES]
    octets = start[:4] + b"\x02" + start[5:] + bare
    # An empty list8 has a size that counts its own count octet.
    octets = octets[:-2] + b"\x01\x00"
    return Frame(Frame(octets).with_fields({"handle": frame.raw("handle")}))
