"""Names that a server made up, as the tables show them, in order."""

from __future__ import annotations

import json

from replay.script import Tables

# answer → argument that holds the name, if the request left it empty
MADE = {"queue.declare-ok": "queue", "basic.consume-ok": "consumer-tag"}


def generated_names(tables: Tables, connection_id: str) -> list[str]:
    """0-9: queues and consumers named by the server; 1.0: addresses of dynamic nodes."""
    found: list[str] = []
    asked: dict[tuple[int, str], list[str]] = {}
    for row in tables.get("frames", []):
        if row["connection_id"] != connection_id:
            continue
        name, channel = row["name"], row["channel"] or 0
        request = name.removesuffix("-ok")
        argument = MADE.get(f"{request}-ok")
        if argument is None:
            continue
        value = json.loads(row["fields"] or "{}").get(argument) or ""
        if name == request:
            asked.setdefault((channel, name), []).append(value)
        elif asked.get((channel, request)) and not asked[channel, request].pop(0):
            found.append(value)
    for link in tables.get("links", []):
        if link["connection_id"] == connection_id and link["kind"] == "link" and link["is_dynamic"]:
            found += [link[c] for c in ("source_address", "target_address") if link[c]]
    return found
