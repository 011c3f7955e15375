"""From a packet to its TCP segment, through link layers, tunnels and IP.

The way down is a walk over *kinds*: an EtherType, ``IP_PROTOCOL | n`` for what IP carries, or one
of the few below. Every step looks at ``buf[pos:end]``, moves ``pos`` and returns the next kind.
``wire_end`` is where the packet would end had the capture not cut it. Checksums are never looked
at: on loopback and with offloading they are wrong as a rule. Streams are not known here.
"""

import socket
from struct import Struct

import cython

from dissectors.capture.fragments import FragmentTable
from dissectors.capture.links import LINK_TYPES
from dissectors.capture.tunnels import TUNNELS, UDP_TUNNEL_PORTS, open_link, open_udp

NOT_TCP = cython.declare(cython.int, 0)
BROKEN = cython.declare(cython.int, -1)
IPV4 = cython.declare(cython.int, 0x0800)
IPV6 = cython.declare(cython.int, 0x86DD)
VLAN = cython.declare(cython.int, 0x8100)
SERVICE_VLAN = cython.declare(cython.int, 0x88A8)
OLD_SERVICE_VLAN = cython.declare(cython.int, 0x9100)
IP_PROTOCOL = cython.declare(cython.int, 0x10000)
TCP = cython.declare(cython.int, 0x10000 | 6)
UDP = cython.declare(cython.int, 0x10000 | 17)
IPV6_FRAGMENT = cython.declare(cython.int, 0x10000 | 44)
AUTHENTICATION = cython.declare(cython.int, 0x10000 | 51)
ETHERNET_FRAME = cython.declare(cython.int, 0x20000)

LINK_ETHERNET = cython.declare(cython.int, 1)
LINK_SLL = cython.declare(cython.int, 113)
LINK_SLL2 = cython.declare(cython.int, 276)

# IPv6 extension headers whose second byte counts further units of 8 bytes (RFC 8200 §4):
# hop-by-hop, routing, destination options, mobility, host identity, shim6.
EXTENSIONS = frozenset(0x10000 | n for n in (0, 43, 60, 135, 139, 140))
# Headers one inside the other; real traffic has fewer than ten.
MAX_LAYERS = cython.declare(cython.int, 32)
SYN = cython.declare(cython.int, 0x02)
ACK = cython.declare(cython.int, 0x10)
OPTION_END, OPTION_NOP, OPTION_WINDOW_SCALE = 0, 1, 3

# Ethernet, IPv4 without options and TCP in one go, for the interpreter.
_ETHERNET_IPV4_TCP = Struct("!12xHBxH2xHxB2x8xHHIIHH").unpack_from
_TCP = Struct("!HHIIHH").unpack_from
_QUICK_BYTES = 54


