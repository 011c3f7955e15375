"""The summary as text for a person, or as JSON for a script."""

from __future__ import annotations

import json
from typing import Any

from amqpscope.dissection import Result
from amqpscope.reports.summary import ConnectionSummary, Deed, Ledger, ProblemGroup, Summary
from amqpscope.reports.units import bytes_text, count_text, duration_text, time_text

MAX_CONNECTIONS_SHOWN = 25
_INDENT = "    "
_SEVERITIES = ("error", "warning", "info")
# How a dialect is known, where that is worth a word: a protocol header is how it ought to be.
_KNOWN_BY = {
    "frame-shape": "by the shape of its frames",
    "port": "by its port",
    "forced": "as told",
}
_NO_AMQP = {None: "no AMQP recognised", "http": "HTTP, not AMQP", "tls": "TLS, not opened"}
# TCP trouble: column, noun
_TCP_TROUBLE = (
    ("retransmit_count", "retransmission"),
    ("out_of_order_count", "packet out of order"),
    ("gap_count", "gap"),
    ("zero_window_count", "zero window"),
)
_PLURALS = {"packet out of order": "packets out of order"}
_ARROWS = {"c2s": "→", "s2c": "←"}


def as_text(result: Result) -> str:
    summary = result.summary
    lines = [_headline(summary), ""]
    rows = summary.rows()
    for number, connection in enumerate(rows[:MAX_CONNECTIONS_SHOWN], 1):
        lines += [*_connection_lines(number, connection), ""]
    hidden = summary.connection_count - min(len(rows), MAX_CONNECTIONS_SHOWN)
    if hidden > 0:
        lines += [f"… and {count_text(hidden, 'more connection')}; -o DIR writes them all", ""]
    lines += [*_ledger_lines(summary.ledger), *_problem_lines(summary)]
    if result.directory is not None:
        rows_text = " · ".join(f"{n} {c:,}" for n, c in result.row_counts.items())
        lines.append(f"Tables    {result.directory}/*.{result.file_format}: {rows_text}")
    return "\n".join(printable(line) for line in lines)


