"""The metrics of an analysis as text for a person, or as JSON for a script.

Stalls come first: who held up whom, for how long, and the packets to look at. It reads the tables
of an output folder, so that the same words come out of a run and of its results a week later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from amqpscope.reports.stalls import stall_lines, stall_rows
from amqpscope.reports.units import bytes_text, count_text, duration_text
from spark_etl.load import Tables, load

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
MAX_LINKS_SHOWN = 20
_INDENT = "  "
_WORTH_SAYING_NS = 1_000_000
_ARROWS = {"c2s": "→", "s2c": "←"}
# measure → how a person calls it; in this order
_MEASURES = {
    "publish-confirm": "publish → confirm",
    "deliver-settle": "deliver → settle",
    "request-reply": "request → reply",
    "method-reply": "method → reply",
    "setup-total": "connection set-up",
    "setup-auth": "  authentication",
    "rtt": "TCP round trip",
    "heartbeat-gap": "between heartbeats",
}
# kind of a link → where its messages go if it names no address
_PLACES = {"publisher": "(default exchange)", "coordinator": "(transactions)"}


def as_text(folder: str | os.PathLike[str], shown: str | None = None) -> str:
    """``shown``: how the user named the folder, if it stays after this run."""
    tables = load(folder)
    blocks = [
        stall_lines(tables["stalls"]),
        _link_lines(tables),
        _latency_lines(tables["latencies"]),
        _end_to_end_lines(tables),
        [f"Tables    {shown}: {', '.join(tables)}"] if shown else [],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def as_json(folder: str | os.PathLike[str], shown: str | None = None) -> str:
    tables = load(folder)
    whole = tables["latencies"]
    return json.dumps(
        {
            "output": shown,
            "stalls": stall_rows(tables["stalls"]),
            "flow_control": _plain(tables["flow_control"]),
            "settlement": _plain(tables["settlement"]),
            "latencies": _plain(whole[whole["window_start_ns"].isna()]),
            "end_to_end": _end_to_end(tables),
        },
        ensure_ascii=False,
        indent=2,
    )


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows with null for what is not there, as JSON has it."""
    return [
        {k: None if _is_absent(v) else getattr(v, "item", lambda v=v: v)() for k, v in row.items()}
        for row in frame.to_dict("records")
    ]


def _is_absent(value: Any) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or value != value


# -- links ------------------------------------------------------------------------------------


def _link_lines(tables: Tables) -> list[str]:
    """``→ orders (publisher)   1,204 messages, 2.1 MB: all accepted in 1.2 ms (p99 8 ms)``"""
    frame = tables["settlement"].sort_values("count", ascending=False, kind="stable")
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in _plain(frame):
        key = tuple(row[k] for k in ("connection_id", "link_id", "address", "kind", "direction"))
        groups.setdefault(key, []).append(row)
    if not groups:
        return ["Messages  none"]
    lines = ["Messages"]
    credit = {(r["connection_id"], r["link_id"]): r for r in _plain(tables["flow_control"])}
    for key, rows in list(groups.items())[:MAX_LINKS_SHOWN]:
        lines += _one_link(rows, credit.get(key[:2]))
    if len(groups) > MAX_LINKS_SHOWN:
        lines.append(f"{_INDENT}… and {len(groups) - MAX_LINKS_SHOWN} more, in settlement")
    return lines


def _one_link(rows: list[Row], credit: Row | None) -> list[str]:
    first = rows[0]
    count = count_text(sum(r["count"] for r in rows), "message")
    size = bytes_text(sum(r["body_bytes"] for r in rows))
    peers = f"{first['client']} " if first["client"] else ""
    head = f"{_INDENT}{_ARROWS.get(first['direction'], '·')} {place(first)}"
    lines = [f"{head:<34} {peers}{count}, {size}, {first['guarantee']}"]
    lines += [f"{_INDENT * 3}{_outcome(r)}" for r in rows]
    if credit is not None and first["link_id"] is not None:
        said = _credit(credit)
        lines += [f"{_INDENT * 3}{said}"] if said else []
    return lines


def place(row: Row) -> str:
    """Where messages go to or come from, as a person would say it."""
    if row["address"]:
        return str(row["address"])
    return _PLACES.get(str(row.get("kind")), "(no address)")


