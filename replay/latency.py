"""Latencies of two conversations side by side: information, never a verdict."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from replay.script import Tables

REPLY_SUFFIXES = ("-ok", "-empty")


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution in ns."""

    count: int
    p50_ns: int
    p95_ns: int
    p99_ns: int
    max_ns: int


def spread(values: list[int]) -> Spread | None:
    if not values:
        return None
    ordered = sorted(values)

    def at(share: float) -> int:
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    return Spread(len(ordered), at(0.5), at(0.95), at(0.99), ordered[-1])


def latencies(tables: Tables) -> dict[str, list[int]]:
    """``settlement``: message sent to outcome heard; ``reply``: request to its answer (0-9)."""
    settled = [
        row["settled_ts_ns"] - row["last_ts_ns"]
        for row in tables.get("transfers", [])
        if row["direction"] == "c2s" and row["settled_ts_ns"] is not None
        and row["settled_by"] == "receiver"
    ]  # fmt: skip
    replies: list[int] = []
    waiting: dict[tuple[str, int, str], deque[int]] = {}
    for row in tables.get("frames", []):
        name, channel = row["name"], row["channel"] or 0
        if row["frame_type"] != "method":
            continue
        if row["direction"] == "c2s":
            waiting.setdefault((row["connection_id"], channel, name), deque()).append(row["ts_ns"])
            continue
        for suffix in REPLY_SUFFIXES:
            asked = waiting.get((row["connection_id"], channel, name.removesuffix(suffix)))
            if name.endswith(suffix) and asked:
                replies.append(row["ts_ns"] - asked.popleft())
    return {"settlement": [v for v in settled if v >= 0], "reply": replies}
