"""Two captures compared by the rules of replay, connection by connection in order of time."""

from __future__ import annotations

from dissectors.options import Options
from replay.compare import Comparison, Difference
from replay.latency import latencies, spread
from replay.report import ConnectionReport, Report
from replay.rewrite import Rewriter
from replay.rules import HARD, RULES, Silence
from replay.script import ConversationScript, Script, read_script
from replay.views import View


def diff_captures(
    first: str,
    second: str,
    options: Options | None = None,
    peer: str = "both",
    prefix: str = "",
    ignored: tuple[str, ...] = (),
    fail_on: str = HARD,
) -> Report:
    """``peer``: whose doings are compared. ``prefix``: what the second one's names begin with."""
    silence = Silence(ignored)
    scripts = [read_script(name, options) for name in (first, second)]
    report = Report(f"{first} and {second}", [first, second], fail_on=fail_on)
    pairs = _pairs(*scripts)
    for one, other in pairs:
        report.connections.append(_compare(scripts, one, other, peer, prefix, silence))
    times = [latencies(script.tables) for script in scripts]
    report.latency = {name: (spread(times[0][name]), spread(times[1][name])) for name in times[0]}
    return report


def _pairs(
    first: Script, second: Script
) -> list[tuple[ConversationScript | None, ConversationScript | None]]:
    """Those of the same dialect, in order; the rest stand alone."""
    pairs: list[tuple[ConversationScript | None, ConversationScript | None]] = []
    left = list(second.connections)
    for one in first.connections:
        other = next((c for c in left if c.dialect == one.dialect), None)
        if other is not None:
            left.remove(other)
        pairs.append((one, other))
    return pairs + [(None, other) for other in left]


def _compare(
    scripts: list[Script],
    one: ConversationScript | None,
    other: ConversationScript | None,
    peer: str,
    prefix: str,
    silence: Silence,
) -> ConnectionReport:
    known = one or other
    assert known is not None
    report = ConnectionReport(known.connection_id, known.dialect, len(known.steps))
    if one is None or other is None:
        where = "first" if one is not None else "second"
        if not silence.covers("connection"):
            report.differences.append(
                Difference("connection", RULES["connection"].severity, known.connection_id,
                           "connection", "connection",
                           f"only in the {where} capture: {known.client} → {known.server}")
            )  # fmt: skip
        return report
    back = Rewriter(prefix=prefix)
    _alias_generated(back, scripts, one, other)
    views = (
        View(one.connection_id, scripts[0].tables),
        View(other.connection_id, scripts[1].tables, back.back),
    )
    report.differences = Comparison(*views, peer, silence).run()
    return report


def _alias_generated(
    back: Rewriter, scripts: list[Script], one: ConversationScript, other: ConversationScript
) -> None:
    """Names that servers made, paired in the order in which links and queues got them."""
    from replay.generated import generated_names

    names = [
        generated_names(script.tables, conversation.connection_id)
        for script, conversation in zip(scripts, (one, other), strict=True)
    ]
    for captured, live in zip(*names, strict=False):
        if captured != live:
            back.alias(captured, live)
