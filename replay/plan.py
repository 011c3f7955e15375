"""The plan of a replay: a dry run in a file that people can read, keep, edit and run.

Made of the tables and the script; sends nothing. The file is JSON with a version; what is not
known in it is refused rather than overlooked. Credentials have no place in it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from replay.pacing import parse_speed
from replay.script import ConversationScript, Script

FORMAT = "amqpscope replay plan"
VERSION = 1
REPLAYABLE = ("0-9-1", "0-9", "0-8", "1.0")
MODES = ("wire", "semantic", "load")
NS_PER_S = 1_000_000_000
# Frames that are made anew and so are neither sent from the capture nor waited for.
OWN_FRAMES = frozenset({"protocol-header", "heartbeat", "empty"})


class PlanError(ValueError):
    """A plan that cannot be used; the text is for people."""


@dataclass(slots=True)
class ConnectionPlan:
    """One captured connection: what will be done with it. ``is_replayed`` may be edited."""

    connection_id: str
    is_replayed: bool
    client: str
    server: str
    dialect: str | None
    duration_s: float
    sends: dict[str, int] = field(default_factory=dict)
    waits_for: dict[str, int] = field(default_factory=dict)
    rewrites: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    refusal: str | None = None


@dataclass(slots=True)
class Plan:
    """What `replay client` needs to know, but for secrets and consents."""

    captures: list[str]
    target: str | None = None
    mode: str = "wire"
    speed: str = "1"
    pace: str = "absolute"
    causality: str = "window"
    prefix: str = ""
    vhost: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    copies: int = 1
    step_timeout_s: float = 10.0
    max_time_s: float = 300.0
    frame_max: int | None = None
    heartbeat_s: float | None = None
    keylog: str | None = None
    ports: dict[str, str | None] = field(default_factory=dict)
    connections: list[ConnectionPlan] = field(default_factory=list)
    objections: list[str] = field(default_factory=list)
    estimate_s: float = 0.0

    def chosen(self) -> list[str]:
        return [c.connection_id for c in self.connections if c.is_replayed]

    def to_json(self) -> str:
        return json.dumps(
            {"format": FORMAT, "version": VERSION, **asdict(self)}, ensure_ascii=False, indent=2
        )


def describe(script: Script, plan: Plan) -> None:
    """Fill in what the script says, and how long it will take."""
    plan.connections = [_describe_connection(script, c, plan) for c in script.connections]
    replayed = [c for c in script.connections if c.connection_id in set(plan.chosen())]
    speed = parse_speed(plan.speed)
    if replayed and speed:
        begin = min(c.first_ts_ns for c in replayed)
        end = max(c.last_ts_ns for c in replayed)
        plan.estimate_s = round((end - begin) / NS_PER_S / speed, 3)


def _describe_connection(
    script: Script, conversation: ConversationScript, plan: Plan
) -> ConnectionPlan:
    refusal = refusal_of(conversation, script)
    sends: Counter[str] = Counter()
    waits: Counter[str] = Counter()
    for row in script.tables.get("frames", []):
        if row["connection_id"] == conversation.connection_id and row["name"] not in OWN_FRAMES:
            (sends if row["direction"] == "c2s" else waits)[row["name"]] += 1
    duration = (conversation.last_ts_ns - conversation.first_ts_ns) / NS_PER_S
    return ConnectionPlan(
        conversation.connection_id,
        refusal is None,
        conversation.client,
        conversation.server,
        conversation.dialect,
        round(duration, 6),
        dict(sends),
        dict(waits),
        _rewrites(conversation, plan),
        remarks_of(conversation),
        refusal,
    )


def refusal_of(conversation: ConversationScript, script: Script) -> str | None:
    """Why a connection cannot be replayed at all."""
    row = conversation.row
    if conversation.dialect in ("tls", "http") or conversation.dialect is None:
        return f"no AMQP can be read in it ({conversation.dialect or 'unknown bytes'})"
    if conversation.dialect not in REPLAYABLE:
        return f"AMQP {conversation.dialect} is read, not replayed"
    if not conversation.is_client_known:
        return "nobody can tell which side is the client"
    if row.get("auth_outcome") not in (None, "ok"):
        return "its login was refused, and captured passwords are not sent again"
    if not conversation.steps:
        return "no frame of it is complete"
    if conversation.dialect == "1.0" and not conversation.is_complete_from_start:
        attaches = (
            row
            for row in script.tables.get("frames", [])
            if row["connection_id"] == conversation.connection_id
            and (row["name"], row["direction"]) == ("attach", "c2s")
        )
        if next(attaches, None) is None:
            return "it began before the capture: the addresses of its links are not known"
    unknown = [
        link["name"]
        for link in script.tables.get("links", [])
        if link["connection_id"] == conversation.connection_id
        and link["kind"] == "consumer"
        and link["is_inferred"]
    ]
    # After a gap a consumer may be inferred, too; but there the replay has ended.
    if unknown and not conversation.is_complete_from_start:
        return f"consumer {unknown[0]!r} began before the capture: its queue is not known"
    return None


def remarks_of(conversation: ConversationScript) -> list[str]:
    """What is replayed otherwise than captured."""
    remarks = []
    if not conversation.is_complete_from_start:
        remarks.append("it began before the capture: handshake and channels are synthesised")
    if conversation.has_gaps:
        last = conversation.steps[-1].packet_no if conversation.steps else 0
        remarks.append(
            f"bytes are missing: only the complete part is replayed, up to packet {last}"
            f" ({conversation.lost_step_count} later frames are left out)"
        )
    return remarks


def _rewrites(conversation: ConversationScript, plan: Plan) -> list[str]:
    rewrites = ["credentials", "delivery tags and names that the server makes"]
    if plan.prefix:
        rewrites.append(f"names: {plan.prefix!r} before each")
    rewrites += [f"{old!r} becomes {new!r}" for old, new in plan.names.items()]
    captured = conversation.row.get("vhost")
    if plan.vhost and plan.vhost != captured:
        rewrites.append(f"virtual host {captured!r} becomes {plan.vhost!r}")
    return rewrites


def save_plan(plan: Plan, path: str) -> None:
    Path(path).write_text(plan.to_json() + "\n", encoding="utf-8")


def is_plan(path: str) -> bool:
    """Whether a file is a plan rather than a capture."""
    try:
        with open(path, "rb") as file:
            return FORMAT.encode() in file.read(256)
    except OSError:
        return False


def load_plan(path: str) -> Plan:
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} is no plan: {error}") from None
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise PlanError(f"{path} is no plan")
    version = data.pop("version", None)
    if version != VERSION:
        raise PlanError(f"{path} is of version {version}; this amqpscope reads version {VERSION}")
    connections = [_read(ConnectionPlan, item, path) for item in data.pop("connections", [])]
    plan: Plan = _read(Plan, data, path)
    plan.connections = connections
    return plan


def _read(kind: Any, data: dict[str, Any], path: str) -> Any:
    known = {f.name for f in fields(kind)}
    unknown = set(data) - known
    if unknown:
        raise PlanError(f"{path}: unknown {', '.join(sorted(unknown))}")
    try:
        return kind(**data)
    except TypeError as error:
        raise PlanError(f"{path}: {error}") from None
