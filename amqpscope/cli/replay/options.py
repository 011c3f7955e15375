"""What the replay commands share: options, and the way a report is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from amqpscope.cli.options import Port, fail, mistakes_in_one_line

if TYPE_CHECKING:
    from replay.plan import Plan
    from replay.report import Report
    from replay.script import Script

Function = Callable[..., Any]


def _add(function: Function, added: tuple[Callable[[Function], Function], ...]) -> Function:
    for option in reversed(added):
        function = option(function)
    return function


def reading_options(function: Function) -> Function:
    """How captures are read."""
    return _add(
        function,
        (
            click.option("ports", "--port", type=Port(), multiple=True,
                         help="Take this port for AMQP, of this dialect if given."),
            click.option("--keylog", type=click.Path(exists=True, dir_okay=False),
                         help="TLS key log to decrypt AMQPS with."),
            click.option("connections", "--connection", multiple=True, metavar="ID",
                         help="Only this connection: its id, or its number in the capture."
                              " May be repeated."),
        ),
    )  # fmt: skip


def planning_options(function: Function) -> Function:
    """What a plan holds. Nothing has a default here: a plan's own settings stand unless said."""
    return _add(
        function,
        (
            click.option("target", "--to", metavar="URL",
                         help="amqp://host:port or amqps://host:port, no credentials in it."),
            click.option("--mode", type=click.Choice(["wire", "semantic", "load"]),
                         help="wire: captured bytes (default); semantic: the same operations,"
                              " written anew; load: several copies at once."),
            click.option("--speed", metavar="1|10|max",
                         help="Factor on the captured pace, or max.  [default: 1]"),
            click.option("--pace", type=click.Choice(["absolute", "gaps"]),
                         help="absolute: times from the beginning (default);"
                              " gaps: distances between steps."),
            click.option("--copies", type=click.IntRange(1), help="Copies in load mode."),
            click.option("--prefix", help="Put this before every name of a queue or exchange."),
            click.option("--vhost", help="Use this virtual host."),
            click.option("names", "--map", multiple=True, metavar="OLD=NEW",
                         help="Use another name. May be repeated."),
            click.option("--causality", type=click.Choice(["protocol", "window", "strict"]),
                         help="What a step waits for: protocol: what the protocol needs;"
                              " window: also no more unconfirmed than captured, and order across"
                              " connections (default); strict: all that was captured before."),
            click.option("step_timeout_s", "--step-timeout",
                         type=click.FloatRange(0.0, min_open=True), metavar="S",
                         help="Give up what one step waits for.  [default: 10]"),
            click.option("max_time_s", "--max-time", type=click.FloatRange(0.0, min_open=True),
                         metavar="S", help="End the run.  [default: 300]"),
            click.option("frame_max", "--frame-max", type=click.IntRange(4096),
                         help="Agree to no larger frames; bodies are cut to it."),
            click.option("heartbeat_s", "--heartbeat", type=click.FloatRange(0.0), metavar="S",
                         help="Heartbeat to agree to.  [default: as captured]"),
        ),
    )  # fmt: skip


def judging_options(function: Function) -> Function:
    """How differences count and where the report goes."""
    return _add(
        function,
        (
            click.option("ignored", "--ignore", multiple=True, metavar="RULE",
                         help="Do not report this rule, or RULE:METHOD. May be repeated."),
            click.option("--fail-on", type=click.Choice(["hard", "soft"]), default="hard",
                         show_default=True, help="Which differences make the exit code 1."),
            click.option("--junit", metavar="FILE", help="Write the report as JUnit XML."),
            click.option("as_json", "--json", is_flag=True, help="Print the report as JSON."),
        ),
    )  # fmt: skip


def apply_to_plan(plan: Plan, given: dict[str, Any]) -> None:
    """Options that were given override what the plan says."""
    for name, value in given.items():
        if name == "names":
            for item in value:
                old, is_pair, new = item.partition("=")
                if not is_pair or not old or not new:
                    fail(f"--map wants OLD=NEW, not {item!r}")
                plan.names[old] = new
        elif value is not None:
            setattr(plan, name, value)
    from replay.pacing import parse_speed

    try:
        parse_speed(plan.speed)
    except ValueError:
        fail(f"--speed wants a factor such as 1 or 10, or max, not {plan.speed!r}")


def make_plan(
    sources: tuple[str, ...],
    ports: tuple[tuple[int, str | None], ...],
    keylog: str | None,
    connections: tuple[str, ...],
    given: dict[str, Any],
) -> tuple[Plan, Script]:
    """The plan and the script of captures, or of a plan file."""
    from replay.plan import Plan, describe, is_plan, load_plan
    from replay.run import options_of
    from replay.script import read_script

    is_loaded = len(sources) == 1 and is_plan(sources[0])
    plan = load_plan(sources[0]) if is_loaded else Plan(list(sources))
    plan.ports.update({str(port): dialect for port, dialect in ports})
    plan.keylog = keylog or plan.keylog
    apply_to_plan(plan, given)
    if plan.copies > 1:
        plan.mode = "load"
    script = read_script(plan.captures, options_of(plan))
    chosen = set(plan.chosen()) if is_loaded else None
    describe(script, plan)
    if connections:
        chosen = set()
        for name in connections:
            try:
                chosen.add(script.connection(name).connection_id)
            except KeyError:
                ids = ", ".join(c.connection_id for c in script.connections)
                fail(f"no connection {name!r} in the capture; there are {ids or 'none'}")
    if chosen is not None:
        for connection in plan.connections:
            connection.is_replayed = connection.is_replayed and connection.connection_id in chosen
    return plan, script


def finish(report: Report, as_json: bool, junit: str | None) -> NoReturn:
    """Print the report; its verdict is the exit code."""
    from replay import report as reports

    if junit is not None:
        Path(junit).write_text(reports.as_junit(report), encoding="utf-8")
    click.echo(reports.as_json(report) if as_json else reports.as_text(report))
    sys.exit(report.exit_code)


@contextmanager
def replay_mistakes() -> Iterator[None]:
    """One line for what the user or the peer did wrong."""
    from replay.plan import PlanError
    from replay.target import TargetError
    from replay.transport import TransportError

    with mistakes_in_one_line():
        try:
            yield
        except (PlanError, TargetError, TransportError) as mistake:
            fail(str(mistake))
        except ValueError as mistake:
            # Silence() names an unknown rule; anything else is a bug and keeps its traceback.
            if not str(mistake).startswith("no rule "):
                raise
            fail(str(mistake))
