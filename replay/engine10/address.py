"""Addresses as brokers spell them, and the node's name in them that a prefix belongs to.

1.0 gives an address no structure; brokers do. A name is found behind the forms listed here, else
the address is the name. Nodes of the broker itself (`amq.…`, `$…`) keep their names.
"""

from __future__ import annotations

import re

from replay.rewrite import RESERVED_PREFIX, Rewriter

_FORMS = (
    # RabbitMQ: /queue/N, /amq/queue/N, /exchange/X/key, /topic/key; from 4.0 /queues/N,
    # /exchanges/X/key.
    re.compile(r"(/(?:amq/queue|queues?|exchanges?|topic)/)([^/]+)(.*)", re.DOTALL),
    # ActiveMQ: queue://N, topic://N.
    re.compile(r"((?:temp-)?(?:queue|topic)://)([^?]+)(.*)", re.DOTALL),
)
_NODE_OF_BROKER = "$"


def live_address(rewriter: Rewriter, captured: str) -> str | None:
    """The live address; None while a generated one is not known yet."""
    if captured.startswith(_NODE_OF_BROKER):
        return captured
    if captured in rewriter.learnt or captured in rewriter.expected or captured in rewriter.mapping:
        return rewriter.name(captured)
    for form in _FORMS:
        found = form.fullmatch(captured)
        if found is not None:
            head, node, tail = found.groups()
            return f"{head}{_fixed(rewriter, node)}{tail}"
    return _fixed(rewriter, captured)


def _fixed(rewriter: Rewriter, node: str) -> str:
    return node if node.startswith(RESERVED_PREFIX) else rewriter.fixed(node)
