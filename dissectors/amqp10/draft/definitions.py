"""Every described and restricted type of the AMQP 1.0 draft of 2010-05-19, as data.

Frame bodies (Book III §7), their parts (§8), sections, states and termini (Book IV),
transactions (Book V) and SASL frames (Book VI). Field order is wire order. Numeric descriptors
are in domain 1 (Book II §1.4); the draft prints four of them (linkage, filter, sasl-mechanisms,
sasl-challenge), which fit a count in order of definition from 0x100, 0x200, 0x300 and 0x400:
the others are inferred from that.
"""

from __future__ import annotations

from ..schema import ANY, Definition, Field, Restricted

#: Book II §1.4: (domain-id << 32) | descriptor-id.
DOMAIN = 1 << 32


def _composite(code: int, name: str, source: str, fields: tuple[Field, ...], provides: str
               ) -> Definition:  # fmt: skip
    symbol = f"amqp:{name}:{source}"
    return Definition(name, symbol, DOMAIN | code, fields, source, frozenset(provides.split()))


def _listed(code: int, name: str, *fields: Field, provides: str = "") -> Definition:
    return _composite(code, name, "list", fields, provides)


def _mapped(code: int, name: str, *fields: Field, provides: str = "") -> Definition:
    return _composite(code, name, "map", fields, provides)


_OPTIONS = Field("options", "map")
_ERROR = Field("error", "error")
_CAPABILITIES = (
    Field("offered-capabilities", "symbol", multiple=True),
    Field("desired-capabilities", "symbol", multiple=True),
)
_ATTRS = (Field("message-attrs", "map"), Field("delivery-attrs", "map"))

FRAME_BODIES = (
    _listed(
        0x100,
        "open",
        _OPTIONS,
        Field("container-id", "string", mandatory=True),
        Field("hostname", "string"),
        Field("max-frame-size", "uint"),
        Field("channel-max", "ushort"),
        Field("heartbeat-interval", "ushort"),
        Field("outgoing-locales", "symbol", multiple=True),
        Field("incoming-locales", "symbol", multiple=True),
        *_CAPABILITIES,
        Field("properties", "map"),
        provides="frame",
    ),
    _listed(
        0x101,
        "begin",
        _OPTIONS,
        Field("remote-channel", "ushort"),
        *_CAPABILITIES,
        Field("properties", "map"),
        provides="frame",
    ),
    _listed(
        0x102,
        "attach",
        _OPTIONS,
        Field("name", "string", mandatory=True),
        Field("handle", "uint", mandatory=True),
        Field("flow-state", "flow-state"),
        Field("role", "role", mandatory=True),
        Field("local", "linkage"),
        Field("remote", "linkage"),
        Field("durable", "boolean"),
        Field("expiry-policy", "link-expiry-policy"),
        Field("timeout", "seconds"),
        Field("unsettled", "map"),
        Field("transfer-unit", "ulong"),
        Field("max-message-size", "ulong"),
        Field("error-mode", "error-mode"),
        Field("properties", "map"),
        provides="frame",
    ),
    _listed(
        0x103,
        "flow",
        _OPTIONS,
        Field("handle", "uint", mandatory=True),
        Field("flow-state", "flow-state"),
        Field("echo", "boolean", False),
        provides="frame",
    ),
    _listed(
        0x104,
        "transfer",
        _OPTIONS,
        Field("handle", "uint", mandatory=True),
        Field("flow-state", "flow-state"),
        Field("delivery-tag", "binary"),
        Field("transfer-id", "transfer-number"),
        Field("settled", "boolean", False),
        Field("state", ANY),
        Field("resume", "boolean", False),
        Field("more", "boolean", False),
        Field("aborted", "boolean", False),
        Field("batchable", "boolean", False),
        Field("fragments", "fragment", multiple=True),
        provides="frame",
    ),
    _listed(
        0x105,
        "disposition",
        _OPTIONS,
        Field("role", "role", mandatory=True),
        Field("batchable", "boolean", False),
        Field("extents", "extent", multiple=True),
        provides="frame",
    ),
    _listed(
        0x106,
        "detach",
        _OPTIONS,
        Field("handle", "uint", mandatory=True),
        Field("local", "linkage"),
        Field("remote", "linkage"),
        _ERROR,
        provides="frame",
    ),
    _listed(0x107, "end", _OPTIONS, _ERROR, provides="frame"),
    _listed(0x108, "close", _OPTIONS, _ERROR, provides="frame"),
)

FRAME_PARTS = (
    _listed(0x109, "linkage", Field("source", ANY), Field("target", ANY)),
    _listed(
        0x10A,
        "flow-state",
        Field("unsettled-lwm", "transfer-number"),
        Field("session-credit", "uint"),
        Field("transfer-count", "sequence-no"),
        Field("link-credit", "uint"),
        Field("available", "uint"),
        Field("drain", "boolean", False),
    ),
    _listed(
        0x10B,
        "extent",
        Field("first", "transfer-number", mandatory=True),
        Field("last", "transfer-number"),
        Field("handle", "uint"),
        Field("settled", "boolean", False),
        Field("state", ANY),
    ),
    _listed(
        0x10C,
        "fragment",
        Field("first", "boolean", False),
        Field("last", "boolean", False),
        Field("format-code", "uint"),
        Field("fragment-offset", "ulong"),
        Field("payload", "binary"),
    ),
    _listed(
        0x10D,
        "error",
        Field("condition", "symbol", mandatory=True),
        Field("description", "string"),
        Field("info", "map"),
    ),
)

