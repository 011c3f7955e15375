"""A transfer that is larger than the live peer's max-frame-size, cut into several (1.0 §2.6.14).

Continuations carry the handle and `more` only; everything else was said by the first transfer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dissectors.amqp10.frames import encode_frame

from .frame import Frame
from .octets import NULL, TRUE


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
    part = frame
    at = 0
    while at < len(payload):
        head = len(part.with_fields({"more": TRUE}, b""))
        # 1.0 §2.7.1 allows no limit under 512, so that there is always room; a peer that asks
        # for less gets one octet at a time rather than a loop without end.
        room = max(max_frame_bytes - head, 1)
        piece = payload[at : at + room]
        at += len(piece)
        is_more = at < len(payload) or frame.flag("more")
        yield part.with_fields({"more": TRUE if is_more else NULL}, piece)
        part = _continuation(frame)


def _continuation(frame: Frame) -> Frame:
    """The head of every transfer but the first."""
    assert frame.performative is not None
    bare = replace(frame.performative, items=(frame.raw("handle"),))
    octets = encode_frame(bare.octets(), frame.channel)
    return Frame(octets)
