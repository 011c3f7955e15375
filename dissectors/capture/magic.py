"""The magic numbers of capture files, and what a pcap magic number says about its records."""

from __future__ import annotations

from typing import NamedTuple


class PcapShape(NamedTuple):
    is_big_endian: bool
    # One unit of the fraction field, in nanoseconds.
    fraction_ns: int
    # 16 bytes; the "modified" pcap of old Linux tools adds interface, protocol and type.
    record_header_bytes: int


PCAP_SHAPES: dict[bytes, PcapShape] = {
    b"\xa1\xb2\xc3\xd4": PcapShape(True, 1000, 16),
    b"\xd4\xc3\xb2\xa1": PcapShape(False, 1000, 16),
    b"\xa1\xb2\x3c\x4d": PcapShape(True, 1, 16),
    b"\x4d\x3c\xb2\xa1": PcapShape(False, 1, 16),
    b"\xa1\xb2\xcd\x34": PcapShape(True, 1000, 24),
    b"\x34\xcd\xb2\xa1": PcapShape(False, 1000, 24),
}
MAGIC_BYTES = 4
PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"


def is_capture_magic(head: bytes) -> bool:
    """Does a file that begins so (after decompression) look like a capture?"""
    return head[:MAGIC_BYTES] in PCAP_SHAPES or head[:MAGIC_BYTES] == PCAPNG_MAGIC