SECTIONS = (
    _listed(
        0x200,
        "header",
        Field("durable", "boolean"),
        Field("priority", "ubyte"),
        Field("transmit-time", "timestamp"),
        Field("ttl", "ulong"),
        Field("former-acquirers", "uint"),
        Field("delivery-failures", "uint"),
        Field("format-code", "uint"),
        *_ATTRS,
        provides="section",
    ),
    _listed(
        0x201,
        "properties",
        Field("message-id", ANY),
        Field("user-id", "binary"),
        Field("to", ANY),
        Field("subject", "string"),
        Field("reply-to", ANY),
        Field("correlation-id", ANY),
        Field("content-length", "ulong"),
        Field("content-type", "symbol"),
        provides="section",
    ),
    _listed(0x202, "footer", *_ATTRS, provides="section"),
)

STATES = (
    _mapped(
        0x203,
        "transfer-state",
        Field("bytes-transferred", "ulong"),
        Field("outcome", ANY),
        Field("txn-id", ANY),
    ),
    _mapped(0x204, "accepted", provides="outcome"),
    _mapped(0x205, "rejected", _ERROR, provides="outcome"),
    _mapped(0x206, "released", provides="outcome"),
    _mapped(
        0x207,
        "modified",
        Field("delivery-failed", "boolean"),
        Field("deliver-elsewhere", "boolean"),
        *_ATTRS,
        provides="outcome",
    ),
)

TERMINI = (
    _mapped(
        0x208,
        "source",
        Field("address", ANY),
        Field("dynamic", ANY),
        Field("distribution-mode", "symbol"),
        Field("filter", "map"),
        Field("default-outcome", ANY),
        Field("outcomes", "symbol", multiple=True),
        Field("capabilities", "symbol", multiple=True),
        provides="source",
    ),
    _mapped(
        0x209,
        "target",
        Field("address", ANY),
        Field("dynamic", ANY),
        Field("capabilities", "symbol", multiple=True),
        provides="target",
    ),
    _listed(
        0x20A,
        "filter",
        Field("filter-type", "symbol", mandatory=True),
        Field("filter", ANY, mandatory=True),
    ),
    _listed(0x20B, "delete-on-close", _OPTIONS, provides="lifetime-policy"),
    _listed(0x20C, "delete-on-no-links", _OPTIONS, provides="lifetime-policy"),
    _listed(0x20D, "delete-on-no-messages", _OPTIONS, provides="lifetime-policy"),
    _listed(0x20E, "delete-on-no-links-or-messages", _OPTIONS, provides="lifetime-policy"),
)

TRANSACTIONS = (
    _listed(
        0x300,
        "coordinator",
        Field("capabilities", "symbol", multiple=True),
        provides="target",
    ),
    _listed(0x301, "declare", _OPTIONS, Field("global-id", ANY)),
    _listed(0x302, "discharge", _OPTIONS, Field("fail", "boolean", False)),
)

SASL_FRAMES = (
    _listed(
        0x400,
        "sasl-mechanisms",
        _OPTIONS,
        Field("sasl-server-mechanisms", "string", multiple=True),
        provides="sasl-frame",
    ),
    _listed(
        0x401,
        "sasl-init",
        _OPTIONS,
        Field("mechanism", "string", mandatory=True),
        Field("initial-response", "binary"),
        provides="sasl-frame",
    ),
    _listed(
        0x402,
        "sasl-challenge",
        _OPTIONS,
        Field("challenge", "binary", mandatory=True),
        provides="sasl-frame",
    ),
    _listed(
        0x403,
        "sasl-response",
        _OPTIONS,
        Field("response", "binary", mandatory=True),
        provides="sasl-frame",
    ),
    _listed(
        0x404,
        "sasl-outcome",
        _OPTIONS,
        Field("code", "sasl-code", mandatory=True),
        Field("additional-data", "binary"),
        provides="sasl-frame",
    ),
)

DEFINITIONS: tuple[Definition, ...] = (
    *FRAME_BODIES,
    *FRAME_PARTS,
    *SECTIONS,
    *STATES,
    *TERMINI,
    *TRANSACTIONS,
    *SASL_FRAMES,
)

#: The discussion paper on broker behaviour (2010-06-29) names the outcomes as instructions.
SYMBOL_ALIASES = {
    "amqp:accept:map": "accepted",
    "amqp:reject:map": "rejected",
    "amqp:release:map": "released",
}

RESTRICTED = (
    Restricted("role", "boolean", {False: "sender", True: "receiver"}),
    Restricted("transfer-number", "uint"),
    Restricted("sequence-no", "uint"),
    Restricted("seconds", "uint"),
    Restricted(
        "link-expiry-policy",
        "symbol",
        {name: name for name in ("session", "connection", "never")},
    ),
    Restricted("error-mode", "symbol", {"detach": "detach", "end": "end"}),
    Restricted("sasl-code", "ubyte", {0: "ok", 1: "auth", 2: "sys", 3: "sys-perm", 4: "sys-temp"}),
)

#: Book IV §2.1, section-codes: the format-code of a fragment.
SECTION_CODES = {
    0: "header",
    1: "properties",
    2: "footer",
    3: "data",
    4: "amqp-data",
    5: "amqp-map",
    6: "amqp-list",
}
SECTION_NUMBERS = {name: code for code, name in SECTION_CODES.items()}
