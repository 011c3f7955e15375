"""Decoded composites → the plain values that the state model takes: delivery states, termini,
errors, attach fields. The only file that knows both the standard's field names and ours."""

from __future__ import annotations

from typing import Any

from .composites import Composite, Vocabulary
from .delivery import DeliveryState
from .render import composite_tree
from .types import Value

#: Fields of attach that the links table has columns for, or that the state model uses up.
_ATTACH_COLUMNS = frozenset(("name", "handle", "role", "initial-delivery-count"))


def delivery_state(state: Any) -> DeliveryState | None:
    """1.0 §3.4, §4.5.5, §4.5.6; None for what is no delivery state that we know."""
    if not isinstance(state, Composite):
        return None
    if state.name == "transactional-state":
        inner = delivery_state(state["outcome"])
        outcome = None if inner is None else inner.outcome
        condition = None if inner is None else inner.condition
        return DeliveryState(state.name, outcome, condition, txn_id=_binary(state["txn-id"]))
    if state.name == "declared":
        return DeliveryState(state.name, state.name, declared_txn=_binary(state["txn-id"]))
    if "outcome" in state.definition.provides:
        error = error_words(state["error"]) if state.name == "rejected" else None
        condition = None if error is None else error["condition"]
        return DeliveryState(state.name, state.name, condition)
    return DeliveryState(state.name)


def _binary(data: Any) -> bytes | None:
    return data if isinstance(data, bytes) else None


def error_words(error: Any) -> dict[str, Any] | None:
    """Condition and description of an error, or None if there is none or something else."""
    if not isinstance(error, Composite) or "condition" not in error.fields:
        return None
    return {"condition": error["condition"], "description": error["description"]}


def attach_words(vocabulary: Vocabulary, attach: Composite) -> dict[str, Any]:
    """What `lifecycle.attach` takes. Details hold all that was said, for the reader."""
    role = "receiver" if attach["role"] else "sender"
    unsettled = attach["unsettled"]
    states = unsettled if isinstance(unsettled, dict) else {}
    target = attach["target"]
    is_coordinator = isinstance(target, Composite) and target.name == "coordinator"
    return {
        "name": attach["name"],
        "handle": attach["handle"],
        "role": role,
        "snd_settle_mode": attach["snd-settle-mode"],
        "rcv_settle_mode": attach["rcv-settle-mode"],
        "source": terminus_words(attach["source"]),
        "target": terminus_words(target),
        "unsettled": {tag: delivery_state(state) for tag, state in states.items()},
        "initial_delivery_count": attach["initial-delivery-count"],
        "max_message_size": attach["max-message-size"],
        "kind": "coordinator" if is_coordinator else "link",
        "details": composite_tree(vocabulary, attach, _ATTACH_COLUMNS),
    }


def terminus_words(terminus: Any) -> dict[str, Any] | None:
    """Address and lifetime of a source or target (1.0 §3.5.3, §3.5.4); a coordinator, or what
    stands there by mistake, has none."""
    if not isinstance(terminus, Composite) or "address" not in terminus.fields:
        return None
    words = {
        "address": terminus["address"],
        "dynamic": terminus["dynamic"],
        "timeout": terminus["timeout"],
        "expiry_policy": terminus["expiry-policy"],
    }
    if terminus.name == "source":
        default = delivery_state(terminus["default-outcome"])
        words["default_outcome"] = None if default is None else default.outcome
    return words


def text_of(data: Any) -> str | None:
    """A property of open as text: strings as they are, others by Python's word for them."""
    if data is None or isinstance(data, (Value, Composite, dict, list)):
        return None
    return data if isinstance(data, str) else str(data)
