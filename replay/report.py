"""What a replay found, for people, scripts and test runners: text, JSON, JUnit XML."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any
from xml.etree import ElementTree

from replay.compare import Difference
from replay.latency import Spread
from replay.rules import HARD

SAME, DIFFERENT, FAILED, REFUSED = 0, 1, 2, 3
VERDICTS = {SAME: "same", DIFFERENT: "different", FAILED: "failed", REFUSED: "refused"}
NS_PER_MS = 1e6
MAX_NOTES_SHOWN = 10


@dataclass(slots=True)
class ConnectionReport:
    """One connection of the run."""

    connection_id: str
    dialect: str | None
    sent_steps: int = 0
    skipped_steps: int = 0
    failure: str | None = None
    notes: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """The whole run."""

    title: str
    captures: list[str]
    connections: list[ConnectionReport] = field(default_factory=list)
    elapsed_s: float = 0.0
    stopped: str | None = None
    refusals: list[str] = field(default_factory=list)
    fail_on: str = HARD
    # what → captured and live
    latency: dict[str, tuple[Spread | None, Spread | None]] = field(default_factory=dict)
    lateness: Spread | None = None
    load: dict[str, Any] = field(default_factory=dict)

    @property
    def differences(self) -> list[Difference]:
        return [d for c in self.connections for d in c.differences]

    @property
    def failures(self) -> list[str]:
        found = [c.failure for c in self.connections if c.failure]
        return [*found, self.stopped] if self.stopped else found

    @property
    def exit_code(self) -> int:
        if self.refusals:
            return REFUSED
        if self.failures:
            return FAILED
        counted = [d for d in self.differences if d.severity == HARD or self.fail_on != HARD]
        return DIFFERENT if counted else SAME

    @property
    def verdict(self) -> str:
        return VERDICTS[self.exit_code]


def as_text(report: Report) -> str:
    lines = [f"{report.title}: {report.verdict}"]
    lines += [f"  refused: {reason}" for reason in report.refusals]
    for connection in report.connections:
        lines += _connection_lines(connection)
    if report.stopped:
        lines.append(f"  {report.stopped}")
    if report.load:
        lines += _load_lines(report.load)
    lines += _latency_lines(report)
    hard = sum(d.severity == HARD for d in report.differences)
    soft = len(report.differences) - hard
    if not report.refusals:
        lines.append(f"  {hard} hard and {soft} soft differences; {report.elapsed_s:.2f} s")
    return "\n".join(lines)


def _connection_lines(connection: ConnectionReport) -> list[str]:
    skipped = f", {connection.skipped_steps} skipped" if connection.skipped_steps else ""
    lines = [
        f"  {connection.connection_id} (AMQP {connection.dialect}):"
        f" {connection.sent_steps} frames sent{skipped}"
    ]
    if connection.failure:
        lines.append(f"    failed: {connection.failure}")
    for difference in connection.differences:
        packet = f" [packet {difference.packet_no}]" if difference.packet_no else ""
        lines.append(
            f"    {difference.severity} {difference.rule}: {difference.where}: "
            f"{difference.text}{packet}"
        )
    lines += [f"    note: {note}" for note in connection.notes[:MAX_NOTES_SHOWN]]
    if len(connection.notes) > MAX_NOTES_SHOWN:
        lines.append(f"    and {len(connection.notes) - MAX_NOTES_SHOWN} more notes")
    return lines


def _latency_lines(report: Report) -> list[str]:
    lines = []
    for name, pair in report.latency.items():
        for label, found in zip(("captured", "live"), pair, strict=True):
            if found is not None:
                lines.append(f"  {name:<10} {label:<8} {_spread(found)}")
    if report.lateness is not None:
        lines.append(f"  {'lateness':<10} {'live':<8} {_spread(report.lateness)}")
    return lines


def _load_lines(load: dict[str, Any]) -> list[str]:
    return [f"  {key.replace('_', ' ')}: {value}" for key, value in load.items()]


def _spread(found: Spread) -> str:
    values = " ".join(
        f"{name} {getattr(found, f'{name}_ns') / NS_PER_MS:.2f}" for name in ("p50", "p95", "p99")
    )
    return f"{values} max {found.max_ns / NS_PER_MS:.2f} ms ({found.count})"


def as_json(report: Report) -> str:
    data = asdict(report)
    data["verdict"] = report.verdict
    data["exit_code"] = report.exit_code
    return json.dumps(data, ensure_ascii=False, indent=2)


def _clean(text: str) -> str:
    """XML has no place for control characters, which a peer's texts may hold."""
    return "".join(c if c >= " " or c in "\n\t" else "\ufffd" for c in text)


def as_junit(report: Report) -> str:
    """One test case per connection; a refused run is one case with an error."""
    suite = ElementTree.Element("testsuite", name=report.title, time=f"{report.elapsed_s:.3f}")
    counts = {"tests": 0, "failures": 0, "errors": 0}
    for reason in report.refusals:
        case = _case(suite, counts, report.title)
        counts["errors"] += 1
        ElementTree.SubElement(case, "error", message=_clean(f"refused: {reason}"))
    for connection in report.connections:
        case = _case(suite, counts, connection.connection_id)
        counted = [
            d for d in connection.differences if d.severity == HARD or report.fail_on != HARD
        ]
        if connection.failure or report.stopped:
            counts["errors"] += 1
            ElementTree.SubElement(
                case, "error", message=_clean(connection.failure or report.stopped or "")
            )
        if counted:
            counts["failures"] += 1
            failure = ElementTree.SubElement(
                case, "failure", message=f"{len(counted)} differences", type=counted[0].rule
            )
            failure.text = _clean("\n".join(f"{d.rule}: {d.where}: {d.text}" for d in counted))
        rest = [d.text for d in connection.differences if d not in counted]
        if rest or connection.notes:
            output = ElementTree.SubElement(case, "system-out")
            output.text = _clean("\n".join([*rest, *connection.notes]))
    suite.attrib.update({key: str(value) for key, value in counts.items()})
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _case(suite: ElementTree.Element, counts: dict[str, int], name: str) -> ElementTree.Element:
    counts["tests"] += 1
    return ElementTree.SubElement(suite, "testcase", classname="amqpscope.replay", name=name)
