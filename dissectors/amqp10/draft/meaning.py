"""Decoded composites of the draft → the plain values that the state model takes."""

from __future__ import annotations

from typing import Any

from ..composites import Composite, Vocabulary
from ..delivery import DeliveryState
from ..meaning import error_words, text_of
from ..render import composite_tree

#: Fields of attach that the links table has columns for, or that the state model uses up.
_ATTACH_COLUMNS = frozenset(("name", "handle", "role", "flow-state"))
#: Book III §8.4 in the published version's words (1.0 §3.5.6); "session" is the default that
#: brokers must state (discussion paper, table 2).
_EXPIRY_POLICIES = {"session": "session-end", "connection": "connection-close", "never": "never"}


def transfer_state(state: Any) -> DeliveryState | None:
    """Book IV §3: a transfer-state, or an outcome that stands alone; None for what is neither."""
    if not isinstance(state, Composite):
        return None
    if state.name == "transfer-state":
        inner = transfer_state(state["outcome"])
        txn_id = txn_id_of(state["txn-id"])
        name = "transactional-state" if txn_id else "received" if inner is None else inner.name
        if inner is None:
            return DeliveryState(name, txn_id=txn_id)
        return DeliveryState(name, inner.outcome, inner.condition, txn_id)
    if "outcome" in state.definition.provides:
        error = error_words(state["error"]) if state.name == "rejected" else None
        return DeliveryState(state.name, state.name, error["condition"] if error else None)
    return None


def txn_id_of(data: Any) -> bytes | None:
    """The draft leaves the type open; what is no octets is known by its text."""
    if isinstance(data, bytes):
        return data or None
    text = text_of(data)
    return text.encode() if text else None


def attach_words(vocabulary: Vocabulary, attach: Composite) -> dict[str, Any]:
    """What `lifecycle.attach` takes, and the receiver's transfer-unit beside it."""
    linkage = attach["local"]
    linkage = linkage if isinstance(linkage, Composite) else None
    source = None if linkage is None else linkage["source"]
    target = None if linkage is None else linkage["target"]
    is_coordinator = isinstance(target, Composite) and target.name == "coordinator"
    flow = attach["flow-state"]
    unsettled = attach["unsettled"]
    states = unsettled if isinstance(unsettled, dict) else {}
    return {
        "name": attach["name"],
        "handle": attach["handle"],
        "role": "receiver" if attach["role"] else "sender",
        "snd_settle_mode": None,
        "rcv_settle_mode": None,
        "source": _terminus_words(source, attach),
        "target": _terminus_words(target, attach),
        "unsettled": {tag: transfer_state(state) for tag, state in states.items()},
        "initial_delivery_count": flow["transfer-count"] if isinstance(flow, Composite) else None,
        "max_message_size": attach["max-message-size"],
        "transfer_unit": attach["transfer-unit"],
        "kind": "coordinator" if is_coordinator else "link",
        "details": composite_tree(vocabulary, attach, _ATTACH_COLUMNS),
    }


def _terminus_words(terminus: Any, attach: Composite) -> dict[str, Any] | None:
    """Address and lifetime; the draft states lifetime on the link (Book III §7.3)."""
    if not isinstance(terminus, Composite) or terminus.name not in ("source", "target"):
        return None
    words = {
        "address": text_of(terminus["address"]),
        "dynamic": terminus["dynamic"] is not None,
        "timeout": attach["timeout"],
        "expiry_policy": _EXPIRY_POLICIES.get(attach["expiry-policy"], "session-end"),
    }
    if terminus.name == "source":
        default = transfer_state(terminus["default-outcome"])
        words["default_outcome"] = None if default is None else default.outcome
    return words
