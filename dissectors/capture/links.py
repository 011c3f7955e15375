"""The link types that packets can be taken from (registry of tcpdump.org)."""

from __future__ import annotations

NULL = 0
ETHERNET = 1
PPP = 9
RAW_BSD = 12
RAW_OPENBSD = 14
PPP_HDLC = 50
PPP_ETHER = 51
RAW = 101
LOOP = 108
LINUX_SLL = 113
IPV4 = 228
IPV6 = 229
LINUX_SLL2 = 276

LINK_TYPES: dict[int, str] = {
    NULL: "BSD loopback",
    ETHERNET: "Ethernet",
    PPP: "PPP",
    RAW_BSD: "raw IP",
    RAW_OPENBSD: "raw IP",
    PPP_HDLC: "PPP in HDLC framing",
    PPP_ETHER: "PPPoE",
    RAW: "raw IP",
    LOOP: "OpenBSD loopback",
    LINUX_SLL: "Linux cooked",
    IPV4: "raw IPv4",
    IPV6: "raw IPv6",
    LINUX_SLL2: "Linux cooked v2",
}
