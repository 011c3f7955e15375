"""One direction of a TCP connection: its place in sequence space and its health.

Positions are 64-bit offsets from the first data byte: the 32-bit wrap is dealt with here, in
``offset_of``, and nowhere else.
"""

import cython

# Segments further ahead than this are not believed at once (a damaged packet would open a gap
# of gigabytes); a few in a row are (the capture really lost that much).
MAX_AHEAD = cython.declare(cython.longlong, 64 * 1024 * 1024)
FAR_SEGMENTS_BELIEVED = cython.declare(cython.int, 4)

# Declared, because the compiler takes a literal of this size for a Python number.
SEQ_MASK = cython.declare(cython.longlong, 0xFFFFFFFF)
SEQ_HALF = cython.declare(cython.longlong, 0x80000000)
SEQ_SPACE = cython.declare(cython.longlong, 0x100000000)


class HalfStream:
    """``delivered`` is the offset up to which the stream was handed on, gaps included."""

    def __init__(self) -> None:
        self.is_anchored = False
        self.next_seq = 0
        self.delivered = 0
        self.has_syn = False
        self.syn_seq = 0
        self.fin_offset = -1
        self.acked = -1
        # Segments that wait, sorted: (offset, octets, missing, ts_ns, packet_no, peer offset acked)
        self.waiting: list = []
        self.waiting_bytes = 0
        self.blocked_since_ns = -1
        self.blocked_packets = 0
        self.far_count = 0
        # The highest byte seen, handed on or not, and when it came.
        self.seen_end = 0
        self.seen_ts_ns = 0
        self.retransmit_count = 0
        self.retransmit_bytes = 0
        self.out_of_order_count = 0
        self.keepalive_count = 0
        self.zero_window_count = 0
        self.zero_window_ns = 0
        self.zero_window_since_ns = -1
        self.sample_end = -1
        self.sample_ts_ns = 0

    def anchor(self, seq: cython.longlong) -> cython.int:
        """The stream's first data byte has this sequence number."""
        self.is_anchored = True
        self.next_seq = seq & SEQ_MASK
        return 0

    def offset_of(self, seq: cython.longlong) -> cython.longlong:
        """Stream offset of a sequence number: the one nearest to where we are."""
        delta: cython.longlong = (seq - self.next_seq) & SEQ_MASK
        if delta >= SEQ_HALF:
            delta -= SEQ_SPACE
        return self.delivered + delta

    def advance(self, count: cython.longlong) -> cython.int:
        self.delivered += count
        self.next_seq = (self.next_seq + count) & SEQ_MASK
        return 0

    def is_believable(self, offset: cython.longlong) -> cython.int:
        """Whether a segment at this offset may be meant."""
        if offset - self.delivered <= MAX_AHEAD:
            self.far_count = 0
            return 1
        self.far_count += 1
        return 1 if self.far_count >= FAR_SEGMENTS_BELIEVED else 0

    def note_window(self, window: cython.longlong, ts_ns: cython.longlong) -> cython.int:
        """Count spells in which this side's receive window is closed. True when it changes."""
        if window == 0:
            if self.zero_window_since_ns < 0:
                self.zero_window_count += 1
                self.zero_window_since_ns = ts_ns
                return 1
        elif self.zero_window_since_ns >= 0:
            self.zero_window_ns += ts_ns - self.zero_window_since_ns
            self.zero_window_since_ns = -1
            return 1
        return 0

    def note_fin(self, offset: cython.longlong) -> cython.int:
        """The stream ends here, unless that is behind us or too far ahead to be believed."""
        if self.fin_offset < 0 and 0 <= offset - self.delivered <= MAX_AHEAD:
            self.fin_offset = offset
        return 0

    def is_after_fin(self, offset: cython.longlong) -> cython.int:
        return self.fin_offset >= 0 and offset >= self.fin_offset

    def hold(self, offset, octets: bytes, missing, ts_ns, packet_no, peer_offset) -> tuple:
        """Keep a segment until its turn; the first copy of a byte wins.

        Returns whether it holds anything new, and how many octets contradict an earlier copy.
        """
        conflict = 0
        place = len(self.waiting)
        while place and self.waiting[place - 1][0] > offset:
            place -= 1
        for other_offset, other, other_missing, *_ in self.waiting[max(0, place - 1) :]:
            if other_offset >= offset + len(octets) + missing:
                break
            low = max(offset, other_offset)
            high = min(offset + len(octets), other_offset + len(other))
            if low < high:
                ours = octets[low - offset : high - offset]
                theirs = other[low - other_offset : high - other_offset]
                if ours != theirs:
                    conflict += sum(a != b for a, b in zip(ours, theirs, strict=True))
            if other_offset == offset and len(other) + other_missing >= len(octets) + missing:
                return False, conflict
        self.waiting.insert(place, (offset, octets, missing, ts_ns, packet_no, peer_offset))
        self.waiting_bytes += len(octets)
        return True, conflict
