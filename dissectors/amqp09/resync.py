"""Finding the next frame after a gap or garbage.

A frame is believed when its header is possible, its payload looks like its type, and its frame-end
is in place; away from a segment's start, the frame after it must be believable too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .frames import BODY, FRAME_END, HEADER, HEARTBEAT, METHOD, Frame, cut_frame

if TYPE_CHECKING:
    from .rare import RareFrames

# Type, channel, and a size below 16 MiB; with the draft's cycle octet in the second one.
_SHAPES = {
    7: re.compile(rb"(?=[\x01-\x0a][\x00-\xff]{2}\x00|AMQP)"),
    8: re.compile(rb"(?=[\x01-\x0a][\x00-\xff]{3}\x00|AMQP)"),
}
# Frames that must follow each other where nothing else speaks for a frame's beginning.
FRAMES_IN_CHAIN = 2


def find_next_frame(state: RareFrames, buf: bytes, start: int, end: int, is_final: bool) -> int:
    """First offset where frames begin again, or -1 while none is sure."""
    for match in _SHAPES[state.framing.header.size].finditer(buf, start, end):
        at = match.start()
        wanted = 1 if at == start or is_final else FRAMES_IN_CHAIN
        if is_chain(state, buf, at, end, wanted):
            return at
    return -1


def is_chain(state: RareFrames, buf: bytes, at: int, end: int, wanted: int) -> bool:
    """Whether that many believable frames follow each other from `at`."""
    for _ in range(wanted):
        if buf[at : at + 4] == b"AMQP" and at + 8 <= end:
            at += 8
            continue
        frame = cut_frame(buf, at, end, state.framing)
        if frame is None or not is_believable(state, frame, buf):
            return False
        at = frame.end
    return True


def is_believable(state: RareFrames, frame: Frame, buf: bytes) -> bool:
    """Whether this can be a frame of the dialect."""
    if frame.end_octet != FRAME_END or frame.type > state.max_type:
        return False
    payload = buf[frame.payload_start : frame.payload_start + 4]
    if frame.type == METHOD:
        return int.from_bytes(payload, "big") in state.dialect.methods
    if frame.type == HEADER:
        class_id = int.from_bytes(payload[:2], "big")
        return frame.channel > 0 and frame.size >= 14 and class_id in state.dialect.class_names
    if frame.type == BODY:
        return frame.channel > 0 and frame.size > 0
    return frame.type != HEARTBEAT or (frame.channel == 0 and frame.size == 0)
