"""Comparison, reports, pacing and rewriting, each on small inputs."""

from __future__ import annotations

import copy
import json
from typing import Any
from xml.etree import ElementTree

import pytest

from replay.compare import Comparison, Difference
from replay.diff import diff_captures
from replay.latency import spread
from replay.pacing import Pacer, parse_speed
from replay.report import ConnectionReport, Report, as_json, as_junit, as_text
from replay.rewrite import Rewriter
from replay.rules import RULES, Silence
from replay.script import read_script
from replay.views import View
from tests.samples import sample

Rows = list[dict[str, Any]]


def compared(number: str, change: Any, ignored: tuple[str, ...] = ()) -> list[Difference]:
    """A sample against itself with some rows changed."""
    script = read_script(sample(number))
    other = copy.deepcopy(script.tables)
    change(other)
    connection = script.connections[0].connection_id
    views = View(connection, script.tables), View(connection, other)
    return Comparison(*views, "server", Silence(ignored)).run()


def first(rows: Rows, **wanted: Any) -> dict[str, Any]:
    return next(r for r in rows if all(r[k] == v for k, v in wanted.items()))


def test_the_same_is_the_same() -> None:
    assert compared("03", lambda tables: None) == []


def test_a_delivery_that_is_missing_and_one_that_is_new() -> None:
    def change(tables: dict[str, Rows]) -> None:
        first(tables["transfers"], kind="deliver", outcome="accepted")["body_hash"] = "0" * 16

    found = compared("03", change)
    assert [(d.rule, d.severity) for d in found] == [("deliveries", "hard")] * 2
    assert found[0].text.startswith("deliver missing: dev.q3, 64 bytes, body ")
    assert found[1].text == "deliver not captured: dev.q3, 64 bytes, body 0000000000000000"


def test_an_outcome() -> None:
    def change(tables: dict[str, Rows]) -> None:
        first(tables["transfers"], kind="publish")["outcome"] = "rejected"

    (found,) = compared("01", change)
    assert (found.rule, found.captured, found.live) == ("outcome", "accepted", "rejected")


def test_a_reply_code_and_counts() -> None:
    def change(tables: dict[str, Rows]) -> None:
        first(tables["frames"], name="channel.close", direction="s2c")["reply_code"] = 405
        first(tables["frames"], name="queue.declare-ok")["fields"] = json.dumps(
            {"queue": "dev.q4", "message-count": 9, "consumer-count": 0}
        )

    found = compared("04a", change)
    assert {(d.rule, d.live) for d in found} >= {("fields", "405"), ("counts", "9")}
    assert compared("04a", change, ("fields", "counts")) == []
    assert (
        compared("04a", change, ("counts", "fields:channel.close", "fields:queue.declare-ok")) == []
    )


def test_order_and_redelivery_are_soft() -> None:
    def change(tables: dict[str, Rows]) -> None:
        rows = [r for r in tables["transfers"] if r["kind"] == "deliver"]
        rows[0]["transfer_id"], rows[-1]["transfer_id"] = (
            rows[-1]["transfer_id"],
            rows[0]["transfer_id"],
        )

    assert [(d.rule, d.severity) for d in compared("01", change)] == [("delivery-order", "soft")]


def test_unknown_rules_are_mistakes() -> None:
    with pytest.raises(ValueError, match="no rule taste"):
        Silence(("taste",))


def test_two_captures_of_the_same_program() -> None:
    """The VLAN and QinQ samples are the same traffic in other wrappings."""
    report = diff_captures(sample("24b"), sample("24c"))
    assert report.exit_code == 0 and report.differences == []
    other = diff_captures(sample("01"), sample("02"))
    assert other.exit_code == 1
    assert any(d.rule == "connection" for d in other.differences)


def report_with(*differences: Difference, **what: Any) -> Report:
    connection = ConnectionReport("c1", "0-9-1", 3, differences=list(differences))
    return Report("title", ["x.pcap"], [connection], **what)


def difference(severity: str, text: str = "text") -> Difference:
    return Difference("outcome", severity, "c1", "channel 1", "publish", text)


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (report_with(), 0),
        (report_with(difference("soft")), 0),
        (report_with(difference("soft"), fail_on="soft"), 1),
        (report_with(difference("hard")), 1),
        (report_with(difference("hard"), stopped="interrupted"), 2),
        (report_with(refusals=["no"]), 3),
    ],
)
def test_exit_codes(report: Report, code: int) -> None:
    assert report.exit_code == code
    assert json.loads(as_json(report))["exit_code"] == code
    assert as_text(report).startswith(f"title: {report.verdict}")


def test_junit_is_xml_whatever_a_peer_says() -> None:
    suite = ElementTree.fromstring(as_junit(report_with(difference("hard", "bell \x07 & <tag>"))))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None and failure.text == "outcome: channel 1: bell \ufffd & <tag>"


def test_every_rule_has_words() -> None:
    assert all(rule.doc and rule.severity in ("hard", "soft") for rule in RULES.values())


def test_pace() -> None:
    pacer = Pacer(2.0)
    assert pacer.due_ns(1000, 50) == 0
    pacer.sent(1000, 50)
    assert pacer.due_ns(3000, 60) == 1050
    pacer.sent(3000, 1100)
    assert list(pacer.lateness_ns) == [0, 50]
    # absolute: the next one is where it was; gaps: it moves with the late one
    assert pacer.due_ns(5000, 1100) == 2050
    gaps = Pacer(2.0, "gaps")
    gaps.sent(1000, 50)
    gaps.sent(3000, 1100)
    assert gaps.due_ns(5000, 1100) == 2100
    assert Pacer(None).due_ns(10**18, 0) == 0


@pytest.mark.parametrize("text", ["0", "-1", "fast", "nan"])
def test_speeds_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):
        parse_speed(text)


def test_spread() -> None:
    found = spread(list(range(100)))
    assert found is not None
    assert (found.count, found.p50_ns, found.p95_ns, found.max_ns) == (100, 50, 95, 99)
    assert spread([]) is None


def test_names_there_and_back() -> None:
    rewriter = Rewriter("p.", {"a": "b"})
    rewriter.expect("amq.gen-1")
    assert rewriter.name("amq.gen-1") is None
    rewriter.learn("amq.gen-1", "amq.gen-2")
    assert [rewriter.name(n) for n in ("q", "a", "", "amq.topic", "amq.gen-1")] == [
        "p.q", "b", "", "amq.topic", "amq.gen-2",
    ]  # fmt: skip
    assert rewriter.back("no queue 'p.q' in vhost '/'") == "no queue 'q' in vhost '/'"
    assert rewriter.back("amq.gen-2") == "amq.gen-1"
    assert rewriter.octets(b"see amq.gen-1") == b"see amq.gen-2"
