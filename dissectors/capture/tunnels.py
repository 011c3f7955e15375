"""The rarer layers around IP: loopback and PPP links, MPLS, PPPoE, GRE, VXLAN, GENEVE, IP in IP.

Every function looks at ``buf[pos:end]`` and returns (kind of what follows, where it begins); the
kinds are those of ``decap``. 0 ends the walk: not TCP; -1: the header does not fit.
"""

from __future__ import annotations

from collections.abc import Callable

from dissectors.capture import links

Step = tuple[int, int]

NOT_TCP = 0
BROKEN = -1
ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_IPV6 = 0x86DD
IP_PROTOCOL = 0x10000
ETHERNET_FRAME = 0x20000
PPP_FRAME = 0x20001
PPPOE_SESSION = 0x8864

# The address families of BSD systems; IPv6 differs between them.
LOOPBACK_FAMILIES = {2: ETHERTYPE_IPV4, **dict.fromkeys((10, 24, 28, 30), ETHERTYPE_IPV6)}
PPP_PROTOCOLS = {0x0021: ETHERTYPE_IPV4, 0x0057: ETHERTYPE_IPV6, 0x0281: 0x8847}
IP_VERSIONS = {4: ETHERTYPE_IPV4, 6: ETHERTYPE_IPV6}

GRE_CHECKSUM, GRE_ROUTING, GRE_KEY, GRE_SEQUENCE, GRE_ACK = 0x8000, 0x4000, 0x2000, 0x1000, 0x0080
GRE_TRANSPARENT_ETHERNET = 0x6558
GRE_PPP = 0x880B
ERSPAN_II, ERSPAN_III = 0x88BE, 0x22EB

VXLAN_PORTS = frozenset({4789, 8472})  # IANA; the default of Linux
GENEVE_PORT = 6081
UDP_TUNNEL_PORTS = VXLAN_PORTS | {GENEVE_PORT}


def _u16(buf: bytes, pos: int) -> int:
    return buf[pos] << 8 | buf[pos + 1]


def open_loopback(buf: bytes, pos: int, end: int) -> Step:
    """BSD loopback: the family is in the byte order of the machine that captured."""
    if end - pos < 4:
        return BROKEN, pos
    family = int.from_bytes(buf[pos : pos + 4], "little")
    if family > 0xFFFF:
        family = int.from_bytes(buf[pos : pos + 4], "big")
    return LOOPBACK_FAMILIES.get(family, NOT_TCP), pos + 4


def open_raw_ip(buf: bytes, pos: int, end: int) -> Step:
    if end <= pos:
        return BROKEN, pos
    return IP_VERSIONS.get(buf[pos] >> 4, NOT_TCP), pos


def open_ppp(buf: bytes, pos: int, end: int) -> Step:
    """RFC 1661 §2, RFC 1662 §3.1: address, control and half of the protocol may be left out."""
    if buf[pos : min(end, pos + 2)] == b"\xff\x03":
        pos += 2
    if end - pos < 2:
        return BROKEN, pos
    if buf[pos] & 1:
        return PPP_PROTOCOLS.get(buf[pos], NOT_TCP), pos + 1
    return PPP_PROTOCOLS.get(_u16(buf, pos), NOT_TCP), pos + 2


def open_pppoe(buf: bytes, pos: int, end: int) -> Step:
    """RFC 2516 §4."""
    return (PPP_FRAME, pos + 6) if end - pos >= 8 else (BROKEN, pos)


def open_mpls(buf: bytes, pos: int, end: int) -> Step:
    """RFC 3032 §2.1. What follows the last label is told by its first half byte only."""
    is_last = False
    while not is_last:
        if end - pos < 5:
            return BROKEN, pos
        is_last = bool(buf[pos + 2] & 1)
        pos += 4
    version = buf[pos] >> 4
    if version == 0:  # RFC 4448 §4.6: the control word of an Ethernet pseudowire
        return ETHERNET_FRAME, pos + 4
    return IP_VERSIONS.get(version, NOT_TCP), pos


