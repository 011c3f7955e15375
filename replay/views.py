"""One connection's rows as the comparison reads them: grouped, named and described.

Live names and bodies are read as the capture would say them; nothing is judged here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from replay.fields10 import flat_fields, is_performative
from replay.rules import UNORDERED
from replay.script import Rows, Tables

Row = dict[str, Any]


@dataclass(slots=True)
class View:
    """One connection's rows, and how to read its names and bodies as the capture would."""

    connection_id: str
    tables: Tables
    back: Callable[[str], str] = str
    body_hashes: dict[str, str] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def rows(self, table: str) -> Rows:
        return [r for r in self.tables.get(table, []) if r["connection_id"] == self.connection_id]

    def row(self) -> Row:
        found = self.rows("connections")
        return found[0] if found else {}

    def name(self, text: str | None) -> str | None:
        if text is None:
            return None
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self.back(text)
        return known

    def body(self, row: Row) -> str | None:
        found = row["body_hash"]
        return self.body_hashes.get(found, found)


def transfers_by_session(view: View, direction: str) -> dict[tuple[int, int], Rows]:
    channels = _channels(view)
    groups: dict[tuple[int, int], Rows] = {}
    for row in view.rows("transfers"):
        if row["direction"] == direction and row["is_complete"]:
            session = row["session_id"] or 0
            groups.setdefault((session, channels.get(session, 0)), []).append(row)
    for rows in groups.values():
        rows.sort(key=lambda row: row["transfer_id"])
    return groups


def _channels(view: View) -> dict[int, int]:
    return {row["session_id"]: row["channel"] for row in view.rows("sessions")}


def frame_sequences(view: View, direction: str) -> dict[tuple[int, int], Rows]:
    """Frames whose order counts, by (session, channel)."""
    channels = _channels(view)
    found: dict[tuple[int, int], Rows] = {}
    for row in view.rows("frames"):
        if row["direction"] != direction or row["name"] in UNORDERED:
            continue
        session = row["session_id"] or 0
        place = (session, channels.get(session, row["channel"] or 0))
        found.setdefault(place, []).append(row)
    return found


def fields_of(view: View, row: Row) -> dict[str, Any]:
    text = view.name(row["fields"])
    if not text:
        return {}
    try:
        fields = dict(json.loads(text))
        return flat_fields(row["name"], fields) if is_performative(row["name"]) else fields
    except (ValueError, TypeError):
        return {"fields": text}


def content_of(view: View, row: Row) -> tuple[object, ...]:
    address = row["exchange"] is None and row["kind"] == "transfer"
    where = view.name(row["address"]) if address else view.name(row["routing_key"])
    return (row["kind"], view.name(row["exchange"]), where, view.body(row), row["reply_code"])


def describe(view: View, row: Row) -> str:
    where = view.name(row["address"]) or _place(view, row)
    code = f", {row['reply_code']}" if row["reply_code"] else ""
    return f"{where}, {row['body_bytes']} bytes, body {view.body(row)}{code}"


def _place(view: View, row: Row) -> str:
    """Of a message without an address: exchange and key, or the link (1.0: a coordinator)."""
    if row["kind"] != "transfer":
        return "/".join(view.name(row[c]) or "" for c in ("exchange", "routing_key"))
    links = (r for r in view.rows("links") if r["link_id"] == row["link_id"])
    return next((f"{link['kind']} {view.name(link['name'])}" for link in links), "no link")


def outcome_text(row: Row) -> str:
    """What became of a message, and why if somebody said so."""
    if row["outcome"] is None:
        return "nothing"
    condition = row["outcome_condition"]
    return f"{row['outcome']} ({condition})" if condition else str(row["outcome"])


def end_text(row: Row, prefix: str) -> str:
    by = row.get(f"{prefix}_initiator")
    if by is None:
        return "not closed"
    said = (row.get(f"{prefix}_code"), row.get(f"{prefix}_condition"), row.get(f"{prefix}_reason"))
    return f"closed by the {by} " + " ".join(str(v) for v in said if v is not None)
