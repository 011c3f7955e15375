"""What every dialect's decoder shares: cutting two byte streams into frames, whatever happens.

Frames that span chunks are carried over; gaps are bridged where a frame's length is known, else
the next frame is searched for; garbage is skipped; and every byte is accounted for: decoded,
skipped, missing or left over. It knows no frame format: subclasses give ``frame_size``,
``take_frame``, ``find_frame`` and the rest.
"""

import cython

from dissectors.core.connection import Connection

# A frame longer than this is not kept in memory; its bytes are skipped and said so.
MAX_FRAME_BYTES = 32 * 1024 * 1024
FRAME_LIMIT = cython.declare(cython.Py_ssize_t, MAX_FRAME_BYTES)
# While the next frame is searched for, at most this much is held before the oldest is given up.
MAX_SEARCH_BYTES = 512 * 1024
# Segments of single bytes cost more than their bytes.
MAX_SEARCH_PIECES = 16_384
# Up to so much every piece is reason to search again; beyond, only a good part more of it, so
# that the time garbage takes grows with its length and no faster.
EAGER_SEARCH_BYTES = 64 * 1024
EAGER_SEARCH_PIECES = 1024
# A stream that turns to garbage this often is not worth reading further.
MAX_GARBAGE_COUNT = 1000

# More than any stream can hold.
FOREVER = 1 << 62

IN_STEP = cython.declare(cython.int, 0)
SEARCHING = cython.declare(cython.int, 1)
PASSING = cython.declare(cython.int, 2)


class Side:
    """One direction's place in its stream."""

    def __init__(self) -> None:
        self.mode = IN_STEP
        self.carry = bytearray()
        self.need = 0
        self.holes: list = []
        self.carry_offset = 0
        self.carry_packet_no = 0
        self.passing_left = 0
        # While searching: (bytes, ts_ns, packet_no, offset) as they came.
        self.held: list = []
        self.held_bytes = 0
        # No search before this much is held.
        self.search_at = 0
        # 1 where the first held byte is known to begin no frame.
        self.search_from = 0
        self.garbage_count = 0


