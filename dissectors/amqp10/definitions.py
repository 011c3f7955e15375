"""Every described and restricted type of AMQP 1.0, as data: performatives (§2.7), SASL frames
(§5.3.3), message sections (§3.2), delivery states (§3.4), termini (§3.5), transactions (§4.5).

Field order is wire order. A `default` is the meaning that the standard gives to an absent or
null field; `None` means that the field is simply not there.
"""

from __future__ import annotations

from .schema import ANY, Definition, Field, Restricted, composite, described

_MAX_UINT = 0xFFFF_FFFF

PERFORMATIVES = (
    composite(
        0x10,
        "open",
        Field("container-id", "string", mandatory=True),
        Field("hostname", "string"),
        Field("max-frame-size", "uint", _MAX_UINT),
        Field("channel-max", "ushort", 0xFFFF),
        Field("idle-time-out", "milliseconds"),
        Field("outgoing-locales", "ietf-language-tag", multiple=True),
        Field("incoming-locales", "ietf-language-tag", multiple=True),
        Field("offered-capabilities", "symbol", multiple=True),
        Field("desired-capabilities", "symbol", multiple=True),
        Field("properties", "fields"),
        provides="frame",
    ),
    composite(
        0x11,
        "begin",
        Field("remote-channel", "ushort"),
        Field("next-outgoing-id", "transfer-number", mandatory=True),
        Field("incoming-window", "uint", mandatory=True),
        Field("outgoing-window", "uint", mandatory=True),
        Field("handle-max", "handle", _MAX_UINT),
        Field("offered-capabilities", "symbol", multiple=True),
        Field("desired-capabilities", "symbol", multiple=True),
        Field("properties", "fields"),
        provides="frame",
    ),
    composite(
        0x12,
        "attach",
        Field("name", "string", mandatory=True),
        Field("handle", "handle", mandatory=True),
        Field("role", "role", mandatory=True),
        Field("snd-settle-mode", "sender-settle-mode", 2),
        Field("rcv-settle-mode", "receiver-settle-mode", 0),
        Field("source", ANY, requires="source"),
        Field("target", ANY, requires="target"),
        Field("unsettled", "map"),
        Field("incomplete-unsettled", "boolean", False),
        Field("initial-delivery-count", "sequence-no"),
        Field("max-message-size", "ulong"),
        Field("offered-capabilities", "symbol", multiple=True),
        Field("desired-capabilities", "symbol", multiple=True),
        Field("properties", "fields"),
        provides="frame",
    ),
    composite(
        0x13,
        "flow",
        Field("next-incoming-id", "transfer-number"),
        Field("incoming-window", "uint", mandatory=True),
        Field("next-outgoing-id", "transfer-number", mandatory=True),
        Field("outgoing-window", "uint", mandatory=True),
        Field("handle", "handle"),
        Field("delivery-count", "sequence-no"),
        Field("link-credit", "uint"),
        Field("available", "uint"),
        Field("drain", "boolean", False),
        Field("echo", "boolean", False),
        Field("properties", "fields"),
        provides="frame",
    ),
    composite(
        0x14,
        "transfer",
        Field("handle", "handle", mandatory=True),
        Field("delivery-id", "delivery-number"),
        Field("delivery-tag", "delivery-tag"),
        Field("message-format", "message-format"),
        Field("settled", "boolean"),
        Field("more", "boolean", False),
        Field("rcv-settle-mode", "receiver-settle-mode"),
        Field("state", ANY, requires="delivery-state"),
        Field("resume", "boolean", False),
        Field("aborted", "boolean", False),
        Field("batchable", "boolean", False),
        provides="frame",
    ),
    composite(
        0x15,
        "disposition",
        Field("role", "role", mandatory=True),
        Field("first", "delivery-number", mandatory=True),
        Field("last", "delivery-number"),
        Field("settled", "boolean", False),
        Field("state", ANY, requires="delivery-state"),
        Field("batchable", "boolean", False),
        provides="frame",
    ),
    composite(
        0x16,
        "detach",
        Field("handle", "handle", mandatory=True),
        Field("closed", "boolean", False),
        Field("error", "error"),
        provides="frame",
    ),
    composite(0x17, "end", Field("error", "error"), provides="frame"),
    composite(0x18, "close", Field("error", "error"), provides="frame"),
)

