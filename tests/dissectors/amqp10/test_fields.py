"""The fields of hot performatives: numbers by place, and nothing that the tables must see."""

from __future__ import annotations

import pytest

from dissectors.amqp10.fields import MAX_FIELDS, Fields, layout
from dissectors.amqp10.octets import cut

PLACES = layout("uint", "boolean", "ubyte", "binary", "state")
ACCEPTED, RELEASED = 0x24, 0x26


def short_list(*items: bytes) -> bytes:
    body = b"".join(items)
    return bytes((0xC0, len(body) + 1, len(items))) + body


def long_list(*items: bytes) -> bytes:
    body = b"".join(items)
    return b"\xd0" + (len(body) + 4).to_bytes(4, "big") + len(items).to_bytes(4, "big") + body


def read(octets: bytes) -> tuple[int, list[int]]:
    """Where the list ends and its numbers, with octets around it that are not part of it."""
    fields = Fields()
    fields.read(b"\xc0\x02\x01\x43", 0, 4, layout("uint"))
    end = fields.read(b"?" + octets + b"?", 1, 1 + len(octets), PLACES)
    return end, list(fields.numbers[:5])


@pytest.mark.parametrize("make", [short_list, long_list])
@pytest.mark.parametrize(
    ("items", "numbers"),
    [
        ((b"\x43",), [0, -1, -1, -1, -1]),
        ((b"\x52\xff", b"\x41"), [255, 1, -1, -1, -1]),
        ((b"\x70\xff\xff\xff\xff", b"\x42", b"\x50\x01"), [0xFFFFFFFF, 0, 1, -1, -1]),
        ((b"\x40", b"\x56\x01"), [-1, 1, -1, -1, -1]),
        ((b"\x40", b"\x56\x00", b"\x40", b"\x40", b"\x40"), [-1, 0, -1, -1, -1]),
        ((b"\x40",) * 4 + (b"\x00\x53\x24\x45",), [-1, -1, -1, -1, ACCEPTED]),
        ((b"\x40",) * 4 + (b"\x00\x53\x26\xc0\x01\x00",), [-1, -1, -1, -1, RELEASED]),
        ((b"\x40",) * 4 + (b"\x00\x80" + bytes(7) + b"\x24\x45",), [-1, -1, -1, -1, ACCEPTED]),
    ],
)
def test_fields_are_told_by_place(make, items: tuple[bytes, ...], numbers: list[int]) -> None:
    octets = make(*items)
    assert read(octets) == (1 + len(octets), numbers)


@pytest.mark.parametrize("tag", [b"", b"\x07", b"a tag of up to 32 octets........"])
def test_a_binary_is_told_by_its_place(tag: bytes) -> None:
    octets = b"?" + short_list(b"\x43", b"\x41", b"\x50\x00", b"\xa0" + bytes((len(tag),)) + tag)
    fields = Fields()
    assert fields.read(octets, 1, len(octets), PLACES) == len(octets)
    at = fields.numbers[3]
    assert cut(octets, at, at + octets[at - 1]) == tag


@pytest.mark.parametrize(
    "items",
    [
        (b"\x41",),  # another type
        (b"\x60\x00\x01",),
        (b"\x43", b"\x56\x02"),  # no boolean
        (b"\x40",) * 3 + (b"\xb0\x00\x00\x00\x01?",),
        (b"\x40",) * 4 + (b"\x00\x53\x25\x45",),  # rejected
        (b"\x40",) * 4 + (b"\x00\x53\x24\xc0\x02\x01\x40",),  # an outcome that says more
        (b"\x40",) * 6,  # more fields than there are
        (),
    ],
)
def test_the_rest_is_left_to_the_tables(items: tuple[bytes, ...]) -> None:
    assert read(short_list(*items))[0] == -1
    assert read(long_list(*items))[0] == -1


def test_nothing_is_read_behind_the_list_or_the_buffer() -> None:
    items = (b"\x70\0\0\0\7", b"\x56\x01", b"\x50\1", b"\xa0\2ab", b"\x00\x53\x24\xc0\x01\x00")
    fields = Fields()
    for whole in (short_list(*items), long_list(*items)):
        for size in range(len(whole)):
            assert fields.read(whole[:size], 0, size, PLACES) == -1
            assert fields.read(whole[:size], 0, len(whole), PLACES) == -1
        # The list claims to be longer or shorter than its items are.
        place = 1 if whole[0] == 0xC0 else 4
        for claimed in range(256):
            if claimed != whole[place]:
                bent = whole[:place] + bytes((claimed,)) + whole[place + 1 :] + b"\x40"
                assert fields.read(bent, 0, len(bent), PLACES) == -1
    assert fields.read(short_list(b"\x43"), -1, 4, PLACES) == -1


def test_a_layout_has_no_more_fields_than_there_is_room_for() -> None:
    with pytest.raises(AssertionError):
        layout(*["uint"] * (MAX_FIELDS + 1))
