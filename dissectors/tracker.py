"""All connections of a capture: packets in, each to its flow; flows begin and end here.

Memory is bounded for all of them together: too many flows, or too many bytes that wait for
others, are let go of, idlest and largest first, with a row that says so.
"""

from collections import deque

import cython

from dissectors.capture.decap import PacketView
from dissectors.capture.links import LINK_TYPES
from dissectors.capture.source import PacketSource
from dissectors.flow import Flow
from dissectors.tcp.conversation import Conversation, Listener
from dissectors.tcp.half import HalfStream
from dissectors.tcp.recent import Recent

# Late packets of a closed connection are still its own for this long (capture time).
LINGER_NS = cython.declare(cython.longlong, 2_000_000_000)
MAX_FLOWS = 30_000
# When there are too many: the share of them that goes, so that the search is not made often.
EVICTED_SHARE = 10
# Bytes that may wait in all flows together; looked at whenever this many bytes have passed.
MAX_HELD_BYTES = 48 * 1024 * 1024
AUDIT_BYTES = cython.declare(cython.longlong, 16 * 1024 * 1024)
# One row per broken packet would drown the others; the rest are counted in the last row.
MAX_BAD_PACKET_ROWS = 20

SYN = cython.declare(cython.int, 0x02)
PACKETS_PER_PUMP = cython.declare(cython.int, 2_000)
SLOT_MASK = cython.declare(cython.int, 1023)
# Who listens to a conversation that is over: without a way back to its flow, both are freed at
# once and do not wait for Python's search for cycles, which is rare here.
NOBODY = Listener()
# The mode of a flow that carries no AMQP.
IGNORED = cython.declare(cython.int, 2)


