"""Transfers that wait, by tag: what a dict would give, however tags fall."""

from __future__ import annotations

import random

import pytest

from dissectors.amqp09.transfers import Transfer, new_transfer
from dissectors.amqp09.waiting import FIRST_PLACES, Waiting

# Tags as brokers give them, and as only a hostile one would.
STRIDES = {"consecutive": 1, "odd": 37, "one place": FIRST_PLACES, "one place of many": 1 << 40}
MOST_TAG = 0xFFFFFFFFFFFFFFFF


def transfer(number: int, tag: int) -> Transfer:
    t = new_transfer(number, 0, 0)
    t.tag = tag
    return t


@pytest.mark.parametrize("stride", STRIDES.values(), ids=STRIDES)
@pytest.mark.parametrize("most", [1, 40, 900])
def test_any_may_be_taken(stride: int, most: int) -> None:
    chance = random.Random(stride + most)
    waiting, model = Waiting(), {}
    for number in range(1, 3 * most + 20):
        t = transfer(number, number * stride)
        assert waiting.get(t.tag) is None and waiting.take(t.tag) is None
        waiting.put(t)
        model[t.tag] = t
        while len(model) > most:
            gone = chance.choice(list(model))
            assert waiting.take(gone) is model.pop(gone)
            assert waiting.get(gone) is None
        assert waiting.count == len(model)
    assert waiting.transfers() == list(model.values())
    assert all(waiting.get(tag) is t for tag, t in model.items())


@pytest.mark.parametrize("stride", STRIDES.values(), ids=STRIDES)
@pytest.mark.parametrize("last", [0, 5, 60, 100, 200])
def test_all_up_to_a_tag(stride: int, last: int) -> None:
    waiting = Waiting()
    for number in range(1, 101):
        waiting.put(transfer(number, number * stride))
    taken = waiting.take_up_to(stride, last * stride)
    assert [t.transfer_id for t in taken] == list(range(1, min(last, 100) + 1))
    assert [t.transfer_id for t in waiting.transfers()] == list(range(last + 1, 101))


def test_the_highest_tag_takes_all() -> None:
    waiting = Waiting()
    for tag in (1, 2, MOST_TAG):
        waiting.put(transfer(waiting.count + 1, tag))
    assert [t.tag for t in waiting.take_up_to(1, MOST_TAG)] == [1, 2, MOST_TAG]
    assert waiting.count == 0


@pytest.mark.parametrize("tag", [1, 1 + FIRST_PLACES], ids=["in its place", "among others"])
def test_a_tag_waits_once(tag: int) -> None:
    waiting = Waiting()
    waiting.put(transfer(1, 1))
    waiting.put(transfer(2, tag))
    again = transfer(3, tag)
    waiting.put(again)
    assert waiting.get(tag) is again and waiting.count == len(waiting.transfers())
    waiting.take(1)
    waiting.put(transfer(4, tag))
    assert [t.transfer_id for t in waiting.transfers()] == [4]


def test_the_oldest_goes_first() -> None:
    waiting = Waiting()
    for number, tag in enumerate([7, 3, 40, 3 + FIRST_PLACES, 1], 1):
        waiting.put(transfer(number, tag))
    assert waiting.take_oldest().tag == 7
    waiting.take(40)
    waiting.put(transfer(6, 7))
    assert [waiting.take_oldest().transfer_id for _ in range(4)] == [2, 4, 5, 6]
    assert waiting.take_oldest() is None and waiting.count == 0
