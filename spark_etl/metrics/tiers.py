"""How a delivery is known to be of a publish: the ways, from the surest to the weakest, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tier:
    """A way to recognise a message: all its columns must be there and equal."""

    name: str
    columns: tuple[str, ...]
    confidence: float
    # Only where a single publish has the key: too weak to go by order.
    is_unique_only: bool = False


_BODY = ("body_hash", "body_bytes")
# Where it goes: no column of the tables, but what brokers route by.
ROUTE = "route"
TIERS = (
    Tier("message-id+body+address", ("message_id", *_BODY, ROUTE), 1.0),
    Tier("message-id+body", ("message_id", *_BODY), 0.9),
    Tier("body+address", (*_BODY, ROUTE), 0.8),
    Tier("message-id+address", ("message_id", ROUTE), 0.7),
    Tier("body", _BODY, 0.5, is_unique_only=True),
)
# Among messages with equal keys, order decides: less sure, and still less if the counts differ.
EQUAL_COUNTS = 0.9
UNEQUAL_COUNTS = 0.6
