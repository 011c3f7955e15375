"""Both directions of a TCP connection, handed on in causal order.

A side's bytes are handed on only after the other side's bytes that they acknowledge, so that an
answer never comes before its question even where the capture shuffled packets. A hole is waited
for while it may still be filled; it becomes a gap when the other side has acknowledged it (so the
capture lost it) and it has not come within a short while, when too much waits behind it, or at
the end.
"""

import cython

from dissectors.tcp.half import HalfStream
from dissectors.tcp.opening import Early, Opening
from dissectors.tcp.recent import Recent

FIN = cython.declare(cython.int, 0x01)
SYN = cython.declare(cython.int, 0x02)
RST = cython.declare(cython.int, 0x04)
ACK = cython.declare(cython.int, 0x10)

# Capture tools shuffle packets by a few places; a hole that the receiver has acknowledged and
# that is older than this is lost for good.
REORDER_WAIT_NS = cython.declare(cython.longlong, 1_000_000_000)
REORDER_PACKETS = cython.declare(cython.longlong, 256)
MAX_WAITING_BYTES = cython.declare(cython.longlong, 4 * 1024 * 1024)
MAX_WAITING_SEGMENTS = cython.declare(cython.int, 4096)
# A segment that fills a hole within this time (or the round trip, if longer) was overtaken on
# its way; later, it was sent again.
OVERTAKEN_NS = cython.declare(cython.longlong, 3_000_000)


class Listener:
    """Who is told what a conversation says. Sides are numbered by first appearance."""

    def feed(
        self,
        side: cython.int,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        ts_ns: cython.longlong,
        packet_no: cython.longlong,
        offset: cython.longlong,
    ) -> cython.int:
        """The next bytes of a side; ``offset`` is the place of the first one in its stream."""
        return 0

    def gap(self, side, size, ts_ns, packet_no, offset, code) -> None:
        """The next ``size`` bytes of a side are missing; ``code`` is the problem's."""

    def oddity(self, code, side, size, ts_ns, packet_no) -> None:
        """Something about ``size`` bytes of a side is worth a problem row."""

    def window(self, side, is_open, ts_ns, packet_no) -> None:
        """A side closed its receive window, or opened it again."""


