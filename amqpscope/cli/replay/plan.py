"""``amqpscope replay plan``: a dry run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from amqpscope.cli.replay.options import (
    make_plan,
    planning_options,
    reading_options,
    replay_mistakes,
)

if TYPE_CHECKING:
    from replay.plan import ConnectionPlan, Plan

MAX_NAMES_SHOWN = 8


@click.command("plan")
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE…")
@reading_options
@planning_options
@click.option("out", "-o", "--output", metavar="FILE", help="Save the plan; `client` takes it.")
@click.option("as_json", "--json", is_flag=True, help="Print the plan as JSON.")
def command(
    captures: tuple[str, ...],
    ports: tuple[tuple[int, str | None], ...],
    keylog: str | None,
    connections: tuple[str, ...],
    out: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Say what a replay would do, and send nothing.

    Which connections, what is sent, waited for and rewritten, what cannot be replayed and why,
    whether the safety rails would let it pass, and how long it takes.

    \b
    Examples:
      amqpscope replay plan trace.pcap
      amqpscope replay plan trace.pcap --to amqp://127.0.0.1:5672 --prefix test. -o trace.plan
      amqpscope replay client trace.plan --speed max
    """
    with replay_mistakes():
        plan, script = make_plan(captures, ports, keylog, connections, given)
        if plan.target is not None:
            from replay.run import judge_plan

            plan.objections = judge_plan(plan, script)
        if out is not None:
            from replay.plan import save_plan

            save_plan(plan, out)
        click.echo(plan.to_json() if as_json else _as_text(plan, out))


def _as_text(plan: Plan, out: str | None) -> str:
    pace = "as fast as causality allows" if plan.speed == "max" else f"{plan.estimate_s:g} s"
    lines = [
        f"{len(plan.chosen())} of {len(plan.connections)} connections can be replayed,"
        f" mode {plan.mode}, causality {plan.causality}, {pace}"
    ]
    for number, connection in enumerate(plan.connections, 1):
        lines += _connection_lines(number, connection)
    if plan.target is None:
        lines.append("Safety    not judged: no target given (--to)")
    else:
        lines += [f"Safety    {line}" for line in plan.objections or [f"{plan.target} may be used"]]
    if out is not None:
        lines.append(f"Saved     {out}: amqpscope replay client {out}")
    return "\n".join(lines)


def _connection_lines(number: int, connection: ConnectionPlan) -> list[str]:
    head = f"{number}. {connection.connection_id}  {connection.client} → {connection.server}"
    lines = [f"{head}  AMQP {connection.dialect}, {connection.duration_s:g} s"]
    if connection.refusal is not None:
        return [*lines, f"    refused: {connection.refusal}"]
    if not connection.is_replayed:
        return [*lines, "    left out"]
    lines += [
        f"    sends    {_counts(connection.sends)}",
        f"    awaits   {_counts(connection.waits_for)}",
        f"    rewrites {', '.join(connection.rewrites)}",
    ]
    return [*lines, *(f"    remark   {remark}" for remark in connection.remarks)]


def _counts(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    shown = [f"{count} {name}" for name, count in ordered[:MAX_NAMES_SHOWN]]
    rest = len(ordered) - len(shown)
    return ", ".join(shown) + (f" and {rest} more kinds" if rest > 0 else "") or "nothing"
