"""The rules of comparison, as data: what counts how, and what never counts.

Hard differences are differences of behaviour; soft ones are for information and count only with
``--fail-on soft``. A rule is silenced with ``--ignore ID``, or for one method with
``--ignore ID:basic.get``.
"""

from __future__ import annotations

from dataclasses import dataclass

HARD = "hard"
SOFT = "soft"


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    severity: str
    doc: str


RULES = {
    rule.id: rule
    for rule in (
        Rule("connection", HARD, "a connection was not made, or one more than captured"),
        Rule("connection-end", HARD, "who closed the connection, with which code or condition"),
        Rule("sequence", HARD, "which frames came in which order, per channel or session"),
        Rule("fields", HARD, "what such a frame said"),
        Rule("messages", HARD, "messages that the live peer sent otherwise than captured"),
        Rule("deliveries", HARD, "messages missing from a link, or more of them, by content"),
        Rule("returns", HARD, "messages returned, with their reply code"),
        Rule("outcome", HARD, "what became of each message"),
        Rule("blocked", HARD, "the broker blocked publishers"),
        Rule("wait", HARD, "something that the capture shows did not come in time"),
        Rule("extra-deliveries", SOFT, "more deliveries than captured, never settled"),
        Rule("late-outcome", SOFT, "an outcome that the capture ended too early to show"),
        Rule("delivery-order", SOFT, "the same deliveries in another order"),
        Rule("redelivered", SOFT, "the redelivered flag of the same deliveries"),
        Rule("properties", SOFT, "message properties of the same deliveries"),
        Rule("counts", SOFT, "message and consumer counts in replies"),
        Rule("limits", SOFT, "frame-max, channel-max, heartbeat and the like"),
        Rule("names", SOFT, "names that a client chose for its links"),
        Rule("texts", SOFT, "words that explain: reply texts, descriptions"),
    )
}

# Frames that no sequence counts: their order among others is chance, or their number is a matter
# of batching. What they say is compared as deliveries and outcomes.
UNORDERED = frozenset(
    {
        "basic.deliver", "basic.ack", "basic.nack", "basic.reject", "basic.return", "header",
        "body", "heartbeat", "protocol-header", "connection.start", "connection.start-ok",
        "connection.tune", "connection.tune-ok", "connection.open", "connection.open-ok",
        "connection.blocked", "connection.unblocked", "channel.flow", "channel.flow-ok",
        "transfer", "flow", "disposition", "empty", "open",
        "sasl-mechanisms", "sasl-init", "sasl-challenge", "sasl-response", "sasl-outcome",
    }
)  # fmt: skip
# Normalised away: numbers and names that each run makes anew.
IGNORED_FIELDS = frozenset(
    {
        "delivery-tag", "known-hosts", "cluster-id", "channel-id", "ticket", "consumer-tag",
        "server-properties", "client-properties", "response", "handle", "remote-channel",
        "initial-delivery-count", "next-outgoing-id", "next-incoming-id", "delivery-id",
        "container-id", "properties", "unsettled", "incomplete-unsettled", "reserved-1",
    }
)  # fmt: skip
# field → the soft rule that judges it
SOFT_FIELDS = {
    "is-redelivered": "redelivered",
    "name": "names",
    "message-count": "counts",
    "consumer-count": "counts",
    "reply-text": "texts",
    "description": "texts",
    "locales": "texts",
    "mechanisms": "limits",
    "channel-max": "limits",
    "frame-max": "limits",
    "heartbeat": "limits",
    "incoming-window": "limits",
    "outgoing-window": "limits",
    "handle-max": "limits",
    "max-message-size": "limits",
    "offered-capabilities": "limits",
    "desired-capabilities": "limits",
}
# columns of connections judged by "limits"
LIMIT_COLUMNS = ("frame_max", "channel_max", "heartbeat_ms", "server_idle_timeout_ms")
# columns of transfers judged by "properties"
PROPERTY_COLUMNS = (
    "message_id", "correlation_id", "reply_to", "subject", "app_id", "content_type",
    "content_encoding", "priority", "ttl_ms", "is_durable",
)  # fmt: skip


class Silence:
    """Rules that the user does not want to hear of."""

    def __init__(self, ignored: tuple[str, ...] = ()) -> None:
        unknown = {item.partition(":")[0] for item in ignored} - set(RULES)
        if unknown:
            raise ValueError(f"no rule {', '.join(sorted(unknown))}; rules: {', '.join(RULES)}")
        self._ignored = frozenset(ignored)

    def covers(self, rule: str, subject: str = "") -> bool:
        return rule in self._ignored or f"{rule}:{subject}" in self._ignored
