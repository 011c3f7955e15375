"""Every way down to a TCP segment: link layers, tags, tunnels, extension headers, fragments."""

from __future__ import annotations

import struct

import dpkt
import pytest

from dissectors.capture.fragments import MAX_AGE_NS, MAX_DATAGRAMS, FragmentTable
from dissectors.capture.links import LINK_TYPES
from tests.dissectors.capture.build import (
    Problems,
    ethernet,
    ipv4,
    ipv6,
    locate,
    payload,
    tcp_segment,
)

IPV4, IPV6 = 0x0800, 0x86DD
V4 = ipv4()
V6 = ipv6()


def cooked(content: bytes, kind: int) -> bytes:
    """LINUX_SLL: packet type, hardware type, address length, address, protocol."""
    return struct.pack("!HHH8sH", 0, 1, 6, bytes(8), kind) + content


def cooked_v2(content: bytes, kind: int) -> bytes:
    return struct.pack("!HHIHBB8s", kind, 0, 1, 1, 0, 6, bytes(8)) + content


def tag(content: bytes, kind: int, number: int = 5) -> bytes:
    return struct.pack("!HH", number, kind) + content


def mpls(content: bytes, *labels: int) -> bytes:
    last = len(labels) - 1
    words = [label << 12 | (n == last) << 8 | 64 for n, label in enumerate(labels)]
    return struct.pack(f"!{len(words)}I", *words) + content


def udp(content: bytes, port: int) -> bytes:
    return bytes(dpkt.udp.UDP(sport=55555, dport=port, data=content, ulen=8 + len(content)))


def gre(content: bytes, kind: int, flags: int = 0, extra: bytes = b"") -> bytes:
    return struct.pack("!HH", flags, kind) + extra + content


def ppp(content: bytes, protocol: bytes = b"\x00\x21", address: bytes = b"\xff\x03") -> bytes:
    return address + protocol + content


def pppoe(content: bytes) -> bytes:
    return struct.pack("!BBHH", 0x11, 0, 7, len(content)) + content


