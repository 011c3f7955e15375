"""Cut, damaged and foreign files: what is whole is kept, the rest is said, nothing raises."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import struct

import pytest
import zstandard

from dissectors.capture import open_packets
from dissectors.capture.decap import PacketView
from tests.dissectors.capture.build import (
    T0,
    Blocks,
    Problems,
    ethernet,
    ipv4,
    ipv6,
    micros,
    pcap,
    pcapng,
    read_all,
    tcp_segment,
)

PACKETS = [ethernet(ipv4(tcp_segment(bytes([i]) * 40, seq=i))) for i in range(12)]
BUILDS = {
    "pcap": pcap(micros(*PACKETS)),
    "pcap-big": pcap(micros(*PACKETS), order=">"),
    "pcapng": pcapng(*PACKETS),
    "pcapng-big": pcapng(*PACKETS, order=">"),
}
PACKS = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}


def numbers(rows: list) -> list[int]:
    """Which of PACKETS were read."""
    return [PACKETS.index(data) for _, _, data in rows]


@pytest.mark.parametrize("name", BUILDS)
def test_cut_at_every_byte(tmp_path, name):
    content = BUILDS[name]
    path = tmp_path / "cut"
    for size in range(len(content)):
        path.write_bytes(content[:size])
        rows, problems = read_all(path)
        assert numbers(rows) == list(range(len(rows)))
        if size < 4:
            assert problems.codes in (["capture.empty"], ["capture.unknown_format"])
        elif rows and problems:
            assert problems.codes == ["capture.truncated"]
            # What was not given as packets is what the problem says.
            assert 0 < problems[0][2]["bytes_affected"] < len(PACKETS[0]) + 40
    assert len(rows) == len(PACKETS) - 1


@pytest.mark.parametrize("pack", PACKS)
def test_compressed_cut_at_every_byte(tmp_path, pack):
    content = PACKS[pack](BUILDS["pcap"])
    path = tmp_path / "cut"
    for size in range(5, len(content)):
        path.write_bytes(content[:size])
        rows, problems = read_all(path)
        assert numbers(rows) == list(range(len(rows)))
        assert "capture.bad_compression" in problems.codes


@pytest.mark.parametrize("pack", PACKS)
def test_damaged_compression_keeps_what_came_out(tmp_path, pack):
    noise = random.Random(1).randbytes
    packets = [ethernet(ipv4(tcp_segment(noise(1000)))) for _ in range(3000)]
    content = bytearray(PACKS[pack](pcap(micros(*packets))))
    content[len(content) // 2 : len(content) // 2 + 40] = b"\xff" * 40
    path = tmp_path / "damaged"
    path.write_bytes(content)
    rows, problems = read_all(path)
    if pack == "zstd":  # incompressible blocks are stored: only the frame's lengths can tell
        assert len(rows) >= 1000
    else:
        assert len(rows) >= 1000
        assert "capture.bad_compression" in problems.codes


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("length", [0xFFFFFFFF, 300_000, 30, 5000])
def test_pcap_record_with_a_wrong_length(tmp_path, order, length):
    content = bytearray(pcap(micros(*PACKETS), order=order))
    record = 16 + len(PACKETS[0])
    at = 24 + 5 * record
    struct.pack_into(order + "I", content, at + 8, length)
    path = tmp_path / "bad.pcap"
    path.write_bytes(content)
    rows, problems = read_all(path)
    kept = [PACKETS.index(data) for _, _, data in rows if data in PACKETS]
    # The damaged one may come out short; all the others are there.
    assert [n for n in range(12) if n not in kept] == [5]
    assert problems.codes == ["capture.bad_block"]


def test_pcap_garbage_between_records(tmp_path):
    content = BUILDS["pcap"]
    at = 24 + 5 * (16 + len(PACKETS[0]))
    path = tmp_path / "bad.pcap"
    path.write_bytes(content[:at] + b"\xa5" * 1001 + content[at:])
    rows, problems = read_all(path)
    assert numbers(rows) == list(range(12))
    assert [(c, w["bytes_affected"]) for c, _, w in problems] == [("capture.bad_block", 1001)]


def test_pcap_odd_fractions_are_believed_when_the_records_go_on(tmp_path):
    """Some writers put nanoseconds under the magic number of microseconds."""
    content = bytearray(pcap(micros(*PACKETS)))
    for i in range(12):
        struct.pack_into("<I", content, 24 + i * (16 + len(PACKETS[0])) + 4, 2_000_000 + i)
    path = tmp_path / "odd.pcap"
    path.write_bytes(content)
    rows, problems = read_all(path)
    assert numbers(rows) == list(range(12)) and not problems


def test_an_idle_month_is_no_damage(tmp_path):
    times = [T0 + i * 30 * 86400 for i in range(5)]
    path = tmp_path / "idle.pcap"
    path.write_bytes(pcap([(t * 10**6, PACKETS[0]) for t in times]))
    rows, problems = read_all(path)
    assert [ts // 10**9 for ts, _, _ in rows] == times and not problems


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("where", ["first length", "last length", "garbage"])
def test_pcapng_broken_block(tmp_path, order, where):
    b = Blocks(order)
    blocks = [b.enhanced(time, data) for time, data in micros(*PACKETS)]
    broken = bytearray(blocks[5])
    if where == "garbage":
        broken += b"\xa5" * 33
    else:
        struct.pack_into(order + "I", broken, 4 if where == "first length" else -4 % len(broken), 7)
    blocks[5] = bytes(broken)
    path = tmp_path / "bad.pcapng"
    path.write_bytes(b.section() + b.interface() + b"".join(blocks))
    rows, problems = read_all(path)
    missing = [] if where == "garbage" else [5]
    assert numbers(rows) == [n for n in range(12) if n not in missing]
    assert problems.codes == ["capture.bad_block"]


def test_pcapng_content_that_cannot_be_right_costs_one_block(tmp_path):
    b = Blocks()
    too_long = struct.pack("<5I", 0, 0, 0, 500, 500) + bytes(8)
    path = tmp_path / "bad.pcapng"
    path.write_bytes(
        b.section() + b.interface() + b.enhanced(1, PACKETS[0]) + b.enhanced(2, b"x", number=9)
        + b.block(6, too_long) + b.block(6, b"tiny") + b.enhanced(3, PACKETS[1])
    )  # fmt: skip
    rows, problems = read_all(path)
    assert numbers(rows) == [0, 1]
    assert problems.codes == ["capture.bad_block"] * 3


def test_many_broken_places_are_summed_up(tmp_path):
    b = Blocks()
    path = tmp_path / "bad.pcapng"
    path.write_bytes(b.section() + b.interface() + b.block(6, b"tiny") * 500)
    _, problems = read_all(path)
    assert len(problems) == 101
    assert problems[-1][1] == "400 more broken places"


@pytest.mark.parametrize(
    ("content", "code", "readable"),
    [
        (b"", "capture.empty", 0),
        (b"this is a text file\n" * 20, "capture.unknown_format", 0),
        (gzip.compress(b"text in gzip", mtime=0), "capture.unknown_format", 0),
        (pcap([]), "capture.no_packets", 1),
        (pcapng(), "capture.no_packets", 1),
        (pcap([])[:10], "capture.truncated", 0),
        (b"\x1f\x8b broken", "capture.bad_compression", 0),
    ],
)
def test_files_without_packets(tmp_path, content, code, readable):
    path = tmp_path / "file"
    path.write_bytes(content)
    problems = Problems()
    source = open_packets([path], problems)
    assert not source.advance()
    source.close()
    assert (problems.codes, source.readable_count) == ([code], readable)


def test_unknown_link_type_is_said_once(tmp_path):
    path = tmp_path / "odd.pcap"
    path.write_bytes(pcap(micros(b"a", b"b", b"c"), link=147))
    rows, problems = read_all(path)
    assert len(rows) == 3 and problems.codes == ["capture.unknown_link_type"]


def test_a_decompression_bomb_gives_bounded_blocks(tmp_path):
    from dissectors.capture.streams import open_stream

    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(pcap([]) + bytes(200_000_000), compresslevel=6))
    sizes = []
    with open_stream(str(path)) as stream:
        while block := stream.read():
            sizes.append(len(block))
    assert sum(sizes) > 200_000_000 and max(sizes) < 20_000_000


def mutate(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(data))
        action = chance.randrange(4)
        if action == 0:
            data[at] = chance.randrange(256)
        elif action == 1:
            del data[at : at + chance.randint(1, 40)]
        elif action == 2:
            data[at:at] = chance.randbytes(chance.randint(1, 40))
        else:
            data[at : at + 4] = chance.choice([b"\xff" * 4, bytes(4), b"\0\0\1\0", b"\7\0\0\0"])
        if not data:
            return b""
    return bytes(data)


@pytest.mark.parametrize("name", [*BUILDS, *PACKS])
def test_mutated_files_never_raise(tmp_path, name):
    chance = random.Random(name)
    packed = PACKS[name](BUILDS["pcap"]) if name in PACKS else BUILDS[name]
    path = tmp_path / "mutated"
    view = PacketView(Problems())
    for _ in range(400):
        path.write_bytes(mutate(packed, chance))
        source = open_packets([path], Problems())
        while source.advance():
            assert 0 <= source.start <= source.end <= len(source.buf)
            assert 0 <= source.ts_ns < 1 << 63
            found = view.locate(
                source.buf, source.start, source.end, source.wire_length, source.link_type, 0
            )
            assert found in (-1, 0, 1)
        source.close()


@pytest.mark.parametrize("link", [0, 1, 9, 12, 51, 101, 108, 113, 228, 229, 276])
def test_mutated_packets_never_raise(link):
    chance = random.Random(link)
    view = PacketView(Problems())
    starts = [ethernet(ipv4()), ethernet(ipv6(), 0x86DD), ipv4(), ipv6(), b"\x88\x47" * 30]
    for _ in range(3000):
        packet = mutate(chance.choice(starts), chance)
        wire = len(packet) + chance.randrange(100)
        found = view.locate(packet, 0, len(packet), wire, link, chance.randrange(10**12))
        assert found in (-1, 0, 1)
        if found == 1:
            assert 0 <= view.payload_start <= view.payload_end <= len(view.buf)
            assert view.missing >= 0


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (lzma.compress(BUILDS["pcap"]), "compressed with xz: unpack it first"),
        (bz2.compress(BUILDS["pcap"]), "compressed with bzip2: unpack it first"),
        (gzip.compress(gzip.compress(BUILDS["pcap"])), "compressed twice: unpack it once"),
        (b"snoop\0\0\0", "editcap -F pcapng"),
        (b"hello, world", "neither pcap nor pcapng"),
    ],
    ids=["xz", "bzip2", "gzip twice", "snoop", "text"],
)
def test_what_is_no_capture_is_named(tmp_path, start: bytes, said: str) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(start)
    _, problems = read_all(path)
    ((code, detail, _),) = problems
    assert code == "capture.unknown_format"
    assert said in detail
