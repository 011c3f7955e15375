"""Stalls in words: one sentence for each culprit, the longest first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from amqpscope.reports.units import count_text, duration_text, time_text

if TYPE_CHECKING:
    import pandas as pd

MAX_CULPRITS_SHOWN = 12
_KEYS = ["connection_id", "link_id", "cause", "caused_by", "what"]
# cause → what the one did to the other; names are filled in
_SENTENCES = {
    "link-credit": "{by} gave {to} no link credit",
    "session-window": "{by} closed its session window to {to}, which had credit left",
    "tcp-window": "{by} closed its TCP window to {to}",
    "prefetch": "{by} did not acknowledge, so its prefetch{limit} held up {to}",
    "channel-flow": "{by} stopped {to} by channel.flow",
    "connection-blocked": "{by} blocked {to}",
    "consumer-slow": "{by} held messages of {to} without settling any",
    "broker-silent": "{by} left {to} without an answer",
}


def stall_rows(stalls: pd.DataFrame) -> list[dict[str, Any]]:
    """One entry per link, cause and culprit: how often, how long in all, and the longest one."""
    import pandas as pd

    ordered = stalls.sort_values("length_ns", ascending=False, kind="stable")
    groups = []
    for _, rows in ordered.groupby(_KEYS, dropna=False, sort=False):
        longest: dict[str, Any] = {
            k: None if v is None or v is pd.NA or v != v else v
            for k, v in rows.iloc[0].to_dict().items()
        }
        groups.append(
            {
                **{k: longest[k] for k in (*_KEYS, "stalled_side", "client", "server", "address")},
                "limit": _whole(longest["limit"]),
                "link_id": _whole(longest["link_id"]),
                "count": len(rows),
                "total_ns": int(rows["length_ns"].sum()),
                "longest_ns": int(longest["length_ns"]),
                "longest_start_ts_ns": int(longest["start_ts_ns"]),
                "is_open": bool(rows["is_open"].any()),
                "capture": longest["capture"],
                "start_packet_no": int(longest["start_packet_no"]),
                "end_packet_no": _whole(longest["end_packet_no"]),
            }
        )
    return sorted(groups, key=lambda g: -g["total_ns"])


def stall_lines(stalls: pd.DataFrame) -> list[str]:
    groups = stall_rows(stalls)
    if not groups:
        return ["Stalls    none: nobody held up anybody"]
    total = duration_text(sum(g["total_ns"] for g in groups))
    lines = [f"Stalls    {count_text(len(stalls), 'stall')}, {total} in all: who held up whom"]
    for group in groups[:MAX_CULPRITS_SHOWN]:
        lines += _sentence(group)
    hidden = groups[MAX_CULPRITS_SHOWN:]
    if hidden:
        rest = duration_text(sum(g["total_ns"] for g in hidden))
        lines.append(f"  … and {count_text(len(hidden), 'more culprit')}, {rest} in all, in stalls")
    return lines


def _sentence(group: dict[str, Any]) -> list[str]:
    names = {side: f"{_word(side, group)} {group[side]}" for side in ("client", "server")}
    by = names.get(group["caused_by"] or "", "one side")
    to = names.get(group["stalled_side"] or "", "the other side")
    limit = f" of {group['limit']:,}" if group["limit"] is not None else ""
    text = _SENTENCES[group["cause"]].format(by=by, to=to, limit=limit)
    if group["address"]:
        text += f" on {group['address']}"
    if group["what"]:
        text += f": {group['what']}"
    still = ", still so when the capture ended" if group["is_open"] else ""
    until = f"–{group['end_packet_no']}" if group["end_packet_no"] is not None else ""
    times = "" if group["count"] == 1 else f"{group['count']:,} ×, longest "
    name = os.path.basename(group["capture"])
    return [
        f"  {duration_text(group['total_ns']):>9}  {text}{still}",
        f"{'':11}  {times}{duration_text(group['longest_ns'])} from "
        f"{time_text(group['longest_start_ts_ns'])}: "
        f"packet{'s' if until else ''} {group['start_packet_no']}{until} of {name}",
    ]


def _word(side: str, group: dict[str, Any]) -> str:
    """A client is what it does on the link: a client that stalls the server's sending consumes."""
    if side == "server":
        return "broker"
    is_sending = group["stalled_side"] == "client"
    return "publisher" if is_sending else "consumer"


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
