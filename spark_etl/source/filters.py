"""Spark's filters as tests of one value: what can be decided while a packet is read."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

# Time range, addresses and ports; none of them is ever null.
COLUMNS = frozenset({"ts_ns", "packet_no", "src", "dst", "src_port", "dst_port", "capture"})
# Names in the module ``operator``: they travel to the workers better than functions.
_COMPARISONS: dict[type[Filter], str] = {
    EqualTo: "eq",
    GreaterThan: "gt",
    GreaterThanOrEqual: "ge",
    LessThan: "lt",
    LessThanOrEqual: "le",
}

Spec = tuple[str, str, Any]


def take_filters(filters: Iterable[Filter], taken: list[Spec]) -> Iterator[Filter]:
    """Note what we can test ourselves in ``taken``; the others are given back to Spark."""
    for item in filters:
        if isinstance(item, IsNotNull) and _column(item) is not None:
            continue
        spec = _spec(item)
        if spec is None:
            yield item
        else:
            taken.append(spec)


def make_tests(specs: Iterable[Spec]) -> dict[str, list[Callable[[Any], bool]]]:
    """Tests by column."""
    tests: dict[str, list[Callable[[Any], bool]]] = {}
    for column, name, value in specs:
        tests.setdefault(column, []).append(_test(name, value))
    return tests


def _spec(item: Filter) -> Spec | None:
    column = _column(item)
    if column is None:
        return None
    if isinstance(item, In):
        return column, "in", item.value
    name = _COMPARISONS.get(type(item))
    return None if name is None else (column, name, item.value)  # type: ignore[attr-defined]


def _column(item: Filter) -> str | None:
    attribute: tuple[str, ...] = getattr(item, "attribute", ())
    return attribute[0] if len(attribute) == 1 and attribute[0] in COLUMNS else None


def _test(name: str, wanted: Any) -> Callable[[Any], bool]:
    if name == "in":
        values = frozenset(wanted)
        return lambda value: value in values
    compare = getattr(operator, name)
    return lambda value: compare(value, wanted)
