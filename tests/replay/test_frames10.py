"""Frames in pieces: one field changed, all others as they were; cuts; names in messages."""

from __future__ import annotations

from typing import Any

import pytest
from proton import Message

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.frames import encode_frame
from replay.engine10.content import Names, body_hash, digest_of
from replay.engine10.frame import UNREADABLE, Frame, make_frame
from replay.engine10.octets import (
    NULL,
    read_composite,
    text_of,
    uint_of,
    with_binary,
    with_text,
    with_uint,
)
from replay.engine10.outgoing import runs
from replay.engine10.semantic import shortest
from replay.engine10.split import split_transfer
from replay.script import read_script
from tests.replay.script10 import message
from tests.samples import manifest, sample


def encoded(**fields: Any) -> bytes:
    """A message in proton's encoding."""
    return bytes(Message(**fields).encode())


SAMPLES_10 = [entry["file"] for entry in manifest() if "_10_" in entry["file"]]


@pytest.mark.parametrize("name", SAMPLES_10)
def test_every_captured_frame_comes_back_as_it_was(name: str) -> None:
    count = 0
    for conversation in read_script(sample(name)).connections:
        for step in conversation.steps:
            frame = Frame(step.octets)
            if frame.performative is None:
                continue
            count += 1
            assert frame.with_fields({}) == step.octets
            assert frame.performative.octets() == step.octets[frame.body : frame.payload_start]
            # Every item put back in its own place, as if it were new.
            assert frame.with_fields({}, frame.payload) == step.octets
    assert count or "snaplen" in name


# A transfer with a symbolic descriptor, a list32, wide numbers and an extended header: 1.0 allows
# all of it, and none of it may change when the delivery-id does.
WIDE_BODY = (
    b"\x00\xa3\x12amqp:transfer:list\xd0\x00\x00\x00\x11\x00\x00\x00\x03"
    b"\x70\x00\x00\x00\x02" b"\x70\x00\x00\x00\x07" b"\xa0\x01t" b"payload"
)  # fmt: skip


def test_one_field_changes_and_nothing_else() -> None:
    octets = encode_frame(WIDE_BODY, 3, extended_header=b"abcd")
    frame = Frame(octets)
    assert (frame.name, frame.channel, frame.uint("delivery-id")) == ("transfer", 3, 7)
    changed = frame.with_fields({"delivery-id": with_uint(frame.raw("delivery-id"), 8)})
    assert changed == octets.replace(b"\x00\x00\x00\x07\xa0", b"\x00\x00\x00\x08\xa0")


def test_a_field_that_was_left_out_is_put_in_its_place() -> None:
    frame = Frame(make_frame("flow", {"incoming-window": 1, "next-outgoing-id": 2,
                                      "outgoing-window": 3}))  # fmt: skip
    again = Frame(frame.with_fields({"link-credit": with_uint(NULL, 500)}))
    assert again.uint("link-credit") == 500
    assert again.raw("handle") == NULL
    assert again.uint("outgoing-window") == 3


def test_a_list_grows_beyond_its_short_form() -> None:
    frame = Frame(make_frame("open", {"container-id": "c"}))
    long = Frame(
        frame.with_fields({"container-id": with_text(frame.raw("container-id"), "x" * 300)})
    )
    assert long.text("container-id") == "x" * 300
    assert int.from_bytes(long.octets[:4], "big") == len(long.octets)


@pytest.mark.parametrize(
    ("before", "number", "after"),
    [
        (b"\x43", 0, b"\x43"),
        (b"\x43", 1, b"\x52\x01"),
        (b"\x52\x05", 0, b"\x52\x00"),
        (b"\x52\x05", 256, b"\x70\x00\x00\x01\x00"),
        (b"\x70\x00\x00\x00\x05", 6, b"\x70\x00\x00\x00\x06"),
        (b"\x40", 0, b"\x43"),
        (b"\x40", 9, b"\x52\x09"),
    ],
)
def test_numbers_keep_the_width_their_sender_chose(
    before: bytes, number: int, after: bytes
) -> None:
    assert with_uint(before, number) == after
    assert uint_of(after) == number


@pytest.mark.parametrize("constructor", [b"\xa1", b"\xb1", b"\xa3", b"\xb3"])
def test_texts_keep_their_type_and_width(constructor: bytes) -> None:
    width = 1 if constructor[0] < 0xB0 else 4
    octets = with_text(constructor + (1).to_bytes(width, "big") + b"x", "name")
    assert octets == constructor + (4).to_bytes(width, "big") + b"name"
    assert text_of(octets) == "name"
    assert len(with_binary(b"\xa0\x01x", bytes(300))) == 305