ERROR = composite(
    0x1D,
    "error",
    Field("condition", "symbol", mandatory=True, requires="error-condition"),
    Field("description", "string"),
    Field("info", "fields"),
)

DELIVERY_STATES = (
    composite(
        0x23,
        "received",
        Field("section-number", "uint", mandatory=True),
        Field("section-offset", "ulong", mandatory=True),
        provides="delivery-state",
    ),
    composite(0x24, "accepted", provides="delivery-state outcome"),
    composite(0x25, "rejected", Field("error", "error"), provides="delivery-state outcome"),
    composite(0x26, "released", provides="delivery-state outcome"),
    composite(
        0x27,
        "modified",
        Field("delivery-failed", "boolean"),
        Field("undeliverable-here", "boolean"),
        Field("message-annotations", "fields"),
        provides="delivery-state outcome",
    ),
)

TERMINI = (
    composite(
        0x28,
        "source",
        Field("address", ANY, requires="address"),
        Field("durable", "terminus-durability", 0),
        Field("expiry-policy", "terminus-expiry-policy", "session-end"),
        Field("timeout", "seconds", 0),
        Field("dynamic", "boolean", False),
        Field("dynamic-node-properties", "node-properties"),
        Field("distribution-mode", "symbol", requires="distribution-mode"),
        Field("filter", "filter-set"),
        Field("default-outcome", ANY, requires="outcome"),
        Field("outcomes", "symbol", multiple=True),
        Field("capabilities", "symbol", multiple=True),
        provides="source",
    ),
    composite(
        0x29,
        "target",
        Field("address", ANY, requires="address"),
        Field("durable", "terminus-durability", 0),
        Field("expiry-policy", "terminus-expiry-policy", "session-end"),
        Field("timeout", "seconds", 0),
        Field("dynamic", "boolean", False),
        Field("dynamic-node-properties", "node-properties"),
        Field("capabilities", "symbol", multiple=True),
        provides="target",
    ),
    composite(0x2B, "delete-on-close", provides="lifetime-policy"),
    composite(0x2C, "delete-on-no-links", provides="lifetime-policy"),
    composite(0x2D, "delete-on-no-messages", provides="lifetime-policy"),
    composite(0x2E, "delete-on-no-links-or-messages", provides="lifetime-policy"),
)

TRANSACTIONS = (
    composite(
        0x30,
        "coordinator",
        Field("capabilities", "symbol", multiple=True, requires="txn-capability"),
        provides="target",
    ),
    composite(0x31, "declare", Field("global-id", ANY, requires="global-tx-id")),
    composite(
        0x32,
        "discharge",
        Field("txn-id", ANY, mandatory=True, requires="txn-id"),
        Field("fail", "boolean"),
    ),
    composite(
        0x33,
        "declared",
        Field("txn-id", ANY, mandatory=True, requires="txn-id"),
        provides="delivery-state outcome",
    ),
    composite(
        0x34,
        "transactional-state",
        Field("txn-id", ANY, mandatory=True, requires="txn-id"),
        Field("outcome", ANY, requires="outcome"),
        provides="delivery-state",
    ),
)

SASL_FRAMES = (
    composite(
        0x40,
        "sasl-mechanisms",
        Field("sasl-server-mechanisms", "symbol", mandatory=True, multiple=True),
        provides="sasl-frame",
    ),
    composite(
        0x41,
        "sasl-init",
        Field("mechanism", "symbol", mandatory=True),
        Field("initial-response", "binary"),
        Field("hostname", "string"),
        provides="sasl-frame",
    ),
    composite(
        0x42,
        "sasl-challenge",
        Field("challenge", "binary", mandatory=True),
        provides="sasl-frame",
    ),
    composite(
        0x43,
        "sasl-response",
        Field("response", "binary", mandatory=True),
        provides="sasl-frame",
    ),
    composite(
        0x44,
        "sasl-outcome",
        Field("code", "sasl-code", mandatory=True),
        Field("additional-data", "binary"),
        provides="sasl-frame",
    ),
)

