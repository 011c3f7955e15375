"""The rails: what a replay must not do without being told to.

Judges a script and a target and says what it objects to, and which consent would lift it. It
decides nothing else and opens nothing.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from replay.rewrite import Rewriter
from replay.script import Script
from replay.target import Target

# method → (argument that names the thing, flag that makes it dangerous or None, what it does)
DANGEROUS: dict[str, tuple[str, str | None, str]] = {
    "queue.delete": ("queue", None, "deletes queue"),
    "queue.purge": ("queue", None, "purges queue"),
    "exchange.delete": ("exchange", None, "deletes exchange"),
    "queue.declare": ("queue", "exclusive", "takes exclusive hold of queue"),
    "basic.consume": ("queue", "exclusive", "consumes alone from queue"),
}
MAX_NAME_OCTETS = 255
CONSENTS = {
    "captured-target": "--allow-captured-target",
    "remote": "--allow-remote",
    "destructive": "--allow-destructive",
}


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a run is refused. ``consent`` None: no consent lifts it, only another setting."""

    text: str
    consent: str | None


@dataclass(frozen=True, slots=True)
class Consent:
    """What the user allowed."""

    captured_target: bool = False
    remote: bool = False
    destructive: bool = False

    def covers(self, consent: str) -> bool:
        return bool(getattr(self, consent.replace("-", "_")))


@dataclass(slots=True)
class Verdict:
    """Objections that stand; empty = the run may begin."""

    objections: list[Objection] = field(default_factory=list)

    @property
    def is_allowed(self) -> bool:
        return not self.objections

    def reasons(self) -> list[str]:
        return [
            f"{o.text} ({CONSENTS[o.consent]} allows it)" if o.consent else o.text
            for o in self.objections
        ]


def judge(
    script: Script,
    target: Target,
    addresses: Iterable[str],
    rewriter: Rewriter,
    consent: Consent,
) -> Verdict:
    """``addresses``: what the target's host name stands for."""
    verdict = Verdict()
    addresses = set(addresses)
    is_apart = bool(rewriter.prefix or rewriter.vhost)
    captured = {conversation.server for conversation in script.connections}
    is_captured = any(_endpoint(a, target.port) in captured for a in addresses)
    is_remote = not addresses or not all(is_loopback(address) for address in addresses)
    for is_hit, consent_name, what in (
        (is_captured, "captured-target", f"{target} is where the capture was taken"),
        (is_remote, "remote", f"{target} is not on this machine"),
    ):
        if not is_hit:
            continue
        if not consent.covers(consent_name):
            verdict.objections.append(Objection(what, consent_name))
        if not is_apart:
            verdict.objections.append(
                Objection(f"{what}: names must be kept apart by --prefix or --vhost", None)
            )
    verdict.objections += [Objection(text, None) for text in _too_long(script, rewriter)]
    vhosts = {conversation.row.get("vhost") for conversation in script.connections}
    is_other_vhost = rewriter.vhost is not None and rewriter.vhost not in vhosts
    if not consent.destructive and not is_other_vhost:
        verdict.objections += [Objection(t, "destructive") for t in _dangers(script, rewriter)]
    return verdict


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _dangers(script: Script, rewriter: Rewriter) -> list[str]:
    """What is destroyed or taken that is not the replay's own (a name with its prefix is)."""
    ids = {conversation.connection_id for conversation in script.connections}
    found: dict[str, None] = {}
    for row in script.tables.get("frames", []):
        known = DANGEROUS.get(row["name"])
        if known is None or row["direction"] != "c2s" or row["connection_id"] not in ids:
            continue
        argument, flag, does = known
        fields = json.loads(row["fields"] or "{}")
        name = fields.get(argument) or ""
        if not name or (flag and not fields.get(flag)) or name in rewriter.expected:
            continue
        if rewriter.fixed(name) == name:
            found[f"{does} {name!r}"] = None
    return list(found)


def _too_long(script: Script, rewriter: Rewriter) -> list[str]:
    """Names are short strings: one octet counts theirs (0-9-1 §4.2.5.3)."""
    if not rewriter.prefix and not rewriter.mapping:
        return []
    names = {
        row[column]
        for row in script.tables.get("links", [])
        for column in ("queue", "exchange", "source_address", "target_address")
        if row[column]
    }
    long = [n for n in sorted(names) if len(rewriter.fixed(n).encode()) > MAX_NAME_OCTETS]
    return [f"with its prefix {name!r} is longer than {MAX_NAME_OCTETS} octets" for name in long]


def _endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