@pytest.mark.parametrize(
    "octets",
    [
        b"\x00\x00\x00\x0c\x02\x00\x00\x00\x00\x53\x14\xc0",
        b"\x00\x00\x00\x0d\x02\x00\x00\x00\x00\x53\x99\xc0\x01",
        b"\x00\x00\x00\x10\x02\x00\x00\x00\x00\x53\x14\xc0\x03\x05\x43\x43",
        b"\x00\x00\x00\x09\x02\x00\x00\x00\xff",
    ],
)
def test_malformed_frames_are_kept_as_they_are(octets: bytes) -> None:
    frame = Frame(octets)
    assert frame.name == UNREADABLE
    assert frame.octets == octets


def test_a_message_is_cut_to_the_live_frame_size_and_proton_joins_it() -> None:
    body = bytes(range(256)) * 20
    payload = encoded(body=body, inferred=True)
    fields = {"handle": 1, "delivery-id": 3, "delivery-tag": b"t", "message-format": 0}
    pieces = split_transfer(make_frame("transfer", fields, 2, payload=payload), 512)
    frames = [Frame(octets) for octets in pieces]
    assert all(len(octets) <= 512 for octets in pieces)
    assert [frame.flag("more") for frame in frames] == [True] * (len(frames) - 1) + [False]
    assert [frame.uint("delivery-id") for frame in frames] == [3] + [None] * (len(frames) - 1)
    assert {(frame.channel, frame.uint("handle")) for frame in frames} == {(2, 1)}
    joined = Message()
    joined.decode(b"".join(frame.payload for frame in frames))
    assert joined.body == body


def test_a_part_that_is_continued_stays_continued() -> None:
    frame = make_frame("transfer", {"handle": 0, "more": True}, payload=bytes(1500))
    frames = [Frame(octets) for octets in split_transfer(frame, 512)]
    assert all(piece.flag("more") for piece in frames)
    assert split_transfer(frame, 4096) == [frame]


def test_names_are_replaced_where_they_stand_alone_and_generated_ones_also_inside() -> None:
    names = Names()
    names.generated = {b"temp-queue-1": b"temp-queue-77777"}
    names.whole = {b"q": b"test.q"}
    before = encoded(
        body={"where": "amqp://host/temp-queue-1", "q": "q", "quiet": "quiet"},
        reply_to="temp-queue-1",
        address="q",
        properties={"back": "temp-queue-1", "n": 7},
        id="a q",
    )
    after = Message()
    after.decode(names.applied(before))
    assert after.reply_to == "temp-queue-77777"
    assert after.address == "test.q"
    assert after.id == "a q"
    assert after.properties == {"back": "temp-queue-77777", "n": 7}
    assert after.body == {
        "where": "amqp://host/temp-queue-77777", "test.q": "test.q", "quiet": "quiet"
    }  # fmt: skip
    assert names.reversed().applied(names.applied(before)) == before
    assert names.applied(message(b"nothing of it")) == message(b"nothing of it")


def test_a_message_is_recognised_by_what_no_broker_may_touch() -> None:
    one = encoded(body="x", id="1", priority=4)
    other = encoded(body="x", id="1", priority=9, annotations={"x-opt-seen": 1}, durable=True)
    assert digest_of(one) == digest_of(other)
    another = encoded(body="x", id="2", priority=4)
    assert digest_of(one) != digest_of(another)
    assert body_hash(one) == body_hash(another)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], []),
        ([4], [(4, 4)]),
        ([4, 5, 6], [(4, 6)]),
        ([4, 6, 7, 2], [(4, 4), (6, 7), (2, 2)]),
        ([0xFFFFFFFF, 0], [(0xFFFFFFFF, 0)]),
    ],
)
def test_ranges_of_live_ids(ids: list[int], expected: list[tuple[int, int]]) -> None:
    assert runs(ids) == expected


def test_the_shortest_encoding_means_the_same() -> None:
    octets = b"\x00\x80\x00\x00\x00\x00\x00\x00\x00\x24\xd0\x00\x00\x00\x04\x00\x00\x00\x00"
    value = STANDARD.types.decode(octets, 0, len(octets), [])
    assert STANDARD.types.encode(shortest(value)) == b"\x00\x53\x24\x45"
    assert read_composite(octets, 0, len(octets)) is not None
