"""The quick readers: values and extents as 1.0 §1.6 has them, and nothing past the end."""

from __future__ import annotations

import pytest

from dissectors.amqp10.octets import (
    cut,
    is_ascii,
    is_same,
    list_count,
    read_code,
    skip_value,
    take_boolean,
    take_uint,
)


@pytest.mark.parametrize(
    ("octets", "number"),
    [
        (b"\x40", -1),
        (b"\x43", 0),
        (b"\x52\x00", 0),
        (b"\x52\xff", 255),
        (b"\x70\x00\x00\x00\x07", 7),
        (b"\x70\xff\xff\xff\xff", 0xFFFFFFFF),
    ],
)
def test_a_uint_tells_its_number_and_extent(octets: bytes, number: int) -> None:
    taken = take_uint(b"?" + octets + b"?", 1, 2 + len(octets))
    assert (taken >> 3, taken & 7) == (number, len(octets))
    for end in range(1, 1 + len(octets)):
        assert take_uint(b"?" + octets, 1, end) == 0


@pytest.mark.parametrize(
    ("octets", "flag"),
    [(b"\x40", -1), (b"\x41", 1), (b"\x42", 0), (b"\x56\x00", 0), (b"\x56\x01", 1)],
)
def test_a_boolean_tells_its_value_and_extent(octets: bytes, flag: int) -> None:
    taken = take_boolean(octets + b"?", 0, 1 + len(octets))
    assert (taken >> 3, taken & 7) == (flag, len(octets))
    for end in range(len(octets)):
        assert take_boolean(octets, 0, end) == 0


@pytest.mark.parametrize("octets", [b"\x41", b"\x60\x00\x01", b"\x80" + bytes(8), b"\x00\x53\x24"])
def test_other_types_are_left_to_the_tables(octets: bytes) -> None:
    assert take_uint(octets, 0, len(octets)) == 0
    if octets != b"\x41":
        assert take_boolean(octets, 0, len(octets)) == 0
    assert take_boolean(b"\x56\x02", 0, 2) == 0


@pytest.mark.parametrize(("start", "stop"), [(0, 5), (2, 2), (1, 4), (3, 9), (4, 2)])
def test_a_cut_is_a_slice(start: int, stop: int) -> None:
    assert cut(b"abcde", start, stop) == b"abcde"[start:stop]


def test_ascii_is_told_from_other_text() -> None:
    assert is_ascii(b"", 0, 0) and is_ascii(bytes(range(128)), 0, 128)
    assert not is_ascii("größer".encode(), 0, 8) and not is_ascii(b"abc\x80", 0, 4)
    assert is_ascii(b"\x80abc\x80", 1, 4)


def test_the_known_is_told_from_the_new() -> None:
    assert is_same(b"abcde", 1, 3, b"bc") and is_same(b"abc", 2, 2, b"")
    assert not is_same(b"abcde", 1, 3, b"bd") and not is_same(b"abcde", 1, 4, b"bc")
    assert not is_same(b"abc", 1, 4, b"bcd")


@pytest.mark.parametrize("code", range(256))
def test_no_value_ends_behind_the_buffer(code: int) -> None:
    """Wherever a buffer is cut, whatever end is claimed for it."""
    value = bytes((code,)) + b"\x02\x00\x00\x00" + bytes(20)
    for size in range(len(value) + 1):
        buf = value[:size]
        for at in (-1, 0, size - 1, size):
            for end in (size, size + 1, 1 << 40):
                assert skip_value(buf, at, end, 0) <= size
                if end > size or at < 0:
                    assert (take_uint(buf, at, end), take_boolean(buf, at, end)) == (0, 0)
                    assert (read_code(buf, at, end), list_count(buf, at, end)) == (-1, -1)
