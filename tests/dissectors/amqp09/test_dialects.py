"""The dialect tables: what differs between them, and what an overlay may not do."""

from __future__ import annotations

import pytest

from dissectors.amqp09.dialects import RECIPES, load_dialect, vendor_of
from dissectors.amqp09.schema import (
    BOTH,
    CLIENT,
    SERVER,
    ClassSpec,
    DialectConflictError,
    MethodSpec,
    Overlay,
    compile_dialect,
)
from dissectors.amqp09.values import TYPES

BASE = (ClassSpec(10, "a", (MethodSpec(1, "x", SERVER, "n:short"),), "p:octet"),)


@pytest.mark.parametrize("recipe", RECIPES)
def test_types_and_answers_are_defined(recipe: tuple[str, str]) -> None:
    dialect = load_dialect(*recipe)
    for method in dialect.methods.values():
        assert all(a.type in TYPES | {"bit"} for a in method.arguments)
        for answer in method.responses:
            assert f"{method.class_name}.{answer}" in dialect.by_name
    for class_id, properties in dialect.properties.items():
        assert class_id in dialect.class_names
        assert all(a.type in TYPES | {"bit"} for a in properties)


# (dialect, vendor, class, method, name): the same numbers mean different things
SAME_NUMBERS = [
    ("0-8", "", 10, 60, "connection.close"),
    ("0-9-1", "rabbitmq", 10, 60, "connection.blocked"),
    ("0-8", "", 10, 50, "connection.redirect"),
    ("0-9", "", 10, 50, "connection.close"),
    ("0-9", "", 10, 42, "connection.redirect"),
    ("0-8", "", 10, 61, "connection.close-ok"),
    ("0-9-1", "", 10, 61, "connection.unblocked"),
    ("0-8", "", 120, 10, "test.integer"),
    ("0-9", "", 120, 10, "message.transfer"),
    ("0-8", "", 60, 100, "basic.recover-async"),
    ("0-8", "qpid", 60, 100, "basic.recover"),
    ("0-9-1", "", 60, 100, "basic.recover-async"),
    ("0-9", "", 60, 100, "basic.recover"),
    ("0-9-1", "", 60, 110, "basic.recover"),
    ("0-9", "", 60, 102, "basic.recover-sync"),
    ("0-9-1", "", 40, 51, "exchange.unbind-ok"),
    ("0-9", "rabbitmq", 85, 10, "confirm.select"),
    ("0-9", "", 101, 20, "dtx-demarcation.start"),
]


@pytest.mark.parametrize(("name", "vendor", "class_id", "method_id", "expected"), SAME_NUMBERS)
def test_numbers_by_dialect(
    name: str, vendor: str, class_id: int, method_id: int, expected: str
) -> None:
    assert load_dialect(name, vendor).method_name(class_id, method_id) == expected


def test_arguments_differ_by_dialect() -> None:
    def arguments(name: str, method: str) -> list[str]:
        return [a.name for a in load_dialect(name).by_name[method].arguments]

    assert "arguments" not in arguments("0-8", "basic.consume")
    assert arguments("0-9", "basic.consume")[-1] == "filter"
    assert arguments("0-9-1", "basic.consume")[-1] == "arguments"
    assert arguments("0-8", "channel.open-ok") == []
    assert arguments("0-9", "channel.open-ok") == ["channel-id"]


def test_vendors() -> None:
    assert vendor_of("RabbitMQ") == "rabbitmq"
    assert vendor_of("Apache Qpid Broker-J") == "qpid"
    assert vendor_of("LavinMQ") == ""


def test_both_directions_are_joined() -> None:
    overlay = Overlay("v", (ClassSpec(10, "a", (MethodSpec(1, "x", CLIENT, "n:short"),)),))
    dialect = compile_dialect("d", BASE, (), (overlay,))
    assert dialect.by_name["a.x"].to == BOTH


CONFLICTS = {
    "class renamed": ClassSpec(10, "b", ()),
    "other arguments": ClassSpec(10, "a", (MethodSpec(1, "x", SERVER, "n:long"),)),
    "other name": ClassSpec(10, "a", (MethodSpec(1, "y", SERVER, "n:short"),)),
    "other number": ClassSpec(10, "a", (MethodSpec(2, "x", SERVER, "n:short"),)),
    "other properties": ClassSpec(10, "a", (), "p:short"),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_overlay_may_not_contradict(name: str) -> None:
    with pytest.raises(DialectConflictError):
        compile_dialect("d", BASE, (), (Overlay("v", (CONFLICTS[name],)),))