def _outcome(row: Row) -> str:
    text = f"{row['count']:,} {row['outcome'] or _no_outcome(row)}"
    if row["latency_count"]:
        text += (
            f", settled in {duration_text(row['p50_ns'])}"
            f" (median; p99 {duration_text(row['p99_ns'])}, max {duration_text(row['max_ns'])}"
            f"{'' if row['is_exact'] else ', approximate'})"
        )
    if row["batch_mean"] and row["batch_mean"] > 1:
        text += f", {row['batch_mean']:.3g} by one frame"
    notes = {"redelivered": "redelivered_count", "never settled": "unsettled_count"}
    for note, column in notes.items():
        text += f", {row[column]:,} {note}" if row[column] else ""
    return text


def _no_outcome(row: Row) -> str:
    """Transactions leave some without: what their end settled, and the coordinator's answers."""
    counts = ("unsettled_count", "implicit_count", "single_count", "range_count")
    is_asked = any(row[name] for name in counts)
    return "without an outcome" if is_asked else "sent without asking for an answer"


def _credit(row: Row) -> str:
    parts = []
    if row["granted"] is not None:
        parts.append(f"credit {row['granted']:,} granted, {row['used']:,} used")
        parts[-1] += f", {row['drained']:,} drained" if row["drained"] else ""
    if row["prefetch_count"] is not None:
        full = f", full {row['saturated_share']:.0%} of the time" if row["saturated_share"] else ""
        parts.append(f"prefetch {row['prefetch_count']:,}{full}")
    if row["starved_ns"] >= _WORTH_SAYING_NS:
        parts.append(f"its sender had to wait {duration_text(row['starved_ns'])}")
    return "; ".join(parts)


# -- times ------------------------------------------------------------------------------------


def _latency_lines(latencies: pd.DataFrame) -> list[str]:
    """Per measure over all groups: how many, the worst median, the worst of all."""
    whole = latencies[latencies["window_start_ns"].isna()]
    lines = []
    for measure, name in _MEASURES.items():
        rows = whole[whole["measure"] == measure]
        if rows.empty:
            continue
        worst = _plain(rows.sort_values("max_ns", ascending=False).head(1))[0]
        middle, typical = ("median", worst["p50_ns"])
        if typical is None:  # round trips: of them only extremes and mean are kept
            middle, typical = ("mean", worst["mean_ns"])
        count = int(rows["count"].sum()) if rows["count"].notna().any() else len(rows)
        where = worst["what"] or _whose(worst)
        lines.append(
            f"{_INDENT}{name:<20} {count:>9,} ×   {duration_text(rows['min_ns'].min()):>9} … "
            f"{duration_text(worst['max_ns']):>9}   slowest {where} "
            f"({middle} {duration_text(typical)})"
        )
    head = "Latencies  how many, the shortest … the longest, and who had that"
    return [head, *lines] if lines else []


def _whose(row: Row) -> str:
    if row["address"] is not None or row["link_id"] is not None:
        return place(row)
    return str(row["client"] or row["dialect"] or "(all)")


def _end_to_end(tables: Tables) -> dict[str, Any]:
    columns = ["residence_ns", "confidence", "matched_by", "redelivery_count", "hop_no"]
    frame = tables.read("end_to_end", columns)
    if frame.empty:
        return {"matched": 0}
    times = frame["residence_ns"].astype("int64")
    return {
        "matched": len(frame),
        "certain": int((frame["confidence"] >= 1).sum()),
        "matched_by": {str(way): int(n) for way, n in frame["matched_by"].value_counts().items()},
        "redelivered": int((frame["redelivery_count"] > 0).sum()),
        "hops": int(frame["hop_no"].max()),
        "residence_p50_ns": int(times.quantile(0.5)),
        "residence_p99_ns": int(times.quantile(0.99)),
        "residence_max_ns": int(times.max()),
    }


def _end_to_end_lines(tables: Tables) -> list[str]:
    found = _end_to_end(tables)
    if not found["matched"]:
        return []
    sure = f"{found['certain']:,} with certainty"
    if found["certain"] < found["matched"]:
        sure += f", most by {next(iter(found['matched_by']))}"
    line = (
        f"{count_text(found['matched'], 'message')} followed from publisher to consumer "
        f"({sure}): {duration_text(found['residence_p50_ns'])} in the "
        f"broker (median; p99 {duration_text(found['residence_p99_ns'])}, "
        f"max {duration_text(found['residence_max_ns'])})"
    )
    line += f", {found['redelivered']:,} redelivered" if found["redelivered"] else ""
    line += f", up to {found['hops']} hops" if found["hops"] > 1 else ""
    return ["End to end", _INDENT + line]