class Tracker:
    """Finds the flow of each packet by its address key, in either direction."""

    def __init__(
        self, source: PacketSource, view: PacketView, sink, options, tls_keys=None
    ) -> None:
        self.source = source
        self.view = view
        self.sink = sink
        self.options = options
        self.tls_keys = tls_keys
        # address key → flow, once per direction; the raw side is 0 for the key that came first
        self.sides_0: dict = {}
        self.sides_1: dict = {}
        # flows that closed and linger, in order of their ends
        self.closing: deque = deque()
        self.has_closing = False
        # flows found last, by their ports: compiled, most packets need no key then
        self.side = 0
        self.slots: list = [None] * (SLOT_MASK + 1)
        self.recent = Recent()
        self.since_audit = 0
        self.file_index = -1
        self.tcp_count = 0
        self.foreign_count = 0
        self.bad_packet_count = 0
        self.bad_capture = None
        self.packet_count = 0
        self.unreadable_count = 0

    def pump(self) -> cython.int:
        """Work through some packets; 0 when there are no more."""
        source: PacketSource = self.source
        view: PacketView = self.view
        found: cython.int
        _count: cython.int
        for _count in range(PACKETS_PER_PUMP):
            if not source.advance():
                return 0
            if source.file_index != self.file_index:
                self.file_index = source.file_index
                self.sink.set_capture(source.capture)
                self.recent.file_index = source.file_index
                view.fragments.capture = source.capture
            self.packet_count += 1
            found = view.locate(
                source.buf,
                source.start,
                source.end,
                source.wire_length,
                source.link_type,
                source.ts_ns,
            )
            if found > 0:
                self.segment(source.ts_ns, source.packet_no)
            elif found < 0:
                self._bad_packet()
            elif source.link_type not in LINK_TYPES:
                self.unreadable_count += 1
        return 1

    def segment(self, ts_ns: cython.longlong, packet_no: cython.longlong) -> cython.int:
        """Give the located segment to its flow; make one if it may begin a connection."""
        view: PacketView = self.view
        flow: Flow = self.find()
        talk: Conversation
        side: cython.int = self.side
        order_ns: cython.longlong = self.source.order_ns
        if flow is not None and self._is_over(flow, side, order_ns):
            self._end(flow, "reused")
            flow = None
        if flow is None:
            if not (view.flags & SYN or view.payload_start < view.payload_end or view.missing):
                return 0
            side = 0
            flow = self._begin(ts_ns, packet_no)
        flow.file_index = self.file_index
        talk = flow.conversation
        was_open: cython.bint = talk.closed_ts_ns < 0
        if flow.mode == IGNORED:
            talk.ignore(side, view.flags, ts_ns)
        else:
            talk.segment(
                side,
                view.buf,
                view.payload_start,
                view.payload_end,
                view.missing,
                view.seq,
                view.ack,
                view.flags,
                view.window,
                ts_ns,
                packet_no,
            )
            self.since_audit += view.payload_end - view.payload_start
            if self.since_audit > AUDIT_BYTES:
                self._audit(ts_ns, packet_no)
        if was_open and talk.closed_ts_ns >= 0:
            flow.closed_order_ns = order_ns
            self.closing.append(flow)
            self.has_closing = True
        if self.has_closing:
            self._sweep(order_ns)
        return 0

    def find(self) -> Flow:
        """The flow of the located segment, its side in ``side``; None where there is none."""
        view: PacketView = self.view
        flow: Flow
        slot: cython.int = 0
        if cython.compiled:
            slot = (view.src_port ^ view.dst_port) & SLOT_MASK
            flow = self.slots[slot]
            if flow is not None:
                self.side = 0
                if view.is_key(flow.key_0):
                    return flow
                self.side = 1
                if view.is_key(flow.key_1):
                    return flow
        key = view.key()
        self.side = 0
        flow = self.sides_0.get(key)
        if flow is None:
            self.side = 1
            flow = self.sides_1.get(key)
        if cython.compiled and flow is not None:
            self.slots[slot] = flow
        return flow

    def finish(self) -> None:
        """The capture is over: every flow gets its row."""
        for flow in list(self.sides_0.values()):
            self._end(flow, "open")
        if self.bad_packet_count > MAX_BAD_PACKET_ROWS:
            more = self.bad_packet_count - MAX_BAD_PACKET_ROWS
            self.sink.problem(
                "capture.bad_packet",
                f"{more} more packets with broken headers",
                capture=self.bad_capture,
            )

    def has_open(self, order_ns) -> bool:
        """Whether packets from here on the timeline on could go to a flow that is followed now."""
        self._sweep(order_ns)
        return bool(self.sides_0)

    # -- inside ---------------------------------------------------------------------------

    def _is_over(self, flow: Flow, side: cython.int, order_ns: cython.longlong) -> cython.bint:
        """Whether this packet belongs to a new connection on the same addresses.

        The timeline's order never falls, so that this says the same whether or not packets of
        other connections have swept the flow away before."""
        view: PacketView = self.view
        talk: Conversation = flow.conversation
        half: HalfStream = talk.half_1 if side else talk.half_0
        if flow.closed_order_ns >= 0 and order_ns - flow.closed_order_ns > LINGER_NS:
            return True
        if not view.flags & SYN:
            return False
        if half.has_syn:
            return half.syn_seq != view.seq
        # A SYN where data was seen before: a new connection, unless it is the late first packet.
        return not talk.can_begin_at(side, (view.seq + 1) & 0xFFFFFFFF)

    def _begin(self, ts_ns, packet_no) -> Flow:
        view: PacketView = self.view
        if len(self.sides_0) >= MAX_FLOWS:
            self._evict(ts_ns, packet_no)
        flow = Flow(
            (view.source(), view.destination()),
            (view.src_port, view.dst_port),
            self.sink,
            self.options,
            ts_ns,
            packet_no,
            self.tls_keys,
            self.recent,
        )
        flow.key_0 = view.key()
        flow.key_1 = view.reverse_key()
        self.sides_0[flow.key_0] = flow
        self.sides_1[flow.key_1] = flow
        self.tcp_count += 1
        return flow

    def _sweep(self, order_ns: cython.longlong) -> cython.int:
        """End the flows that closed long enough ago."""
        flow: Flow
        while self.closing:
            flow = self.closing[0]
            if order_ns - flow.closed_order_ns <= LINGER_NS:
                break
            self.closing.popleft()
            if self.sides_0.get(flow.key_0) is flow:
                self._end(flow, "open")
        self.has_closing = bool(self.closing)
        return 0

    def _evict(self, ts_ns, packet_no) -> None:
        """Make room: connections without AMQP first, then the idlest."""
        flows = sorted(self.sides_0.values(), key=_worth)[: MAX_FLOWS // EVICTED_SHARE]
        self.sink.problem(
            "tcp.connection_limit",
            f"more than {MAX_FLOWS} open at once, {len(flows)} are no longer followed",
            ts_ns=ts_ns,
            packet_no=packet_no,
        )
        for flow in flows:
            self._end(flow, "open")

    def _audit(self, ts_ns, packet_no) -> None:
        """Where too much waits in all flows together, the largest are relieved of it."""
        self.since_audit = 0
        held = [(flow.held_bytes(), flow) for flow in self.sides_0.values()]
        total = sum([size for size, _ in held])
        if total <= MAX_HELD_BYTES:
            return
        for size, flow in sorted(held, key=_first, reverse=True):
            flow.relieve(ts_ns, packet_no)
            total -= size
            if total <= MAX_HELD_BYTES // 2:
                return

    def _end(self, flow: Flow, how: str) -> None:
        """``how`` is what to say where neither FIN nor RST was seen."""
        talk: Conversation = flow.conversation
        del self.sides_0[flow.key_0]
        del self.sides_1[flow.key_1]
        slot = (flow.ports[0] ^ flow.ports[1]) & SLOT_MASK
        if self.slots[slot] is flow:
            self.slots[slot] = None
        has_fin = talk.half_0.fin_offset >= 0 or talk.half_1.fin_offset >= 0
        # What is only known now still belongs to the file of the flow's last packet.
        self.sink.set_capture(self.source.paths[flow.file_index])
        flow.finish("fin" if has_fin else "rst" if talk.reset_count else how)
        self.sink.set_capture(self.source.paths[self.file_index])
        talk.listener = NOBODY
        if flow.conn is None:
            self.foreign_count += 1

    def _bad_packet(self) -> None:
        self.bad_packet_count += 1
        self.bad_capture = self.source.capture
        if self.bad_packet_count <= MAX_BAD_PACKET_ROWS:
            source: PacketSource = self.source
            self.sink.problem(
                "capture.bad_packet",
                "headers do not fit the packet",
                ts_ns=source.ts_ns,
                packet_no=source.packet_no,
                bytes_affected=source.end - source.start,
                first_bytes=source.buf[source.start : source.start + 16],
            )


def _worth(flow: Flow) -> tuple:
    """Sorts flows by how little would be lost with them."""
    return (flow.conn is not None, flow.conversation.last_ts_ns)


def _first(pair: tuple) -> int:
    return pair[0]