VXLAN = struct.pack("!II", 0x08000000, 42 << 8)
LINKS = {
    "Ethernet": (1, ethernet(V4)),
    "Ethernet, IPv6": (1, ethernet(V6, IPV6)),
    "Ethernet padded to 60 bytes": (1, ethernet(ipv4(tcp_segment(b""))) + bytes(6)),
    "802.1Q": (1, ethernet(tag(V4, IPV4), 0x8100)),
    "QinQ": (1, ethernet(tag(tag(V4, IPV4), 0x8100), 0x88A8)),
    "QinQ, old EtherType": (1, ethernet(tag(tag(V6, IPV6), 0x8100), 0x9100)),
    "802.2 SNAP": (1, ethernet(b"\xaa\xaa\x03\0\0\0" + struct.pack("!H", IPV4) + V4, 8 + len(V4))),
    "Linux cooked": (113, cooked(V4, IPV4)),
    "Linux cooked, VLAN": (113, cooked(tag(V4, IPV4), 0x8100)),
    "Linux cooked v2": (276, cooked_v2(V6, IPV6)),
    "NULL, little endian": (0, b"\x02\0\0\0" + V4),
    "NULL, big endian": (0, b"\0\0\0\x02" + V4),
    "NULL, IPv6 of macOS": (0, b"\x1e\0\0\0" + V6),
    "LOOP": (108, b"\0\0\0\x18" + V6),
    "raw IP": (101, V4),
    "raw IP, IPv6": (101, V6),
    "raw IP of BSD": (12, V4),
    "raw IPv4": (228, V4),
    "raw IPv6": (229, V6),
    "PPP": (9, ppp(V4)),
    "PPP, short": (9, ppp(V6, b"\x57", b"")),
    "PPPoE link": (51, pppoe(ppp(V4, address=b""))),
    "PPPoE": (1, ethernet(pppoe(ppp(V4, address=b"")), 0x8864)),
    "MPLS": (1, ethernet(mpls(V4, 16), 0x8847)),
    "MPLS, three labels": (1, ethernet(mpls(V6, 16, 17, 18), 0x8847)),
    "MPLS pseudowire": (1, ethernet(mpls(bytes(4) + ethernet(V4), 16), 0x8847)),
    "IP in IP": (1, ethernet(ipv4(V4, 4))),
    "IPv6 in IP": (1, ethernet(ipv4(V6, 41))),
    "IP in IPv6": (1, ethernet(ipv6(V4, 4), IPV6)),
    "GRE": (1, ethernet(ipv4(gre(V4, IPV4), 47))),
    "GRE with key and sequence": (1, ethernet(ipv4(gre(V4, IPV4, 0x3000, bytes(8)), 47))),
    "GRE, Ethernet": (1, ethernet(ipv4(gre(ethernet(V4), 0x6558), 47))),
    "ERSPAN II": (1, ethernet(ipv4(gre(bytes(8) + ethernet(V4), 0x88BE, 0x1000, bytes(4)), 47))),
    "PPTP": (1, ethernet(ipv4(gre(ppp(V4), 0x880B, 0x3081, bytes(12)), 47))),
    "VXLAN": (1, ethernet(ipv4(udp(VXLAN + ethernet(V4), 4789), 17))),
    "VXLAN with VLAN in IPv6": (
        1, ethernet(ipv6(udp(VXLAN + ethernet(tag(V4, IPV4), 0x8100), 8472), 17), IPV6)),
    "GENEVE": (
        1, ethernet(ipv4(udp(struct.pack("!BBHI", 0, 0, 0x6558, 0) + ethernet(V4), 6081), 17))),
    "GENEVE with options": (
        1, ethernet(ipv4(udp(struct.pack("!BBHII", 1, 0, IPV4, 0, 0) + V4, 6081), 17))),
    "IPv4 options": (1, ethernet(ipv4(hl=7, opts=b"\x01" * 8))),
    "IPv6 hop-by-hop and destination options": (
        1, ethernet(ipv6(b"\x3c\0" + bytes(6) + b"\x06\x01" + bytes(14) + tcp_segment(), 0), IPV6)),
    "IPv6 routing": (1, ethernet(ipv6(b"\x06\x02\0\0" + bytes(20) + tcp_segment(), 43), IPV6)),
    "IPv6 authentication": (1, ethernet(ipv6(b"\x06\x04" + bytes(22) + tcp_segment(), 51), IPV6)),
    "IPv6 fragment that is whole": (
        1, ethernet(ipv6(b"\x06\0\0\0\0\0\0\x01" + tcp_segment(), 44), IPV6)),
}  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_the_way_down(name):
    link, packet = LINKS[name]
    found, view = locate(packet, link)
    assert found == 1
    assert (view.src_port, view.dst_port, view.seq, view.ack) == (40000, 5672, 1000, 77)
    assert payload(view) == (b"" if "padded" in name else b"payload")
    assert view.missing == 0


@pytest.mark.parametrize("name", LINKS)
def test_cut_anywhere_is_broken_or_counted_as_missing(name):
    """What a snap length cuts is never read from beyond, and never lost from the count."""
    link, packet = LINKS[name]
    whole = len(payload(locate(packet, link)[1]))
    for size in range(len(packet)):
        found, view = locate(packet[:size], link, wire=len(packet))
        if found == 1:
            assert len(payload(view)) + view.missing == whole
            assert payload(view) == b"payload"[: len(payload(view))]


def test_every_link_type_is_covered():
    assert {link for link, _ in LINKS.values()} | {14, 50} == set(LINK_TYPES)


@pytest.mark.parametrize(
    ("packet", "link"),
    [
        (ethernet(ipv4(udp(b"x" * 30, 53), 17)), 1),
        (ethernet(b"\0" * 28, 0x0806), 1),
        (ethernet(ipv4(b"\x08\0" + bytes(20), 1)), 1),
        (ethernet(V4), 147),
    ],
)
def test_other_things_are_no_tcp(packet, link):
    assert locate(packet, link)[0] == 0


