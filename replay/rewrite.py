"""Names on their way to the live peer and back: prefix, map, and names that the peer made up.

Knows no protocol: engines say which fields are names. A name that the server generated in the
capture (``amq.gen-…``, a dynamic address) is *expected*: it has no live counterpart until the live
server has named it and an engine has *learnt* it; from then on it is replaced everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import xxhash

# The broker's own names (0-9-1 §1.5.1.1: "amq." is reserved) mean the same everywhere.
RESERVED_PREFIX = "amq."


@dataclass(slots=True)
class Rewriter:
    """One per copy of a replay, shared by its connections."""

    prefix: str = ""
    mapping: dict[str, str] = field(default_factory=dict)
    vhost: str | None = None
    learnt: dict[str, str] = field(default_factory=dict)
    expected: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    _back: dict[str, str] = field(default_factory=dict)

    def name(self, captured: str) -> str | None:
        """The live name; None while the live server has not made it yet."""
        live = self.learnt.get(captured)
        if live is not None:
            return live
        if captured in self.expected:
            return None
        return self.fixed(captured)

    def fixed(self, captured: str) -> str:
        """By the user's rules alone."""
        if captured in self.mapping:
            return self.mapping[captured]
        if not self.prefix or not captured or captured.startswith(RESERVED_PREFIX):
            return captured
        return self.prefix + captured

    @property
    def is_plain(self) -> bool:
        """Nothing is ever changed."""
        return not (self.prefix or self.mapping or self.expected)

    def expect(self, captured: str) -> None:
        """The peer made this name in the capture and will make another one live."""
        self.expected.add(captured)
        if captured not in self.learnt:
            self.pending.add(captured)

    def learn(self, captured: str, live: str) -> None:
        """This is what the live peer calls it."""
        self.expected.add(captured)
        self.learnt[captured] = live
        self.pending.discard(captured)
        self._back[live] = captured

    def see(self, captured: str) -> None:
        """The capture uses this as a name of its own: of a queue, an exchange, a node."""
        self.seen.add(captured)

    def is_name(self, captured: str) -> bool:
        """Whether a text that may or may not be a name (a reply-to, say) is one."""
        return captured in self.seen or captured in self.expected or captured in self.mapping

    def alias(self, captured: str, live: str) -> None:
        """A live text that the capture calls otherwise, for `back` alone."""
        self._back[live] = captured

    def captured_hash(self, live_body: bytes, live_hash: str) -> str:
        """The hash that a live body would have with the captured names in it."""
        back = live_body
        for captured, live in self.learnt.items():
            back = back.replace(live.encode(), captured.encode())
        return live_hash if back == live_body else xxhash.xxh3_64_hexdigest(back)

    def octets(self, captured: bytes) -> bytes:
        """Learnt names replaced wherever they stand: reply-to, headers, bodies."""
        for old, new in self.learnt.items():
            octets = old.encode()
            if octets in captured:
                captured = captured.replace(octets, new.encode())
        return captured

    def back(self, live: str) -> str:
        """A live name, or a text with live names in it, as the capture would say it."""
        if live in self._back:
            return self._back[live]
        for new, old in self._back.items():
            if new in live:
                live = live.replace(new, old)
        for old, new in self.mapping.items():
            if new in live:
                live = live.replace(new, old)
        if self.prefix and self.prefix in live:
            live = live.replace(self.prefix, "")
        return live