class Conversation:
    """Feeds its listener; see the module's head for the order."""

    def __init__(self, listener: Listener, ts_ns, packet_no, recent=None) -> None:
        self.listener = listener
        self.recent = Recent() if recent is None else recent
        self.half_0 = HalfStream()
        self.half_1 = HalfStream()
        self.first_ts_ns = ts_ns
        self.first_packet_no = packet_no
        self.last_ts_ns = ts_ns
        self.last_packet_no = packet_no
        self.client_side = -1
        self.reset_by = -1
        self.reset_count = 0
        self.gap_count = 0
        self.is_waiting = False
        self.opening = Opening(ts_ns)
        self.closed_ts_ns = -1
        self.syn_ts_ns = -1
        self.handshake_rtt_ns = -1
        self.rtt_count = 0
        self.rtt_total_ns = 0
        self.rtt_min_ns = 0
        self.rtt_max_ns = 0

    def segment(
        self,
        side: cython.int,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        missing: cython.longlong,
        seq: cython.longlong,
        ack: cython.longlong,
        flags: cython.int,
        window: cython.longlong,
        ts_ns: cython.longlong,
        packet_no: cython.longlong,
    ) -> cython.int:
        """One segment of a side; ``missing`` octets of its payload were cut by the capture."""
        half: HalfStream = self.half_1 if side else self.half_0
        peer: HalfStream = self.half_0 if side else self.half_1
        offset: cython.longlong
        peer_offset: cython.longlong = -1
        self.last_ts_ns = ts_ns
        self.last_packet_no = packet_no
        if self.opening is not None and not flags & SYN:
            if not (half.has_syn and peer.has_syn):
                octets: bytes = buf[start:end]
                early = Early(side, octets, missing, seq, ack, flags, window, ts_ns, packet_no)
                if not self.opening.keep(early):
                    self._open()
                return 0
            self._open()
        if flags & (SYN | RST):
            if flags & RST:
                return self._reset(side, ts_ns)
            self._syn(side, half, seq, flags, ts_ns)
            seq += 1
        if not half.is_anchored:
            half.anchor(seq)
        if flags & ACK and not flags & SYN:
            peer_offset = self._acknowledge(peer, ack, ts_ns)
        # What a SYN, a FIN or an overtaken packet says about the window is no spell of it.
        if (
            (window == 0 or half.zero_window_since_ns >= 0)
            and not flags & (SYN | FIN)
            and peer_offset >= peer.acked
            and half.note_window(window, ts_ns)
        ):
            self.listener.window(side, window != 0, ts_ns, packet_no)
        offset = half.delivered if seq == half.next_seq else half.offset_of(seq)
        if flags & FIN:
            half.note_fin(offset + (end - start) + missing)
        if start < end or missing:
            if (
                offset == half.delivered
                and not missing
                and not self.is_waiting
                and peer_offset <= peer.delivered
                and (half.fin_offset < 0 or not half.is_after_fin(offset))
            ):
                half.advance(end - start)
                half.seen_end = half.delivered
                if half.sample_end < 0:
                    # One segment at a time is timed from data to acknowledgement.
                    half.sample_end = half.delivered
                    half.sample_ts_ns = ts_ns
                self.recent.keep(half, packet_no, offset, buf, start, end)
                self.listener.feed(side, buf, start, end, ts_ns, packet_no, offset)
            else:
                self._disorder(
                    side, half, buf, start, end, missing, offset, ts_ns, packet_no, peer_offset
                )
        if self.is_waiting:
            self._drain(ts_ns, packet_no, False)
        if half.fin_offset >= 0 and peer.fin_offset >= 0 and self.closed_ts_ns < 0:
            self.closed_ts_ns = ts_ns
        return 0

    def ignore(self, side: cython.int, flags: cython.int, ts_ns: cython.longlong) -> cython.int:
        """A segment of a connection that nobody listens to: only its end is of interest."""
        half: HalfStream = self.half_1 if side else self.half_0
        peer: HalfStream = self.half_0 if side else self.half_1
        self.last_ts_ns = ts_ns
        if flags & FIN:
            half.fin_offset = half.delivered
        if flags & RST:
            self._reset(side, ts_ns)
        if half.fin_offset >= 0 and peer.fin_offset >= 0 and self.closed_ts_ns < 0:
            self.closed_ts_ns = ts_ns
        return 0

    def relieve(self, ts_ns, packet_no) -> None:
        """Memory is short: what waits is handed on now, holes as gaps."""
        self._open()
        size = self.half_0.waiting_bytes + self.half_1.waiting_bytes
        if size:
            self.listener.oddity("tcp.buffer_limit", 0, size, ts_ns, packet_no)
            self._drain(ts_ns, packet_no, True)

    def held_bytes(self) -> int:
        """Octets that wait to be handed on."""
        waiting = self.half_0.waiting_bytes + self.half_1.waiting_bytes
        return waiting if self.opening is None else waiting + self.opening.held_bytes

    def close(self, ts_ns, packet_no) -> None:
        """No more packets: what still waits is handed on, holes as gaps."""
        self._open()
        self._drain(ts_ns, packet_no, True)
        for side, half in enumerate((self.half_0, self.half_1)):
            tail = half.acked - half.delivered
            if half.fin_offset >= 0:
                tail = half.fin_offset - half.delivered
            elif tail == 1:
                tail = 0  # the acknowledgement of a FIN that was not captured
            if tail > 0:
                self._gap(side, half, tail, ts_ns, packet_no, "tcp.gap")
            half.note_window(1, ts_ns)

    def can_begin_at(self, side, seq) -> bool:
        """Whether a stream whose first octet has this number fits what its side has said."""
        half: HalfStream = self.half_1 if side else self.half_0
        if half.is_anchored:
            return half.next_seq == seq
        return self.opening is None or self.opening.can_begin_at(side, seq)

    # -- inside ---------------------------------------------------------------------------

    def _open(self) -> None:
        """Follow the connection from here on, beginning with the packets that were kept."""
        opening = self.opening
        if opening is None:
            return
        self.opening = None
        newest = self.last_ts_ns, self.last_packet_no
        for side, half in enumerate((self.half_0, self.half_1)):
            first_seq = opening.first_seq(side)
            if not half.is_anchored and first_seq is not None:
                half.anchor(first_seq)
        for side, octets, *rest in opening.segments:
            self.segment(side, octets, 0, len(octets), *rest)
        self.last_ts_ns, self.last_packet_no = newest

    def _syn(self, side, half: HalfStream, seq, flags, ts_ns) -> None:
        is_answer = flags & ACK
        if self.client_side < 0:
            self.client_side = 1 - side if is_answer else side
        half.has_syn = True
        half.syn_seq = seq
        if not half.is_anchored:
            half.anchor(seq + 1)
        if not is_answer:
            self.syn_ts_ns = ts_ns

    def _reset(self, side, ts_ns) -> int:
        self.reset_count += 1
        if self.reset_by < 0:
            self.reset_by = side
        if self.closed_ts_ns < 0:
            self.closed_ts_ns = ts_ns
        return 0

    def _acknowledge(
        self, peer: HalfStream, ack: cython.longlong, ts_ns: cython.longlong
    ) -> cython.longlong:
        """Stream offset of the peer that is acknowledged."""
        offset: cython.longlong
        if not peer.is_anchored:
            # Before the peer's first byte is seen, the acknowledgement tells where it stands.
            peer.anchor(ack)
        offset = peer.delivered if ack == peer.next_seq else peer.offset_of(ack)
        if peer.fin_offset >= 0 and offset > peer.fin_offset:
            offset = peer.fin_offset
        if offset > peer.acked and offset - peer.delivered <= MAX_WAITING_BYTES * 16:
            peer.acked = offset
        if peer.sample_end >= 0 and offset >= peer.sample_end:
            self._round_trip(ts_ns - peer.sample_ts_ns)
            peer.sample_end = -1
        if (
            self.handshake_rtt_ns < 0
            and self.syn_ts_ns >= 0
            and self.half_0.has_syn
            and self.half_1.has_syn
        ):
            self.handshake_rtt_ns = ts_ns - self.syn_ts_ns
        return offset if offset <= peer.acked else peer.acked

    def _round_trip(self, rtt_ns: cython.longlong) -> cython.int:
        if rtt_ns < 0:
            return 0  # the capture's clock was set back
        if self.rtt_count == 0 or rtt_ns < self.rtt_min_ns:
            self.rtt_min_ns = rtt_ns
        if rtt_ns > self.rtt_max_ns:
            self.rtt_max_ns = rtt_ns
        self.rtt_count += 1
        self.rtt_total_ns += rtt_ns
        return 0

    def _disorder(
        self,
        side,
        half: HalfStream,
        buf,
        start,
        end,
        missing,
        offset,
        ts_ns,
        packet_no,
        peer_offset,
    ) -> None:
        """A segment that is not simply the next one: old, ahead, cut, or before its cause."""
        length = end - start + missing
        if half.is_after_fin(offset):
            self.listener.oddity("tcp.after_end", side, length, ts_ns, packet_no)
            return
        if offset < half.delivered:
            if length <= 1 and offset == half.delivered - 1:
                half.keepalive_count += 1
                return
            known = half.delivered - offset
            if offset < 0:
                self.listener.oddity("tcp.before_start", side, min(known, length), ts_ns, packet_no)
            differing = self.recent.conflict(half, packet_no, offset, buf, start, end)
            if differing:
                self.listener.oddity("tcp.overlap_conflict", side, differing, ts_ns, packet_no)
            self._note_retransmit(half, min(known, length))
            if length <= known:
                return
            dropped = min(known, end - start)
            missing -= known - dropped
            start += dropped
            offset = half.delivered
            length -= known
        elif offset > half.delivered and not half.is_believable(offset):
            self.listener.oddity("tcp.out_of_window", side, length, ts_ns, packet_no)
            return
        octets = bytes(buf[start:end])
        is_new, differing = half.hold(offset, octets, missing, ts_ns, packet_no, peer_offset)
        if differing:
            self.listener.oddity("tcp.overlap_conflict", side, differing, ts_ns, packet_no)
        if offset >= half.seen_end:
            half.seen_end = offset + length
            half.seen_ts_ns = ts_ns
        elif is_new and ts_ns - half.seen_ts_ns <= max(OVERTAKEN_NS, self.handshake_rtt_ns):
            half.out_of_order_count += 1
        else:
            self._note_retransmit(half, length)
        half.seen_end = max(half.seen_end, offset + length)
        self.is_waiting = True

    def _note_retransmit(self, half: HalfStream, size) -> None:
        half.retransmit_count += 1
        half.retransmit_bytes += size
        half.sample_end = -1  # nobody can tell which copy is acknowledged

    def _drain(self, ts_ns, packet_no, is_final) -> None:
        """Hand on whatever may go; declare holes lost when it is time."""
        half_0: HalfStream = self.half_0
        half_1: HalfStream = self.half_1
        while half_0.waiting or half_1.waiting:
            if self._hand_on(0, half_0, half_1) or self._hand_on(1, half_1, half_0):
                continue
            if not self._declare(ts_ns, packet_no, is_final):
                break
        self.is_waiting = bool(half_0.waiting or half_1.waiting)

    def _hand_on(self, side, half: HalfStream, peer: HalfStream) -> bool:
        """The first waiting segment of a side, if its turn has come."""
        if not half.waiting:
            return False
        offset, octets, missing, ts_ns, packet_no, peer_offset = half.waiting[0]
        if offset > half.delivered or peer_offset > peer.delivered:
            return False
        half.waiting.pop(0)
        half.waiting_bytes -= len(octets)
        half.blocked_since_ns = -1
        old = half.delivered - offset
        if old >= len(octets) + missing and old > 0:
            return True
        start = min(old, len(octets))
        if start < len(octets):
            begin = half.delivered
            half.advance(len(octets) - start)
            self.recent.keep(half, packet_no, begin, octets, start, len(octets))
            self.listener.feed(side, octets, start, len(octets), ts_ns, packet_no, begin)
        cut = offset + len(octets) + missing - half.delivered
        if missing and cut > 0:
            # A later copy may hold what the snap length cut here.
            if half.waiting and half.waiting[0][0] < half.delivered + cut:
                cut = max(0, half.waiting[0][0] - half.delivered)
            if cut:
                self._gap(side, half, cut, ts_ns, packet_no, "tcp.snaplen")
        return True

    def _declare(self, ts_ns, packet_no, is_final) -> bool:
        """Turn the hole that blocks into a gap if it is surely lost. True if one was."""
        for side, half, peer in (
            (0, self.half_0, self.half_1),
            (1, self.half_1, self.half_0),
        ):
            until = half.waiting[0][0] if half.waiting else half.acked
            if peer.waiting:
                # The peer's next segment may wait for a cause that we do not have.
                cause = peer.waiting[0][5]
                if peer.waiting[0][0] <= peer.delivered and cause > half.delivered:
                    until = min(until, cause) if half.waiting else cause
            if until <= half.delivered:
                continue
            if half.blocked_since_ns < 0:
                half.blocked_since_ns = ts_ns
                half.blocked_packets = 0
            half.blocked_packets += 1
            is_lost = half.acked > half.delivered and (
                ts_ns - half.blocked_since_ns > REORDER_WAIT_NS
                or half.blocked_packets > REORDER_PACKETS
            )
            waiting_bytes = half.waiting_bytes + peer.waiting_bytes
            segments = len(half.waiting) + len(peer.waiting)
            is_full = waiting_bytes > MAX_WAITING_BYTES or segments > MAX_WAITING_SEGMENTS
            if is_full and not is_lost and not is_final:
                self.listener.oddity("tcp.buffer_limit", side, waiting_bytes, ts_ns, packet_no)
            if is_final or is_lost or is_full:
                at_ns, at_packet = ts_ns, packet_no
                if half.waiting:
                    at_ns, at_packet = half.waiting[0][3], half.waiting[0][4]
                self._gap(side, half, until - half.delivered, at_ns, at_packet, "tcp.gap")
                half.blocked_since_ns = -1
                return True
        return False

    def _gap(self, side, half: HalfStream, size, ts_ns, packet_no, code) -> None:
        offset = half.delivered
        self.gap_count += 1
        half.advance(size)
        self.listener.gap(side, size, ts_ns, packet_no, offset, code)
