"""Names on their way to the live peer and back: prefix, map, and names that the peer made up.

Knows no protocol: engines say which fields are names. A name that the server generated in the
capture (``amq.gen-…``, a dynamic address) is *expected*: it has no live counterpart until the live
server has named it and an engine has *learnt* it; from then on it is replaced everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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

    def expect(self, captured: str) -> None:
        """The peer made this name in the capture and will make another one live."""
        self.expected.add(captured)

    def learn(self, captured: str, live: str) -> None:
        """This is what the live peer calls it."""
        self.learnt[captured] = live
        self._back[live] = captured

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
