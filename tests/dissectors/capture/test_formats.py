"""Every file format: byte orders, time resolutions, sections, interfaces, compression, stdin."""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from tests.dissectors.capture.build import (
    T0,
    T0_NS,
    Blocks,
    Problems,
    ethernet,
    ipv4,
    micros,
    pcap,
    pcapng,
    read_all,
)

DATAS = [b"first", b"second packet", b"", b"x" * 3000]
EXPECTED = [(T0_NS + i * 1_000_000, i + 1, data) for i, data in enumerate(DATAS)]


def check(tmp_path: Path, content: bytes, expected: list) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert read_all(path) == (expected, [])


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B2CD34])
def test_pcap_microseconds(tmp_path, order, magic):
    check(tmp_path, pcap(micros(*DATAS), order=order, magic=magic), EXPECTED)


@pytest.mark.parametrize("order", "<>")
def test_pcap_nanoseconds(tmp_path, order):
    content = pcap([(T0_NS + 123456789, b"data")], order=order, magic=0xA1B23C4D)
    check(tmp_path, content, [(T0_NS + 123456789, 1, b"data")])


@pytest.mark.parametrize("order", "<>")
def test_pcapng(tmp_path, order):
    check(tmp_path, pcapng(*DATAS, order=order), EXPECTED)


@pytest.mark.parametrize(
    ("options", "ticks", "time_ns"),
    [
        ({}, T0 * 10**6 + 5, T0_NS + 5000),
        ({9: b"\x09"}, T0_NS + 5, T0_NS + 5),
        ({9: b"\x03"}, T0 * 1000 + 5, T0_NS + 5_000_000),
        ({9: b"\x00"}, T0, T0_NS),
        ({9: b"\x0c"}, 5_000_000_000_123, 5_000_000_000),
        ({9: b"\x80"}, T0, T0_NS),
        ({9: b"\x8a"}, (T0 << 10) + 512, T0_NS + 500_000_000),
        ({9: b"\xa0"}, (T0 << 32) + (1 << 30), T0_NS + 250_000_000),
        ({14: struct.pack("<q", T0)}, 5, T0_NS + 5000),
        ({9: b"\x8a", 14: struct.pack("<q", T0)}, 512, T0_NS + 500_000_000),
        ({14: struct.pack("<q", -10)}, T0 * 10**6, T0_NS - 10**10),
        ({9: b"\x06", 2: b"eth0"}, T0 * 10**6, T0_NS),
        ({}, 2**64 - 1, 2**63 - 1),
        ({9: b"\x09"}, 2**64 - 1, 2**63 - 1),
    ],
)
def test_pcapng_clocks(tmp_path, options, ticks, time_ns):
    b = Blocks()
    content = b.section() + b.interface(options=options) + b.enhanced(ticks, b"data")
    check(tmp_path, content, [(time_ns, 1, b"data")])


def test_pcapng_sections_interfaces_and_all_packet_blocks(tmp_path):
    little, big = Blocks("<"), Blocks(">")
    content = (
        little.section()
        + little.block(5, bytes(8))  # statistics
        + little.interface()
        + little.interface(options={9: b"\x09"})
        + little.enhanced(T0 * 10**6, b"one")
        + little.enhanced(T0_NS + 1, b"two", number=1)
        + little.block(0x0BAD, bytes(40))
        + little.obsolete(T0_NS + 2, b"three", number=1)
        + little.simple(b"four!")
        + big.section()
        + big.interface(options={9: b"\x03"}, snap=4)
        + big.enhanced(T0 * 1000 + 1, b"five")
        + big.simple(b"six+", wire=900)
    )
    expected = [
        (T0_NS, 1, b"one"),
        (T0_NS + 1, 2, b"two"),
        (T0_NS + 2, 3, b"three"),
        (T0_NS + 2, 4, b"four!"),
        (T0_NS + 1_000_000, 5, b"five"),
        (T0_NS + 1_000_000, 6, b"six+"),
    ]
    check(tmp_path, content, expected)


def test_link_types_follow_the_interface(tmp_path):
    b = Blocks()
    path = tmp_path / "links.pcapng"
    path.write_bytes(
        b.section()
        + b.interface(link=1)
        + b.interface(link=113)
        + b.interface(link=147, options={2: b"odd0"})
        + b"".join(b.enhanced(T0 * 10**6 + i, b"data", number=i % 3) for i in range(9))
    )
    from dissectors.capture import open_packets

    problems = Problems()
    source = open_packets([path], problems)
    seen = []
    while source.advance():
        seen.append(source.link_type)
    assert seen == [1, 113, 147] * 3
    assert [(code, detail) for code, detail, _ in problems] == [
        ("capture.unknown_link_type", "interface 2 odd0 has link type 147")
    ]


def test_decryption_secrets_are_collected(tmp_path):
    from dissectors.capture import open_packets

    b = Blocks(">")
    path = tmp_path / "keys.pcapng"
    key_line = b"CLIENT_RANDOM 00 11\n"
    path.write_bytes(
        b.section() + b.interface() + b.secrets(key_line) + b.secrets(b"wg", 0x57474B4C)
        + b.enhanced(1, b"data")
    )  # fmt: skip
    source = open_packets([path], Problems())
    assert source.advance()
    assert source.secrets == [key_line]


def several_members(content: bytes) -> bytes:
    return gzip.compress(content[:50]) + gzip.compress(content[50:]) + bytes(512)


def several_frames(content: bytes) -> bytes:
    compress = zstandard.ZstdCompressor().compress
    skippable = b"\x50\x2a\x4d\x18" + struct.pack("<I", 4) + b"skip"
    return skippable + compress(content[:50]) + compress(content[50:])


@pytest.mark.parametrize("pack", [gzip.compress, several_members, several_frames])
@pytest.mark.parametrize("build", [lambda: pcap(micros(*DATAS)), lambda: pcapng(*DATAS)])
def test_compressed(tmp_path, pack, build):
    check(tmp_path, pack(build()), EXPECTED)


def test_records_longer_than_a_block_cross_windows(tmp_path):
    datas = [bytes([i]) * (200_000 + i) for i in range(20)]
    expected = [(T0_NS + i * 1_000_000, i + 1, data) for i, data in enumerate(datas)]
    check(tmp_path, pcap(micros(*datas)), expected)
    check(tmp_path, pcapng(*datas), expected)


class Trickle(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read1(self, _size: int) -> bytes:
        given, self.content = self.content[:7], self.content[7:]
        return given


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_stdin_in_small_pieces(monkeypatch, pack):
    class Stdin:
        buffer = Trickle(pack(pcap(micros(*DATAS))))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert read_all("-") == (EXPECTED, [])


def test_packets_of_a_live_pipe_come_before_its_end():
    script = (
        "from dissectors.capture import open_packets\n"
        "source = open_packets(['-'], print)\n"
        "source.advance(); print(source.packet_no, flush=True)\n"
    )
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(pcap(micros(ethernet(ipv4()))))
    process.stdin.flush()
    assert process.stdout.readline() == b"1\n"
    process.communicate(timeout=30)