def printable(line: str) -> str:
    """Peers write what they like into names and reasons; the terminal must not obey it."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def as_json(result: Result) -> str:
    summary = result.summary
    return json.dumps(
        {
            "captures": list(result.captures),
            "connection_count": summary.connection_count,
            "other_connection_count": summary.other_connection_count,
            "frame_count": summary.frame_count,
            "ledger": {
                **vars(summary.ledger),
                "is_balanced": summary.ledger.is_balanced,
            },
            "transfers": _deeds_json(summary.deeds),
            "connections": [
                {**c.row, "transfers": _deeds_json(c.deeds), "errors": c.errors}
                for c in summary.rows()
            ],
            "problems": [vars(p) for p in _sorted_problems(summary)],
            "tables": {
                "directory": result.directory,
                "format": result.file_format,
                "rows": result.row_counts,
            },
        },
        ensure_ascii=False,
        indent=2,
    )


def _deeds_json(deeds: dict[tuple[str, str, str | None], Deed]) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "direction": direction, "outcome": outcome, **vars(deed)}
        for (kind, direction, outcome), deed in deeds.items()
    ]


def _headline(summary: Summary) -> str:
    text = count_text(summary.connection_count, "AMQP connection")
    if summary.connection_count:
        text += f", {count_text(summary.frame_count, 'frame')}"
        messages = sum(d.count for d in summary.deeds.values())
        text += f", {count_text(messages, 'message transfer')}"
    if summary.other_connection_count:
        other = count_text(summary.other_connection_count, "other TCP connection")
        text += f"; {other} without AMQP"
    return text


def _connection_lines(number: int, connection: ConnectionSummary) -> list[str]:
    row = connection.row
    arrow = "→" if row["client_known_by"] != "unknown" else "↔"
    lines = [f"{number}. {row['client']} {arrow} {row['server']}   {_dialect(row)}"]
    details = [_peers(row), *(f"{k} {row[k]}" for k in ("vhost", "mechanism") if row[k])]
    if row["auth_outcome"] not in (None, "ok"):
        details.append(f"authentication: {row['auth_outcome']}")
    details = [d for d in details if d]
    if details:
        lines.append(_INDENT + ", ".join(details))
    size = bytes_text(row["bytes_c2s"] + row["bytes_s2c"])
    took = duration_text(row["last_ts_ns"] - row["first_ts_ns"])
    frames = count_text(row["frame_count"], "frame")
    lines.append(f"{_INDENT}{frames}, {size} in {took} from {time_text(row['first_ts_ns'])}")
    lines.append(_INDENT + _end(row))
    lines += _deed_lines(connection)
    lines += [f"{_INDENT}! {error}" for error in connection.errors]
    if connection.error_count > len(connection.errors):
        lines.append(f"{_INDENT}! and {connection.error_count - len(connection.errors)} more")
    trouble = [
        count_text(row[column], noun, _PLURALS.get(noun))
        for column, noun in _TCP_TROUBLE
        if row[column]
    ]
    if trouble:
        lines.append(f"{_INDENT}! TCP: {', '.join(trouble)}")
    lost = {k: row[f"{k}_bytes"] for k in ("skipped", "missing", "leftover") if row[f"{k}_bytes"]}
    if lost:
        lines.append(_INDENT + "! " + ", ".join(f"{bytes_text(v)} {k}" for k, v in lost.items()))
    return lines


def _dialect(row: dict[str, Any]) -> str:
    dialect = row["dialect"]
    if dialect in _NO_AMQP:
        return _NO_AMQP[dialect]
    name = f"AMQP {dialect}"
    if row["transport"] != "tcp":
        name += f" over {row['transport']}"
    confidence = row["dialect_confidence"]
    sure = f"{confidence:.0%} sure" if confidence is not None and confidence < 1 else None
    how = ", ".join(t for t in (_KNOWN_BY.get(row["dialect_known_by"] or ""), sure) if t)
    return f"{name} ({how})" if how else name


def _peers(row: dict[str, Any]) -> str:
    peers = []
    for side in ("client", "server"):
        product = row[f"{side}_product"] or row[f"{side}_container"]
        version = row[f"{side}_version"]
        peers.append(" ".join(t for t in (product, version) if t))
    return " → ".join(peers) if all(peers) else "".join(peers)


def _end(row: dict[str, Any]) -> str:
    if row["close_initiator"] or row["close_reason"] or row["close_condition"]:
        by = f" by {row['close_initiator']}" if row["close_initiator"] else ""
        said = (row["close_code"], row["close_condition"], row["close_reason"])
        why = " ".join(str(v) for v in said if v and v != "closed")
        return f"closed{by}" + (f": {why}" if why else "")
    ends = {
        "fin": "TCP closed without an AMQP close",
        "rst": "reset",
        "reused": "port reused without an end",
        "open": "still open at the end of the capture",
    }
    text = ends.get(row["tcp_end"] or "", "no end seen")
    return f"{text} by {row['reset_by']}" if row["tcp_end"] == "rst" and row["reset_by"] else text


def _deed_lines(connection: ConnectionSummary) -> list[str]:
    """``→ publish   20 messages, 14.5 kB: 20 accepted``"""
    groups: dict[tuple[str, str], dict[str | None, Deed]] = {}
    for (kind, direction, outcome), deed in connection.deeds.items():
        groups.setdefault((direction, kind), {})[outcome] = deed
    lines = []
    for (direction, kind), outcomes in sorted(groups.items()):
        count = count_text(sum(d.count for d in outcomes.values()), "message")
        size = bytes_text(sum(d.body_bytes for d in outcomes.values()))
        parts = sorted(outcomes.items(), key=lambda item: (item[0] is None, item[0] or ""))
        said = ", ".join(f"{d.count:,} {outcome or 'no outcome'}" for outcome, d in parts)
        lines.append(f"{_INDENT}{_ARROWS.get(direction, '·')} {kind:<8} {count}, {size}: {said}")
    return lines


def _ledger_lines(ledger: Ledger) -> list[str]:
    parts = (
        f"{ledger.decoded_bytes:,} decoded + {ledger.skipped_bytes:,} skipped"
        f" + {ledger.missing_bytes:,} missing + {ledger.leftover_bytes:,} left over"
    )
    return [
        f"Bytes     {ledger.stream_bytes:,} in streams = {parts}",
        f"          {verdict(ledger)}",
    ]


def verdict(ledger: Ledger) -> str:
    """The ledger in words: a person should not have to add up."""
    if not ledger.is_balanced:
        return "the ledger does not balance: this is a bug of amqpscope, please report it"
    said = {
        "not in the capture": ledger.missing_bytes,
        "seen but in no frame": ledger.skipped_bytes,
        "of frames that the capture cuts off": ledger.leftover_bytes,
    }
    lost = [f"{bytes_text(count)} {what}" for what, count in said.items() if count]
    return "every byte accounted for: " + (", ".join(lost) if lost else "nothing lost")


def _sorted_problems(summary: Summary) -> list[ProblemGroup]:
    return sorted(
        summary.problems.values(), key=lambda p: (_SEVERITIES.index(p.severity), -p.count, p.code)
    )


def _problem_lines(summary: Summary) -> list[str]:
    problems = _sorted_problems(summary)
    if not problems:
        return ["Problems  none"]
    lines = []
    for group in problems:
        where = f" (packet {group.example_packet_no})" if group.example_packet_no else ""
        count = f"{group.count:,} × " if group.count > 1 else ""
        example = f": {'e.g. ' if group.count > 1 else ''}{group.example}{where}"
        lines.append(f"{group.severity:<7} {count}{group.code}{example if group.example else ''}")
    return ["Problems  " + lines[0], *(" " * 10 + line for line in lines[1:])]