class PacketView:
    """The TCP segment of the packet last given to ``locate``; offsets are within ``buf``."""

    def __init__(self, report) -> None:
        self.fragments = FragmentTable(report)
        self.buf = b""
        self.pos = 0
        self.end = 0
        self.wire_end = 0
        self.ts_ns = 0
        self.address_buf = b""
        self.address_pos = 0
        self.address_size = 4
        self.key = b""
        self.src_port = 0
        self.dst_port = 0
        self.seq = 0
        self.ack = 0
        self.flags = 0
        self.has_ack = 0
        self.window = 0
        self.window_scale = -1
        self.payload_start = 0
        self.payload_end = 0
        self.missing = 0

    def locate(
        self,
        buf: bytes,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        wire_length: cython.Py_ssize_t,
        link_type: cython.int,
        ts_ns: cython.longlong,
    ) -> cython.int:
        """1: a TCP segment, see the attributes; 0: something else; -1: broken headers."""
        kind: cython.int
        _layer: cython.int
        if not cython.compiled and link_type == 1 and self.locate_quickly(buf, start, end):
            return 1
        self.buf = buf
        self.pos = start
        self.end = end
        self.wire_end = start + wire_length
        self.ts_ns = ts_ns
        if link_type == LINK_ETHERNET:
            kind = self.step(14, 12)
        elif link_type == LINK_SLL:
            kind = self.step(16, 14)
        elif link_type == LINK_SLL2:
            kind = self.step(20, 0)
        elif link_type in LINK_TYPES:
            kind, self.pos = open_link(link_type, buf, start, end)
        else:
            return 0
        for _layer in range(MAX_LAYERS):
            if kind == TCP:
                return self.open_tcp()
            elif kind == IPV4:
                kind = self.open_ipv4()
            elif kind == IPV6:
                kind = self.open_ipv6()
            elif kind in (VLAN, SERVICE_VLAN, OLD_SERVICE_VLAN):
                kind = self.step(4, 2)
            elif kind <= 0:
                return kind
            else:
                kind = self.open_other(kind)
        return BROKEN

    def step(self, size: cython.Py_ssize_t, type_at: cython.Py_ssize_t) -> cython.int:
        """Over a header of fixed size that holds the type of what follows."""
        pos: cython.Py_ssize_t = self.pos
        if self.end - pos < size:
            return BROKEN
        self.pos = pos + size
        return (self.buf[pos + type_at] << 8) | self.buf[pos + type_at + 1]

    def open_ipv4(self) -> cython.int:
        buf: bytes = self.buf
        pos: cython.Py_ssize_t = self.pos
        header: cython.Py_ssize_t
        total: cython.Py_ssize_t
        fragment: cython.int
        if self.end - pos < 20 or buf[pos] >> 4 != 4:
            return BROKEN
        header = (buf[pos] & 0x0F) * 4
        total = (buf[pos + 2] << 8) | buf[pos + 3]
        if header < 20 or self.end - pos < header:
            return BROKEN
        # 0: segmentation offload, the length is filled in after the capture was taken.
        if total:
            if total < header:
                return BROKEN
            self.wire_end = pos + total
            if self.wire_end < self.end:
                self.end = self.wire_end
        self.address_buf = buf
        self.address_pos = pos + 12
        self.address_size = 4
        self.pos = pos + header
        fragment = (buf[pos + 6] << 8) | buf[pos + 7]
        if fragment & 0x3FFF:
            key = buf[pos + 12 : pos + 20] + buf[pos + 4 : pos + 6] + buf[pos + 9 : pos + 10]
            return self.defragment(
                key, (fragment & 0x1FFF) * 8, (fragment & 0x2000) != 0, buf[pos + 9]
            )
        return IP_PROTOCOL | buf[pos + 9]

    def open_ipv6(self) -> cython.int:
        buf: bytes = self.buf
        pos: cython.Py_ssize_t = self.pos
        length: cython.Py_ssize_t
        if self.end - pos < 40 or buf[pos] >> 4 != 6:
            return BROKEN
        length = (buf[pos + 4] << 8) | buf[pos + 5]
        # 0: a jumbogram or segmentation offload.
        if length:
            self.wire_end = pos + 40 + length
            if self.wire_end < self.end:
                self.end = self.wire_end
        self.address_buf = buf
        self.address_pos = pos + 8
        self.address_size = 16
        self.pos = pos + 40
        return IP_PROTOCOL | buf[pos + 6]

    def open_other(self, kind: cython.int) -> cython.int:
        """Extension headers, fragments and tunnels: the less frequent kinds."""
        buf: bytes = self.buf
        pos: cython.Py_ssize_t = self.pos
        if kind == UDP:
            if self.end - pos < 8 or ((buf[pos + 2] << 8) | buf[pos + 3]) not in UDP_TUNNEL_PORTS:
                return NOT_TCP
            kind, self.pos = open_udp(buf, pos, self.end)
            return kind
        if kind == ETHERNET_FRAME:
            return self.step(14, 12)
        if kind in EXTENSIONS or kind == AUTHENTICATION:
            if self.end - pos < 2:
                return BROKEN
            # The Authentication Header alone counts units of 4 bytes, less 2 (RFC 4302 §2.2).
            if kind == AUTHENTICATION:
                self.pos = pos + (buf[pos + 1] + 2) * 4
            else:
                self.pos = pos + (buf[pos + 1] + 1) * 8
            return IP_PROTOCOL | buf[pos] if self.pos <= self.end else BROKEN
        if kind == IPV6_FRAGMENT:
            if self.end - pos < 8:
                return BROKEN
            self.pos = pos + 8
            fragment = (buf[pos + 2] << 8) | buf[pos + 3]
            if not fragment & 0xFFF9:
                return IP_PROTOCOL | buf[pos]
            at = self.address_pos
            key = self.address_buf[at : at + 32] + buf[pos + 4 : pos + 8]
            return self.defragment(key, fragment & 0xFFF8, (fragment & 1) != 0, buf[pos])
        tunnel = TUNNELS.get(kind)
        if tunnel is None:
            return NOT_TCP
        kind, self.pos = tunnel(buf, pos, self.end)
        return kind

    def defragment(
        self, key: bytes, offset: cython.int, has_more: cython.int, protocol: cython.int
    ) -> cython.int:
        """Put a fragment aside; go on with the whole datagram when this was its last one."""
        datagram = self.fragments.add(
            key,
            offset,
            has_more,
            self.wire_end - self.pos,
            self.buf[self.pos : self.end],
            protocol,
            self.ts_ns,
        )
        if datagram is None:
            return NOT_TCP
        self.buf, self.wire_end, protocol = datagram
        self.pos = 0
        self.end = len(self.buf)
        return IP_PROTOCOL | protocol

    def open_tcp(self) -> cython.int:
        buf: bytes = self.buf
        pos: cython.Py_ssize_t = self.pos
        header: cython.Py_ssize_t
        if self.end - pos < 20:
            return BROKEN
        if cython.compiled:
            self.src_port = (buf[pos] << 8) | buf[pos + 1]
            self.dst_port = (buf[pos + 2] << 8) | buf[pos + 3]
            self.seq = be32(buf, pos + 4)
            self.ack = be32(buf, pos + 8)
            self.flags = ((buf[pos + 12] & 0x01) << 8) | buf[pos + 13]
            self.window = (buf[pos + 14] << 8) | buf[pos + 15]
        else:
            self.src_port, self.dst_port, self.seq, self.ack, flags, self.window = _TCP(buf, pos)
            self.flags = flags & 0x1FF
        header = (buf[pos + 12] >> 4) * 4
        if header < 20 or pos + header > self.wire_end:
            return BROKEN
        self.payload_start = pos + header if pos + header < self.end else self.end
        self.payload_end = self.end
        self.missing = self.wire_end - (pos + header) - (self.payload_end - self.payload_start)
        self.has_ack = (self.flags & ACK) != 0
        self.window_scale = -1
        if self.flags & SYN:
            self.read_window_scale(pos + 20)
        self.make_key(pos)
        return 1

    def make_key(self, tcp: cython.Py_ssize_t) -> cython.int:
        """Source address and port, destination address and port, as they are on the wire."""
        size: cython.Py_ssize_t = self.address_size
        at: cython.Py_ssize_t = self.address_pos
        addresses: bytes = self.address_buf
        buf: bytes = self.buf
        if cython.compiled:
            raw = cython.declare(cython.uchar[36])
            i: cython.Py_ssize_t
            for i in range(size):
                raw[i] = addresses[at + i]
                raw[size + 2 + i] = addresses[at + size + i]
            raw[size] = buf[tcp]
            raw[size + 1] = buf[tcp + 1]
            raw[size + size + 2] = buf[tcp + 2]
            raw[size + size + 3] = buf[tcp + 3]
            self.key = raw[: 2 * size + 4]
        else:
            middle = at + size
            self.key = (
                addresses[at:middle]
                + buf[tcp : tcp + 2]
                + addresses[middle : middle + size]
                + buf[tcp + 2 : tcp + 4]
            )
        return 0

    def read_window_scale(self, pos: cython.Py_ssize_t) -> cython.int:
        """RFC 7323 §2.2. Options that do not fit end the search."""
        buf: bytes = self.buf
        while pos < self.payload_start:
            kind = buf[pos]
            if kind == OPTION_NOP:
                pos += 1
                continue
            if kind == OPTION_END or pos + 1 >= self.payload_start or buf[pos + 1] < 2:
                break
            if kind == OPTION_WINDOW_SCALE and pos + 2 < self.payload_start:
                self.window_scale = buf[pos + 2]
                break
            pos += buf[pos + 1]
        return 0

    def locate_quickly(self, buf: bytes, start: int, end: int) -> bool:
        """The interpreter's way for whole Ethernet, IPv4 and TCP packets; False: take the walk."""
        if end - start < _QUICK_BYTES:
            return False
        kind, version, total, fragment, protocol, src_port, dst_port, seq, ack, flags, window = (
            _ETHERNET_IPV4_TCP(buf, start)
        )
        header = flags >> 12 << 2
        if (
            kind != 0x0800
            or version != 0x45
            or protocol != 6
            or fragment & 0x3FFF
            or flags & 0x02
            or header < 20
            or not 20 + header <= total <= end - start - 14
        ):
            return False
        self.buf = buf
        self.key = (
            buf[start + 26 : start + 30]
            + buf[start + 34 : start + 36]
            + buf[start + 30 : start + 34]
            + buf[start + 36 : start + 38]
        )
        self.src_port = src_port
        self.dst_port = dst_port
        self.seq = seq
        self.ack = ack
        self.flags = flags & 0x1FF
        self.has_ack = flags & 0x10 != 0
        self.window = window
        self.window_scale = -1
        self.payload_start = start + 34 + header
        self.payload_end = start + 14 + total
        self.missing = 0
        return True

    def reverse_key(self) -> bytes:
        """The key of the segments that go the other way."""
        half = len(self.key) // 2
        return self.key[half:] + self.key[:half]

    def source(self) -> str:
        return endpoint_text(self.key[: len(self.key) // 2])

    def destination(self) -> str:
        return endpoint_text(self.key[len(self.key) // 2 :])

    def finish(self) -> None:
        """Tell about fragments that still wait."""
        self.fragments.finish()


def be32(buf: bytes, pos: cython.Py_ssize_t) -> cython.longlong:
    a: cython.uint = buf[pos]
    b: cython.uint = buf[pos + 1]
    c: cython.uint = buf[pos + 2]
    d: cython.uint = buf[pos + 3]
    return (a << 24) | (b << 16) | (c << 8) | d


def endpoint_text(packed: bytes) -> str:
    """``1.2.3.4:5672`` or ``[::1]:5672`` from an address and port of a key."""
    port = int.from_bytes(packed[-2:], "big")
    if len(packed) == 6:
        return f"{socket.inet_ntop(socket.AF_INET, packed[:4])}:{port}"
    return f"[{socket.inet_ntop(socket.AF_INET6, packed[:16])}]:{port}"
