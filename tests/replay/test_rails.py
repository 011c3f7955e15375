"""Targets, credentials, safety, plans: what is refused, and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.plan import Plan, PlanError, describe, is_plan, load_plan, save_plan
from replay.rewrite import Rewriter
from replay.run import ClientOptions, replay_client
from replay.safety import Consent, judge
from replay.script import read_script
from replay.target import Target, TargetError, parse_target, read_credentials
from tests.samples import sample

LOCAL = Target("127.0.0.1", 5999)


def test_targets() -> None:
    assert parse_target("amqp://h") == Target("h", 5672)
    assert parse_target("amqps://h:1/%2F") == Target("h", 1, True, "/")
    assert str(parse_target("amqp://[::1]:7/v")) == "amqp://[::1]:7/v"


@pytest.mark.parametrize("url", ["http://h", "amqp://", "h:5672", "amqp://h:99999"])
def test_what_is_no_target(url: str) -> None:
    with pytest.raises(TargetError):
        parse_target(url)


def test_credentials_have_no_place_in_a_url() -> None:
    with pytest.raises(TargetError, match="no credentials in the URL: set AMQPSCOPE_USERNAME") as e:
        parse_target("amqp://user:hush@h")
    assert "hush" not in str(e.value)


def test_credentials_from_file_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret"
    file.write_text("me\nmine\n")
    assert read_credentials(str(file)).plain_response() == b"\0me\0mine"
    monkeypatch.setenv("AMQPSCOPE_USERNAME", "you")
    monkeypatch.setenv("AMQPSCOPE_PASSWORD", "yours")
    assert read_credentials(None).plain_response() == b"\0you\0yours"
    assert "yours" not in repr(read_credentials(None))


def reasons(
    target: Target, addresses: set[str], rewriter: Rewriter, consent: Consent | None = None
) -> list[str]:
    script = read_script(sample("03"))
    return judge(script, target, addresses, rewriter, consent or Consent()).reasons()


def test_a_prefix_on_this_machine_is_allowed() -> None:
    assert reasons(LOCAL, {"127.0.0.1"}, Rewriter(prefix="p.")) == []


def test_another_machine_needs_consent_and_a_prefix() -> None:
    remote = Target("broker", 5672)
    what = "amqp://broker:5672 is not on this machine"
    assert reasons(remote, {"10.0.0.1"}, Rewriter())[:2] == [
        f"{what} (--allow-remote allows it)",
        f"{what}: names must be kept apart by --prefix or --vhost",
    ]
    assert reasons(remote, {"10.0.0.1"}, Rewriter(prefix="p."), Consent(remote=True)) == []


def test_a_host_that_nobody_knows_is_not_on_this_machine() -> None:
    assert not judge(read_script(sample("01")), Target("nowhere", 1), set(), Rewriter(prefix="p."),
                     Consent()).is_allowed  # fmt: skip


def test_the_captured_address_needs_consent() -> None:
    found = reasons(Target("127.0.0.1", 5672), {"127.0.0.1"}, Rewriter(prefix="p."))
    assert found == [
        "amqp://127.0.0.1:5672 is where the capture was taken (--allow-captured-target allows it)"
    ]


def test_deleting_names_of_others_needs_consent() -> None:
    script = read_script(sample("09"))
    deletes = ["deletes queue 'dev.q9' (--allow-destructive allows it)"]
    for rewriter, consent, expected in (
        (Rewriter(), Consent(), deletes),
        (Rewriter(mapping={"other": "x"}), Consent(), deletes),
        (Rewriter(vhost="/"), Consent(), deletes),
        (Rewriter(vhost="another"), Consent(), []),
        (Rewriter(prefix="p."), Consent(), []),
        (Rewriter(), Consent(destructive=True), []),
    ):
        assert judge(script, LOCAL, {"127.0.0.1"}, rewriter, consent).reasons() == expected


def test_a_refused_run_opens_no_connection() -> None:
    path = sample("09")
    script = read_script(path)
    plan = Plan([path], target="amqp://192.0.2.1")
    describe(script, plan)
    report = replay_client(plan, script, ClientOptions())
    assert report.exit_code == 3
    assert report.connections == []


def test_plans_are_saved_and_read(tmp_path: Path) -> None:
    path = sample("09")
    plan = Plan([path], target="amqp://127.0.0.1", prefix="p.", names={"a": "b"})
    describe(read_script(path), plan)
    file = str(tmp_path / "x.plan")
    save_plan(plan, file)
    assert is_plan(file) and not is_plan(path)
    assert load_plan(file) == plan
    assert plan.connections[0].sends["basic.publish"] == 9
    assert plan.estimate_s > 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "is of version 2; this amqpscope reads version 1"),
        ({"format": "shopping list"}, "is no plan"),
        ({"colour": "blue"}, "unknown colour"),
    ],
)
def test_plans_that_are_not_understood_are_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    data = json.loads(Plan(["x.pcap"]).to_json()) | change
    file = tmp_path / "x.plan"
    file.write_text(json.dumps(data))
    with pytest.raises(PlanError, match=message):
        load_plan(str(file))


@pytest.mark.parametrize(
    ("number", "refusal"),
    [
        ("22a", "consumer 'ctag1.f437c147e9dd48b5908b1f406651ffe1' began before the capture"),
        ("04b", "its login was refused, and captured passwords are not sent again"),
        ("21a", "no AMQP can be read in it (tls)"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_the_reason(number: str, refusal: str) -> None:
    path = sample(number)
    plan = Plan([path])
    describe(read_script(path), plan)
    assert any((c.refusal or "").startswith(refusal) for c in plan.connections)


def test_a_prefix_that_makes_names_too_long_is_refused() -> None:
    path = sample("01")
    script = read_script(path)
    plan = Plan([path], target="amqp://127.0.0.1:5999", prefix="p" * 250)
    describe(script, plan)
    report = replay_client(plan, script, ClientOptions())
    assert report.exit_code == 3
    assert "longer than 255 octets" in report.refusals[0]