class StreamDecoder:
    """Base of all decoders: feed and gap in, frames out to the subclass."""

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        self.side_0 = Side()
        self.side_1 = Side()
        self.ts_ns = 0
        self.packet_no = 0
        self.first_packet_no = 0
        self.offset = 0

    # -- what a dialect gives -------------------------------------------------------------

    def frame_size(
        self,
        side: cython.int,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Size of the frame that begins here; 0 = too few bytes to tell; -1 = no frame."""
        raise TypeError("a dialect must say how long its frames are")

    def take_frame(
        self, side: cython.int, buf: bytes, start: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> cython.int:
        """One whole frame; its provenance is in ts_ns, packet_no, first_packet_no, offset."""
        raise TypeError("a dialect must take its frames")

    def take_holed_frame(self, side, buf, start, size, holes) -> int:
        """A frame with missing bytes (zeros there). 1 = used, 0 = skip it."""
        return 0

    def can_bridge(self, side, buf, start, have, size) -> int:
        """Whether a gap inside this begun frame may be bridged."""
        return 0

    def find_frame(self, side, buf, start, end, is_final) -> int:
        """First offset where frames surely begin again, or -1."""
        return -1

    def on_gap(self, side, ts_ns, packet_no) -> None:
        """The place in the stream was lost on this side."""

    def on_end(self, ts_ns, packet_no, how) -> None:
        """The connection is over."""

    def begin_midstream(self) -> None:
        """The capture begins inside the connection: frames must be searched for first."""
        self.side_0.mode = SEARCHING
        self.side_1.mode = SEARCHING

    # -- feeding --------------------------------------------------------------------------

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
        """Bytes buf[start:end] of a side's stream; ``offset`` is the first one's place in it."""
        state: Side = self.side_1 if side else self.side_0
        if state.mode == SEARCHING:
            self._hold(state, bytes(buf[start:end]), ts_ns, packet_no, offset)
        else:
            self._step(side, state, buf, start, end, ts_ns, packet_no, offset)
        if state.mode == SEARCHING:
            self._search(side, state, False)
        return 0

    def _step(
        self,
        side: cython.int,
        state: Side,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        ts_ns: cython.longlong,
        packet_no: cython.longlong,
        offset: cython.longlong,
    ) -> cython.int:
        """Take the frames of a chunk; where they stop being frames the rest is held."""
        taken: cython.Py_ssize_t
        self.ts_ns = ts_ns
        self.packet_no = packet_no
        if state.mode == PASSING or len(state.carry):
            taken = self._fill(side, state, buf, start, end)
            offset += taken - start
            start = taken
            if state.mode == SEARCHING:
                self._hold(state, bytes(buf[start:end]), ts_ns, packet_no, offset)
                return 0
        self.first_packet_no = packet_no
        self.offset = offset
        taken = self._take_frames(side, buf, start, end)
        if taken < end:
            self._begin(side, state, buf, taken, end, offset + (taken - start))
        return 0

    def _begin(
        self,
        side: cython.int,
        state: Side,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        offset: cython.longlong,
    ) -> cython.int:
        """What is left of a chunk begins a frame, or none."""
        size: cython.Py_ssize_t = self.frame_size(side, buf, start, end)
        if size < 0:
            self._lose(side, state, buf[start : min(end, start + 16)], offset)
            if state.mode == SEARCHING:
                self._hold(state, bytes(buf[start:end]), self.ts_ns, self.packet_no, offset)
            else:
                self.conn.skip(end - start)
        elif size > FRAME_LIMIT:
            self._pass_large(side, state, buf[start : min(end, start + 16)], offset, size)
            self.conn.skip(end - start)
            state.passing_left = size - (end - start)
        else:
            state.carry += buf[start:end]
            state.need = size
            state.carry_offset = offset
            state.carry_packet_no = self.packet_no
        return 0

    def gap(
        self,
        side: cython.int,
        size: cython.longlong,
        ts_ns: cython.longlong,
        packet_no: cython.longlong,
    ) -> cython.int:
        """The next ``size`` bytes of a side's stream are missing (the caller counts them)."""
        state: Side = self.side_1 if side else self.side_0
        have: cython.Py_ssize_t = len(state.carry)
        inside: cython.Py_ssize_t
        self.ts_ns = ts_ns
        self.packet_no = packet_no
        if state.mode == PASSING:
            if size < state.passing_left:
                state.passing_left -= size
                return 0
        elif state.mode == SEARCHING:
            self._search(side, state, True)
            if state.mode == SEARCHING:
                self._give_up(state, state.held_bytes)
                state.search_from = 0
                return 0
            return self.gap(side, size, ts_ns, packet_no)
        elif (
            have
            and state.need
            and self.can_bridge(side, bytes(state.carry[:64]), 0, have, state.need)
        ):
            inside = min(size, state.need - have)
            state.holes.append((have, inside))
            state.carry += bytes(inside)
            if have + inside < state.need:
                return 0
            # The frame ends in the gap, or with it as where a snap length cuts packets.
            self._take_carry(side, state)
            if inside == size:
                return 0
            have = 0
        if have:
            self._drop_carry(side, state)
        self.on_gap(side, ts_ns, packet_no)
        state.mode = SEARCHING
        state.passing_left = 0
        return 0

    def finish(self, ts_ns, packet_no, how) -> None:
        """The connection ended: fin, rst, reused, or open when the capture ends."""
        for side in (0, 1):
            state: Side = self.side_1 if side else self.side_0
            if state.mode == SEARCHING:
                self._search(side, state, True)
                self._give_up(state, state.held_bytes)
            if len(state.carry):
                seen = len(state.carry) - sum(size for _, size in state.holes)
                self.conn.leftover_bytes += seen
                self.conn.problem(
                    "frame.leftover",
                    f"{seen} bytes of a frame of {state.need or 'unknown'} bytes",
                    side,
                    ts_ns,
                    packet_no,
                    state.carry_offset,
                    seen,
                    bytes(state.carry[:16]),
                )
                state.carry = bytearray()
        self.ts_ns = ts_ns
        self.packet_no = packet_no
        self.on_end(ts_ns, packet_no, how)

    def held_bytes(self) -> int:
        """Bytes that wait for the rest of a frame, or for a frame to be found."""
        sides = (self.side_0, self.side_1)
        return sum([len(state.carry) + state.held_bytes for state in sides])

    def relieve(self, ts_ns, packet_no) -> None:
        """Memory is short: what waits is skipped, and so is the rest of a begun frame."""
        for side in (0, 1):
            state: Side = self.side_1 if side else self.side_0
            held = len(state.carry) + state.held_bytes
            if not held:
                continue
            self.conn.problem(
                "frame.buffer_limit", f"{held} bytes", side, ts_ns, packet_no, None, held
            )
            if state.mode == SEARCHING:
                self._give_up(state, state.held_bytes)
            elif state.need:
                rest = state.need - len(state.carry)
                self.conn.skip(len(state.carry) - sum([size for _, size in state.holes]))
                state.carry = bytearray()
                state.need = 0
                state.holes = []
                state.passing_left = rest
                state.mode = PASSING
                self.on_gap(side, ts_ns, packet_no)

    # -- inside ---------------------------------------------------------------------------

    def _take_frames(
        self, side: cython.int, buf: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Take the whole frames that lie here, the first at ``offset``; the index behind them.

        One stream's bug must not stop the others: it becomes a row."""
        size: cython.Py_ssize_t = 0
        offset: cython.longlong = self.offset
        frame_no: cython.longlong = 0
        while start < end:
            try:
                while start < end:
                    size = 0
                    size = self.frame_size(side, buf, start, end)
                    if size <= 0 or size > end - start:
                        return start
                    self.offset = offset
                    frame_no = self.conn.frame_no
                    self.take_frame(side, buf, start, size)
                    start += size
                    offset += size
            except Exception as bug:
                if size == 0:  # nobody knows where the next frame begins
                    raise
                self._note_bug(side, size, bug, frame_no)
                start += size
                offset += size
        return start

    def _take(self, side: cython.int, whole: bytes) -> cython.int:
        """The same for one frame that came in parts."""
        frame_no: cython.longlong = self.conn.frame_no
        try:
            self.take_frame(side, whole, 0, len(whole))
        except Exception as bug:
            self._note_bug(side, len(whole), bug, frame_no)
        return 0

    def _note_bug(self, side, size, bug, frame_no) -> None:
        if self.conn.frame_no == frame_no:
            self.conn.skip(size)
        self.conn.problem(
            "frame.bug",
            f"{type(bug).__name__}: {bug}",
            side,
            self.ts_ns,
            self.packet_no,
            self.offset,
            size,
        )

    def _fill(
        self,
        side: cython.int,
        state: Side,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Go on with the frame that was begun; the index of the first byte not used."""
        missing: cython.Py_ssize_t
        take: cython.Py_ssize_t
        if state.mode == PASSING:
            take = min(end - start, state.passing_left)
            self.conn.skip(take)
            state.passing_left -= take
            if not state.passing_left:
                state.mode = IN_STEP
            return start + take
        while not state.need:
            # The header itself was cut: a byte at a time until the length is known.
            if start >= end:
                return end
            state.carry.append(buf[start])
            start += 1
            head = bytes(state.carry)
            state.need = self.frame_size(side, head, 0, len(head))
            if state.need < 0 or state.need > FRAME_LIMIT:
                self._bad_carry(side, state, head, state.need)
                return (
                    start if state.mode == SEARCHING else self._fill(side, state, buf, start, end)
                )
        missing = state.need - len(state.carry)
        take = min(missing, end - start)
        state.carry += buf[start : start + take]
        if take < missing:
            return end
        self._take_carry(side, state)
        return start + take

    def _take_carry(self, side: cython.int, state: Side) -> cython.int:
        """The frame that was begun is complete, or as complete as it will be."""
        whole: bytes = bytes(state.carry)
        state.carry = bytearray()
        state.need = 0
        self.offset = state.carry_offset
        self.first_packet_no = state.carry_packet_no
        if not state.holes:
            return self._take(side, whole)
        holes = state.holes
        state.holes = []
        self._take_holed(side, whole, holes)
        return 0

    def _bad_carry(self, side, state: Side, head: bytes, size) -> None:
        """A header that was cut turned out to be no frame, or one too large."""
        state.carry = bytearray()
        state.need = 0
        if size > 0:
            self._pass_large(side, state, head, state.carry_offset, size)
            self.conn.skip(len(head))
            state.passing_left = size - len(head)
            return
        self._lose(side, state, head, state.carry_offset)
        if state.mode == SEARCHING:
            self._hold(state, head, self.ts_ns, state.carry_packet_no, state.carry_offset)
        else:
            self.conn.skip(len(head))

    def _take_holed(self, side, whole: bytes, holes) -> None:
        missing = sum(size for _, size in holes)
        seen = len(whole) - missing
        self.conn.problem(
            "frame.holed",
            f"{missing} of {len(whole)} bytes of a frame are missing",
            side,
            self.ts_ns,
            self.packet_no,
            self.offset,
            missing,
            whole,
        )
        frame_no = self.conn.frame_no
        try:
            if self.take_holed_frame(side, whole, 0, len(whole), holes):
                return
            self.conn.skip(seen)
        except Exception as bug:
            self._note_bug(side, seen, bug, frame_no)
        self.on_gap(side, self.ts_ns, self.packet_no)

    def _pass_large(self, side, state: Side, head: bytes, offset, size) -> None:
        state.mode = PASSING
        self.on_gap(side, self.ts_ns, self.packet_no)
        self.conn.problem(
            "frame.too_large",
            f"a frame of {size} bytes is over the limit of {MAX_FRAME_BYTES}",
            side,
            self.ts_ns,
            self.packet_no,
            offset,
            size,
            head,
        )

    def _lose(self, side, state: Side, head: bytes, offset) -> None:
        """No frame begins here: search from the next byte on, or stop reading this side."""
        state.garbage_count += 1
        is_hopeless = state.garbage_count >= MAX_GARBAGE_COUNT
        self.on_gap(side, self.ts_ns, self.packet_no)
        self.conn.problem(
            "frame.hopeless" if is_hopeless else "frame.garbage",
            "no frame begins here",
            side,
            self.ts_ns,
            self.packet_no,
            offset,
            None,
            head,
        )
        state.search_from = 1
        state.mode = SEARCHING
        if is_hopeless:
            state.mode = PASSING
            state.passing_left = FOREVER

    def _drop_carry(self, side, state: Side) -> None:
        seen = len(state.carry) - sum(size for _, size in state.holes)
        self.conn.problem(
            "frame.cut_by_gap",
            f"{seen} bytes of a frame of {state.need or 'unknown'} bytes",
            side,
            self.ts_ns,
            self.packet_no,
            state.carry_offset,
            seen,
            bytes(state.carry[:16]),
        )
        self.conn.skip(seen)
        state.carry = bytearray()
        state.need = 0
        state.holes = []

    def _hold(self, state: Side, piece: bytes, ts_ns, packet_no, offset) -> None:
        """Keep bytes for the search; provenance is kept piece by piece."""
        if piece:
            state.held.append((piece, ts_ns, packet_no, offset))
            state.held_bytes += len(piece)

    def _search(self, side: cython.int, state: Side, is_final) -> cython.int:
        """Where frames begin again in what is held, go on from there, as often as it takes."""
        is_full: cython.bint = (
            state.held_bytes > MAX_SEARCH_BYTES or len(state.held) > MAX_SEARCH_PIECES
        )
        if state.held_bytes < state.search_at and not is_final and not is_full:
            return 0
        while state.mode == SEARCHING and state.held:
            joined = b"".join([piece for piece, _, _, _ in state.held])
            found = self.find_frame(side, joined, state.search_from, len(joined), is_final)
            if found < 0:
                state.search_at = state.held_bytes
                if len(state.held) > EAGER_SEARCH_PIECES:
                    state.search_at += state.held_bytes // 2
                elif state.held_bytes > EAGER_SEARCH_BYTES:
                    state.search_at += (state.held_bytes - EAGER_SEARCH_BYTES) // 2
                break
            state.search_at = 0
            held = state.held
            state.held = []
            state.held_bytes = 0
            state.search_from = 0
            state.mode = IN_STEP
            self.conn.skip(found)
            for piece, ts_ns, packet_no, offset in held:
                drop = min(found, len(piece))
                found -= drop
                if state.mode == SEARCHING:
                    self._hold(state, piece, ts_ns, packet_no, offset)
                elif drop < len(piece):
                    self._step(
                        side, state, piece, drop, len(piece), ts_ns, packet_no, offset + drop
                    )
        if state.mode == SEARCHING:
            if state.held_bytes > MAX_SEARCH_BYTES:
                self._give_up(state, state.held_bytes - MAX_SEARCH_BYTES // 2)
            if len(state.held) > MAX_SEARCH_PIECES:
                oldest = state.held[: MAX_SEARCH_PIECES // 2]
                self._give_up(state, sum([len(piece) for piece, _, _, _ in oldest]))
        return 0

    def _give_up(self, state: Side, count) -> None:
        """The oldest ``count`` held bytes are skipped."""
        self.conn.skip(count)
        state.held_bytes -= count
        state.search_from = 0
        state.search_at = 0
        gone = 0
        for piece, ts_ns, packet_no, offset in state.held:
            if len(piece) > count:
                if count:
                    state.held[gone] = (piece[count:], ts_ns, packet_no, offset + count)
                break
            count -= len(piece)
            gone += 1
        del state.held[:gone]