SECTIONS = (
    composite(
        0x70,
        "header",
        Field("durable", "boolean", False),
        Field("priority", "ubyte", 4),
        Field("ttl", "milliseconds"),
        Field("first-acquirer", "boolean", False),
        Field("delivery-count", "uint", 0),
        provides="section",
    ),
    described(0x71, "delivery-annotations", "map", provides="section"),
    described(0x72, "message-annotations", "map", provides="section"),
    composite(
        0x73,
        "properties",
        Field("message-id", ANY, requires="message-id"),
        Field("user-id", "binary"),
        Field("to", ANY, requires="address"),
        Field("subject", "string"),
        Field("reply-to", ANY, requires="address"),
        Field("correlation-id", ANY, requires="message-id"),
        Field("content-type", "symbol"),
        Field("content-encoding", "symbol"),
        Field("absolute-expiry-time", "timestamp"),
        Field("creation-time", "timestamp"),
        Field("group-id", "string"),
        Field("group-sequence", "sequence-no"),
        Field("reply-to-group-id", "string"),
        provides="section",
    ),
    described(0x74, "application-properties", "map", provides="section"),
    described(0x75, "data", "binary", provides="section"),
    described(0x76, "amqp-sequence", "list", provides="section"),
    described(0x77, "amqp-value", ANY, provides="section"),
    described(0x78, "footer", "map", provides="section"),
)

DEFINITIONS: tuple[Definition, ...] = (
    *PERFORMATIVES,
    ERROR,
    *DELIVERY_STATES,
    *TERMINI,
    *TRANSACTIONS,
    *SASL_FRAMES,
    *SECTIONS,
)

RESTRICTED = (
    Restricted("role", "boolean", {False: "sender", True: "receiver"}),
    Restricted("sender-settle-mode", "ubyte", {0: "unsettled", 1: "settled", 2: "mixed"}),
    Restricted("receiver-settle-mode", "ubyte", {0: "first", 1: "second"}),
    Restricted("handle", "uint"),
    Restricted("seconds", "uint"),
    Restricted("milliseconds", "uint"),
    Restricted("delivery-tag", "binary"),
    Restricted("delivery-number", "uint"),
    Restricted("transfer-number", "uint"),
    Restricted("sequence-no", "uint"),
    Restricted("message-format", "uint"),
    Restricted("ietf-language-tag", "symbol"),
    Restricted("fields", "map"),
    Restricted("annotations", "map"),
    Restricted("filter-set", "map"),
    Restricted("node-properties", "map"),
    Restricted(
        "terminus-durability", "uint", {0: "none", 1: "configuration", 2: "unsettled-state"}
    ),
    Restricted(
        "terminus-expiry-policy",
        "symbol",
        {name: name for name in ("link-detach", "session-end", "connection-close", "never")},
    ),
    Restricted("sasl-code", "ubyte", {0: "ok", 1: "auth", 2: "sys", 3: "sys-perm", 4: "sys-temp"}),
)

#: The primitive types that a field of an archetype may hold (1.0 §3.2.11 to §3.2.15, §4.5.4).
ARCHETYPES: dict[str, tuple[str, ...]] = {
    "message-id": ("ulong", "uuid", "binary", "string"),
    "address": ("string",),
    "txn-id": ("binary",),
}

#: Conditions that the standard gives a name to; peers may send others (1.0 §2.8.15 to §2.8.18,
#: §4.5.8).
ERROR_CONDITIONS = frozenset(
    (
        "amqp:internal-error",
        "amqp:not-found",
        "amqp:unauthorized-access",
        "amqp:decode-error",
        "amqp:resource-limit-exceeded",
        "amqp:not-allowed",
        "amqp:invalid-field",
        "amqp:not-implemented",
        "amqp:resource-locked",
        "amqp:precondition-failed",
        "amqp:resource-deleted",
        "amqp:illegal-state",
        "amqp:frame-size-too-small",
        "amqp:connection:forced",
        "amqp:connection:framing-error",
        "amqp:connection:redirect",
        "amqp:session:window-violation",
        "amqp:session:errant-link",
        "amqp:session:handle-in-use",
        "amqp:session:unattached-handle",
        "amqp:link:detach-forced",
        "amqp:link:transfer-limit-exceeded",
        "amqp:link:message-size-exceeded",
        "amqp:link:redirect",
        "amqp:link:stolen",
        "amqp:transaction:unknown-id",
        "amqp:transaction:rollback",
        "amqp:transaction:timeout",
    )
)

#: No peer may ask for less (1.0 §2.7.1).
MIN_MAX_FRAME_SIZE = 512
