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
PLAIN_IPV4 = cython.declare(cython.int, 0x45)
PROTOCOL_TCP = cython.declare(cython.int, 6)
SYN = cython.declare(cython.int, 0x02)
ACK = cython.declare(cython.int, 0x10)
OPTION_END, OPTION_NOP, OPTION_WINDOW_SCALE = 0, 1, 3

# What is nearly every packet: IPv4 without options and TCP, opened in one go.
QUICK_BYTES = cython.declare(cython.Py_ssize_t, 40)
_TYPE_IPV4_TCP = Struct("!HBxH2xHxB2x8xHHIIHH").unpack_from
_TCP = Struct("!HHIIHH").unpack_from


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
        self.tcp_pos = 0
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
        if link_type == LINK_ETHERNET and self.locate_quickly(buf, start + 14, end):
            return 1
        if link_type == LINK_SLL and self.locate_quickly(buf, start + 16, end):
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
            octets: cython.p_uchar = buf
            if pos < 0 or self.end > len(buf):
                raise IndexError("octets are missing")
            self.read_tcp(octets + pos)
        else:
            self.src_port, self.dst_port, self.seq, self.ack, flags, self.window = _TCP(buf, pos)
            self.flags = flags & 0x1FF
        header = (buf[pos + 12] >> 4) * 4
        if header < 20 or pos + header > self.wire_end:
            return BROKEN
        self.tcp_pos = pos
        self.payload_start = pos + header if pos + header < self.end else self.end
        self.payload_end = self.end
        self.missing = self.wire_end - (pos + header) - (self.payload_end - self.payload_start)
        self.has_ack = (self.flags & ACK) != 0
        self.window_scale = -1
        if self.flags & SYN:
            self.read_window_scale(pos + 20)
        return 1

    def read_tcp(self, octets: cython.p_uchar) -> cython.void:
        """Compiled only: the fixed fields of a TCP header, which the caller knows to be there."""
        self.src_port = be16(octets)
        self.dst_port = be16(octets + 2)
        self.seq = be32(octets + 4)
        self.ack = be32(octets + 8)
        self.flags = be16(octets + 12) & 0x1FF
        self.window = be16(octets + 14)

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

    def locate_quickly(
        self, buf: bytes, ip: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.bint:
        """Whole IPv4 and TCP packets, an EtherType before them; False: take the walk."""
        header: cython.Py_ssize_t
        total: cython.Py_ssize_t
        if end - ip < QUICK_BYTES:
            return False
        if cython.compiled:
            octets: cython.p_uchar = buf
            if ip < 2 or end > len(buf):
                raise IndexError("octets are missing")
            octets += ip
            header = octets[32] >> 4 << 2
            total = be16(octets + 2)
            if (
                be16(octets - 2) != IPV4
                or octets[0] != PLAIN_IPV4
                or octets[9] != PROTOCOL_TCP
                or be16(octets + 6) & 0x3FFF
                or octets[33] & SYN
            ):
                return False
            self.read_tcp(octets + 20)
        else:
            kind, version, total, fragment, protocol, src, dst, seq, ack, flags, window = (
                _TYPE_IPV4_TCP(buf, ip - 2)
            )
            header = flags >> 12 << 2
            if (
                kind != 0x0800
                or version != 0x45
                or protocol != 6
                or fragment & 0x3FFF
                or flags & 0x02
            ):
                return False
            self.src_port = src
            self.dst_port = dst
            self.seq = seq
            self.ack = ack
            self.flags = flags & 0x1FF
            self.window = window
        if header < 20 or total < 20 + header or total > end - ip:
            return False
        self.buf = buf
        self.address_buf = buf
        self.address_pos = ip + 12
        self.address_size = 4
        self.tcp_pos = ip + 20
        self.has_ack = (self.flags & ACK) != 0
        self.window_scale = -1
        self.payload_start = ip + 20 + header
        self.payload_end = ip + total
        self.missing = 0
        return True

    def key(self) -> bytes:
        """Source and destination address, source and destination port, as they are on the wire."""
        at: cython.Py_ssize_t = self.address_pos
        end: cython.Py_ssize_t = at + 2 * self.address_size
        tcp: cython.Py_ssize_t = self.tcp_pos
        return self.address_buf[at:end] + self.buf[tcp : tcp + 4]

    def is_key(self, key: bytes) -> cython.bint:
        """Whether this is the key, without making an object to compare."""
        if not cython.compiled:
            return self.key() == key
        size: cython.Py_ssize_t = 2 * self.address_size
        addresses: cython.p_uchar = self.address_buf
        octets: cython.p_uchar = self.buf
        other: cython.p_uchar = key
        if len(key) != size + 4:
            return False
        if self.address_pos + size > len(self.address_buf) or self.tcp_pos + 4 > len(self.buf):
            raise IndexError("octets are missing")
        return (
            memcmp(octets + self.tcp_pos, other + size, 4) == 0  # type: ignore[name-defined]  # noqa: F821
            and memcmp(addresses + self.address_pos, other, size) == 0  # type: ignore[name-defined]  # noqa: F821
        )

    def reverse_key(self) -> bytes:
        """The key of the segments that go the other way."""
        key = self.key()
        size = self.address_size
        return key[size : 2 * size] + key[:size] + key[-2:] + key[-4:-2]

    def source(self) -> str:
        return endpoint_text(self.key()[: self.address_size], self.src_port)

    def destination(self) -> str:
        return endpoint_text(self.key()[self.address_size : -4], self.dst_port)

    def finish(self) -> None:
        """Tell about fragments that still wait."""
        self.fragments.finish()


def be16(octets: cython.p_uchar) -> cython.int:
    """Compiled only, as is the next: callers have checked that the octets are there."""
    return (octets[0] << 8) | octets[1]


def be32(octets: cython.p_uchar) -> cython.longlong:
    value: cython.uint = octets[0]
    return (value << 24) | (octets[1] << 16) | (octets[2] << 8) | octets[3]


def endpoint_text(address: bytes, port: int) -> str:
    """``1.2.3.4:5672`` or ``[::1]:5672``."""
    if len(address) == 4:
        return f"{socket.inet_ntop(socket.AF_INET, address)}:{port}"
    return f"[{socket.inet_ntop(socket.AF_INET6, address)}]:{port}"
