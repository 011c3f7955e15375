"""Unsettled deliveries by id: what a dict that keeps its order would give, however ids fall."""

from __future__ import annotations

import random

import pytest

from dissectors.amqp10.delivery import new_delivery
from dissectors.amqp10.unsettled import FIRST_PLACES, Unsettled

#: Ids as peers give them, across the wrap (1.0 §2.8.10), and as only a hostile one would.
STRIDES = {"consecutive": 1, "odd": 37, "one place": FIRST_PLACES, "one place of many": 1 << 20}


@pytest.mark.parametrize("stride", STRIDES.values(), ids=STRIDES)
@pytest.mark.parametrize("first", [0, 0xFFFFFF00])
@pytest.mark.parametrize("most", [1, 50, 1500])
def test_all_are_found_and_in_their_order(stride: int, first: int, most: int) -> None:
    chance = random.Random(stride + first + most)
    unsettled, model = Unsettled(), {}
    for number in range(3 * most + 20):
        delivery = new_delivery(number, 0)
        delivery.delivery_id = (first + number * stride) & 0xFFFFFFFF
        assert unsettled.get(delivery.delivery_id) is None
        unsettled.add(delivery)
        model[delivery.delivery_id] = delivery
        while len(model) > most:
            gone = chance.choice(list(model)) if number % 7 == 0 else next(iter(model))
            if gone == next(iter(model)):
                assert unsettled.oldest() is model[gone]
            del model[gone]
            assert unsettled.drop(gone) and not unsettled.drop(gone)
            assert unsettled.get(gone) is None
        assert len(unsettled) == len(model)
    assert unsettled.deliveries() == list(model.values())
    assert all(unsettled.get(i) is d for i, d in model.items())


def test_there_is_no_oldest_of_none() -> None:
    unsettled = Unsettled()
    assert unsettled.oldest() is None
    unsettled.add(new_delivery(1, 0))
    unsettled.drop(unsettled.oldest().delivery_id)
    assert unsettled.oldest() is None and unsettled.deliveries() == []
