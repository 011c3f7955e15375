"""What counts between two 1.0 performatives, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from replay.fields10 import flat_fields, shape


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        # Stating a default is saying nothing (1.0 §2.7.3, §3.5.3).
        ("attach", {"snd-settle-mode": "mixed", "rcv-settle-mode": "first"}, {}),
        (
            "attach",
            {"source": {"$type": "source", "address": "q", "durable": "none", "timeout": 0}},
            {"source": {"$type": "source", "address": "q"}},
        ),
        ("detach", {"closed": False}, {"closed": None}),
        (
            "attach",
            {"name": "8c7f3c52-1234-4abc-8def-0123456789ab-q"},
            {"name": "00000000-aaaa-4bbb-8ccc-ddddeeeeffff-q"},
        ),
    ],
)
def test_the_same(name: str, one: dict[str, Any], other: dict[str, Any]) -> None:
    assert flat_fields(name, one) == flat_fields(name, other)


def test_a_difference_is_named_by_its_field() -> None:
    one = {"error": {"$type": "error", "condition": "amqp:not-found", "description": "no q"}}
    other = {"error": {"$type": "error", "condition": "amqp:not-found", "description": "no r"}}
    flat = [flat_fields("end", fields) for fields in (one, other)]
    assert [key for key in flat[0] if flat[0][key] != flat[1].get(key)] == ["error.description"]
    assert flat_fields("end", {}) != flat[0]


def test_a_terminus_that_is_not_there_is_a_difference() -> None:
    assert flat_fields("attach", {"target": {"$type": "target"}}) != flat_fields("attach", {})


def test_shapes() -> None:
    assert shape("reply-17") == shape("reply-4")
    assert shape("orders") != shape("events")