@pytest.mark.parametrize(
    "packet",
    [
        ethernet(b"\x65" + V4[1:]),  # version 6 where 4 was announced
        ethernet(b"\x42" + V4[1:]),  # a header of 8 bytes
        ethernet(V4[:2] + b"\0\x08" + V4[4:]),  # shorter than its header
        ethernet(ipv4(tcp_segment()[:12] + b"\x10" + tcp_segment()[13:])),  # data offset 1
        ethernet(tag(b"", 0x8100) * 40, 0x8100),  # tags without end
    ],
)
def test_headers_that_cannot_be_right_are_broken(packet):
    assert locate(packet)[0] == -1


def test_segmentation_offload_leaves_the_length_to_the_capture():
    packet = bytearray(ethernet(V4))
    packet[16:18] = b"\0\0"
    found, view = locate(bytes(packet))
    assert (found, payload(view)) == (1, b"payload")


# -- fragments ------------------------------------------------------------------------------


def fragments(content: bytes, size: int = 16) -> list[bytes]:
    """IPv4 packets that carry ``content`` in pieces."""
    out = []
    for at in range(0, len(content), size):
        more = at + size < len(content)
        packet = bytearray(ipv4(content[at : at + size], id=9))
        packet[6:8] = struct.pack("!H", more << 13 | at // 8)
        out.append(ethernet(bytes(packet)))
    return out


def fragments6(content: bytes, size: int = 16) -> list[bytes]:
    out = []
    for at in range(0, len(content), size):
        more = at + size < len(content)
        head = struct.pack("!BBHI", 6, 0, at | more, 77)
        out.append(ethernet(ipv6(head + content[at : at + size], 44), IPV6))
    return out


def feed(packets: list[bytes], view=None) -> list[bytes]:
    """Payloads of the segments that come out of packets in this order."""
    from dissectors.capture.decap import PacketView

    view = view or PacketView(Problems())
    found = [(view.locate(p, 0, len(p), len(p), 1, 0), payload(view)) for p in packets]
    return [data for how, data in found if how == 1]


SEGMENT = tcp_segment(b"a payload that needs several fragments to arrive")


@pytest.mark.parametrize("make", [fragments, fragments6])
@pytest.mark.parametrize("order", ["forward", "backward", "repeated", "middle first"])
def test_fragments_in_any_order_give_the_segment_once(make, order):
    packets = make(SEGMENT)
    assert len(packets) >= 4
    arranged = {
        "forward": packets,
        "backward": packets[::-1],
        "repeated": [packets[0], *packets],
        "middle first": [packets[2], packets[0], packets[1], *packets[3:]],
    }[order]
    assert feed(arranged) == [SEGMENT[20:]]


def test_a_lost_fragment_is_told():
    problems = Problems()
    table = FragmentTable(problems)
    assert table.add(b"a", 0, True, 8, bytes(8), 6, 0) is None
    assert table.add(b"b", 0, True, 8, bytes(8), 6, MAX_AGE_NS + 1) is None
    assert problems.codes == ["capture.fragment_lost"]
    table.finish()
    assert problems.codes == ["capture.fragment_lost"] * 2
    assert table.waiting_bytes == 0


def test_fragments_are_bounded():
    problems = Problems()
    table = FragmentTable(problems)
    for number in range(MAX_DATAGRAMS + 50):
        table.add(number, 0, True, 8, bytes(8), 6, 0)
    assert problems.codes == ["capture.fragment_limit"] * 50
    for offset in range(0, 200_000, 8):
        table.add("long", offset, True, 8, bytes(8), 6, 0)
    assert table.waiting_bytes < 200_000


def test_the_first_fragment_wins_where_they_overlap():
    table = FragmentTable(Problems())
    assert table.add(1, 0, True, 16, b"A" * 16, 6, 0) is None
    assert table.add(1, 8, False, 16, b"B" * 16, 6, 0) == (b"A" * 16 + b"B" * 8, 24, 6)
