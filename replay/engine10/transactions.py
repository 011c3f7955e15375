"""Transactions on the wire (1.0 §4.5): which one a delivery state or a discharge speaks of."""

from __future__ import annotations

from dissectors.amqp10.octets import skip_value

from .content import section_of
from .octets import RawComposite, binary_of, read_composite

_AMQP_VALUE = 0x77
_DISCHARGE, _DECLARED, _TRANSACTIONAL_STATE = 0x32, 0x33, 0x34


def declared_txn(state: bytes) -> bytes | None:
    """The txn-id that a coordinator gave (1.0 §4.5.5)."""
    return _txn_id(_composite(state, 0, _DECLARED))


def stated_txn(state: bytes) -> bytes | None:
    """The transaction that a transfer or an outcome is part of (1.0 §4.5.6)."""
    return _txn_id(transactional_state(state))


def transactional_state(state: bytes) -> RawComposite | None:
    return _composite(state, 0, _TRANSACTIONAL_STATE)


def discharged_txn(payload: bytes) -> bytes | None:
    """The transaction that a message to a coordinator ends (1.0 §4.5.3)."""
    section = section_of(payload, _AMQP_VALUE)
    if not section:
        return None
    # behind the section's own descriptor
    return _txn_id(_composite(section, skip_value(section, 1, len(section), 0), _DISCHARGE))


def _composite(octets: bytes, start: int, code: int) -> RawComposite | None:
    found = read_composite(octets, start, len(octets))
    return found if found is not None and found.code == code else None


def _txn_id(found: RawComposite | None) -> bytes | None:
    """It is the first field of all of them."""
    return None if found is None else binary_of(found.item(0))
