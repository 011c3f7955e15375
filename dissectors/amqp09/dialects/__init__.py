"""Which dialects there are, how their protocol headers look, and how each is put together.

Tables load on first use: importing this package reads none of them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from ..schema import Dialect, compile_dialect

V0_8 = "0-8"
V0_9 = "0-9"
V0_9_DRAFT = "0-9-draft"
V0_9_1 = "0-9-1"
V0_10 = "0-10"

PROTOCOL_LITERAL = b"AMQP"

# The four octets after "AMQP". Two readings exist of 1 1 9 1: the revision 1 draft of 0-9 defines
# it, and the first printing of 0-8 had it too (py-amqplib sends it, RabbitMQ answers in 0-8). The
# frame header of what follows tells them apart: 8 octets in the draft, 7 in 0-8.
PROTOCOL_HEADERS: dict[bytes, str] = {
    bytes((1, 1, 8, 0)): V0_8,
    bytes((1, 1, 9, 1)): V0_9_DRAFT,
    bytes((1, 1, 0, 9)): V0_9,
    bytes((1, 1, 0, 11)): V0_9,
    bytes((0, 0, 9, 1)): V0_9_1,
    bytes((1, 1, 0, 10)): V0_10,
}

# The header that our encoder writes for each dialect.
HEADER_OF: dict[str, bytes] = {
    V0_8: bytes((1, 1, 8, 0)),
    V0_9_DRAFT: bytes((1, 1, 9, 1)),
    V0_9: bytes((1, 1, 0, 9)),
    V0_9_1: bytes((0, 0, 9, 1)),
    V0_10: bytes((1, 1, 0, 10)),
}


class Recipe(NamedTuple):
    """Base table and overlays of a dialect, as `module.NAME` within this package."""

    base: str
    overlays: tuple[str, ...]


_RABBITMQ = "rabbitmq"
_QPID = "qpid"

# (dialect, vendor that speaks it) -> how to build it; vendor "" is a peer that we do not know.
# The overlays of RabbitMQ and Qpid do not contradict each other in 0-9-1; in 0-8 they do.
RECIPES: dict[tuple[str, str], Recipe] = {
    (V0_9_1, ""): Recipe("v0_9_1", ("rabbitmq.V0_9_1", "qpid.V0_9_1")),
    (V0_9, ""): Recipe("v0_9", ("qpid.V0_9", "dtx_preview.OVERLAY")),
    # RabbitMQ accepts the 0-9 header and then speaks 0-9-1.
    (V0_9, _RABBITMQ): Recipe("v0_9_1", ("rabbitmq.V0_9_1",)),
    (V0_8, ""): Recipe("v0_8", ("rabbitmq.V0_8",)),
    (V0_8, _QPID): Recipe("v0_8", ("qpid.V0_8",)),
    # The draft prints no functional chapter; 0-8 is the one published with its header.
    (V0_9_DRAFT, ""): Recipe("v0_8", ()),
}


def vendor_of(product: str) -> str:
    """The vendor whose overlay fits a `product` peer property."""
    lowered = product.lower()
    return next((vendor for vendor in (_RABBITMQ, _QPID) if vendor in lowered), "")


def load_dialect(name: str, vendor: str = "") -> Dialect:
    """The tables of a dialect as spoken by a vendor; an unknown vendor gets the common ones."""
    return _load(name, vendor if (name, vendor) in RECIPES else "")


@cache
def _load(name: str, vendor: str) -> Dialect:
    recipe = RECIPES[name, vendor]
    base = _table(recipe.base)
    overlays = []
    for path in recipe.overlays:
        module, _, attribute = path.partition(".")
        overlays.append(getattr(_table(module), attribute))
    return compile_dialect(name, base.CLASSES, base.REPLY_CODES, overlays)


def _table(module: str) -> ModuleType:
    return import_module(f".{module}", __name__)