def open_gre(buf: bytes, pos: int, end: int) -> Step:
    """RFC 2784, RFC 2890; version 1 is PPTP (RFC 2637 §4.1)."""
    if end - pos < 4:
        return BROKEN, pos
    flags, kind = _u16(buf, pos), _u16(buf, pos + 2)
    if flags & GRE_ROUTING:
        return NOT_TCP, pos
    present = [flag for flag in (GRE_CHECKSUM, GRE_KEY, GRE_SEQUENCE) if flags & flag]
    pos += 4 + 4 * len(present)
    if flags & 0x0007 == 1 and flags & GRE_ACK:
        pos += 4
    if kind == ERSPAN_II:
        # Type I has neither sequence number nor header of its own.
        return ETHERNET_FRAME, pos + (8 if flags & GRE_SEQUENCE else 0)
    if kind == ERSPAN_III and end - pos >= 12:
        return ETHERNET_FRAME, pos + (20 if buf[pos + 11] & 1 else 12)
    if kind == GRE_TRANSPARENT_ETHERNET:
        return ETHERNET_FRAME, pos
    return (PPP_FRAME if kind == GRE_PPP else kind), pos


def open_llc(buf: bytes, pos: int, end: int) -> Step:
    """An EtherType below 0x0600 is a length: IEEE 802.2 follows, which may carry SNAP."""
    if end - pos < 8 or buf[pos : pos + 3] != b"\xaa\xaa\x03":
        return NOT_TCP, pos
    return _u16(buf, pos + 6), pos + 8


def open_ip_in_ip(_buf: bytes, pos: int, _end: int) -> Step:
    return ETHERTYPE_IPV4, pos


def open_ipv6_in_ip(_buf: bytes, pos: int, _end: int) -> Step:
    return ETHERTYPE_IPV6, pos


def open_udp(buf: bytes, pos: int, end: int) -> Step:
    """VXLAN (RFC 7348 §5) and GENEVE (RFC 8926 §3.4) by the destination port."""
    if end - pos < 16:
        return NOT_TCP, pos
    port = _u16(buf, pos + 2)
    pos += 8
    if port in VXLAN_PORTS:
        return (ETHERNET_FRAME if buf[pos] & 0x08 else NOT_TCP), pos + 8
    if buf[pos] >> 6 != 0:
        return NOT_TCP, pos
    kind = _u16(buf, pos + 2)
    pos += 8 + (buf[pos] & 0x3F) * 4
    return (ETHERNET_FRAME if kind == GRE_TRANSPARENT_ETHERNET else kind), pos


# What may follow Ethernet or IP apart from what decap opens itself.
TUNNELS: dict[int, Callable[[bytes, int, int], Step]] = {
    0x8847: open_mpls,
    0x8848: open_mpls,
    PPPOE_SESSION: open_pppoe,
    PPP_FRAME: open_ppp,
    IP_PROTOCOL | 4: open_ip_in_ip,
    IP_PROTOCOL | 41: open_ipv6_in_ip,
    IP_PROTOCOL | 47: open_gre,
    IP_PROTOCOL | 137: open_mpls,
    **dict.fromkeys(range(1, 0x0600), open_llc),
}

_LINKS: dict[int, Callable[[bytes, int, int], Step]] = {
    links.NULL: open_loopback,
    links.LOOP: open_loopback,
    links.PPP: open_ppp,
    links.PPP_HDLC: open_ppp,
    links.PPP_ETHER: open_pppoe,
    **dict.fromkeys(
        (links.RAW, links.RAW_BSD, links.RAW_OPENBSD, links.IPV4, links.IPV6), open_raw_ip
    ),
}


def open_link(link_type: int, buf: bytes, pos: int, end: int) -> Step:
    """The link types that decap does not open itself."""
    return _LINKS[link_type](buf, pos, end)
