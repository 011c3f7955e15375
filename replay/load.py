"""Load mode: many copies of a replay at once, in several processes.

Each copy has a prefix (and a container-id) of its own, so that copies do not meet. Every process
reads the capture, runs its copies in one driver and reports; this file adds the reports up.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from replay.latency import latencies, spread
from replay.plan import Plan
from replay.report import ConnectionReport, Report
from replay.rules import Silence
from replay.run import (
    ClientOptions,
    drive,
    fill_report,
    make_engines,
    make_rewriter,
    options_of,
    recording,
)
from replay.safety import judge
from replay.script import Script, read_script
from replay.target import parse_target
from replay.transport import resolve

PROGRESS_S = 0.5
# Beyond the run's own limit, for start-up and comparison.
GRACE_S = 60.0


@dataclass(slots=True)
class Progress:
    """How far all copies are together."""

    sent_steps: int = 0
    sent_bytes: int = 0
    elapsed_s: float = 0.0

    def line(self) -> str:
        rate = self.sent_steps / self.elapsed_s if self.elapsed_s else 0.0
        megabytes = self.sent_bytes / 1e6
        return f"{self.sent_steps:,} frames, {rate:,.0f}/s, {megabytes:,.1f} MB sent"


@dataclass(slots=True)
class Share:
    """What one process has to report."""

    connections: list[ConnectionReport] = field(default_factory=list)
    latency: dict[str, list[int]] = field(default_factory=dict)
    lateness_ns: list[int] = field(default_factory=list)
    elapsed_s: float = 0.0
    stopped: str | None = None


def copy_prefix(prefix: str, number: int) -> str:
    return f"{prefix}c{number}."


def replay_load(
    plan: Plan,
    script: Script,
    options: ClientOptions,
    process_count: int | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Report:
    """Run ``plan.copies`` copies; differences of all of them are in the report."""
    if plan.target is None:
        raise ValueError("the plan has no target")
    target = parse_target(plan.target)
    Silence(options.ignored)
    report = Report(f"load of {plan.copies} copies on {target}", list(plan.captures),
                    fail_on=options.fail_on)  # fmt: skip
    own = replace(plan, prefix=copy_prefix(plan.prefix, 1))
    chosen = script.only(plan.chosen()) if plan.connections else script
    rewriter = make_rewriter(own, target)
    rewriter.prefix = own.prefix
    verdict = judge(chosen, target, resolve(target.host), rewriter, options.consent)
    report.refusals += verdict.reasons()
    if report.refusals:
        return report
    count = min(plan.copies, process_count or os.cpu_count() or 1)
    numbers = [list(range(1, plan.copies + 1))[i::count] for i in range(count)]
    shares = _run_processes(plan, options, numbers, on_progress)
    _add_up(report, script, shares)
    return report


def _run_processes(
    plan: Plan,
    options: ClientOptions,
    numbers: list[list[int]],
    on_progress: Callable[[Progress], None],
) -> list[Share]:
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(len(numbers), context) as pool:
        told = manager.Queue()
        plain = replace(options, on_turn=None)
        futures = [pool.submit(_run_share, plan, plain, chosen, told) for chosen in numbers]
        _watch(futures, told, plan.max_time_s + GRACE_S, on_progress)
        return [future.result() for future in futures]


def _watch(
    futures: list[Future[Share]],
    told: Any,
    limit_s: float,
    on_progress: Callable[[Progress], None],
) -> None:
    """Pass progress on until all are done. An interrupt reaches the processes, too: they stop."""
    latest: dict[int, tuple[int, int]] = {}
    began = time.monotonic()
    while not all(future.done() for future in futures) and time.monotonic() - began < limit_s:
        try:
            process, steps, octets = told.get(timeout=PROGRESS_S)
            latest[process] = (steps, octets)
        except queue.Empty:
            pass
        except KeyboardInterrupt:
            continue
        on_progress(_total(latest, time.monotonic() - began))
    with contextlib.suppress(queue.Empty):
        while True:
            process, steps, octets = told.get_nowait()
            latest[process] = (steps, octets)
    on_progress(_total(latest, time.monotonic() - began))


def _total(latest: dict[int, tuple[int, int]], elapsed_s: float) -> Progress:
    steps, octets = (sum(values) for values in zip((0, 0), *latest.values(), strict=True))
    return Progress(steps, octets, elapsed_s)


def _run_share(plan: Plan, options: ClientOptions, numbers: list[int], told: Any) -> Share:
    """The copies of one process."""
    script = read_script(plan.captures, options_of(plan))
    chosen = script.only(plan.chosen()) if plan.connections else script
    target = parse_target(plan.target or "")
    silence = Silence(options.ignored)
    reports = {number: Report("", []) for number in numbers}
    rewriters = {}
    engines = []
    for number in numbers:
        own = replace(plan, prefix=copy_prefix(plan.prefix, number))
        rewriters[number] = make_rewriter(own, target)
        engines += make_engines(
            chosen, own, rewriters[number], replace(options, copy_no=number), reports[number]
        )
    last = [0.0]

    def tell(now_ns: int) -> None:
        if time.monotonic() - last[0] >= PROGRESS_S:
            last[0] = time.monotonic()
            tell_now()

    def tell_now() -> None:
        told.put((os.getpid(), sum(e.sent_step_count for e in engines),
                  sum(s.sent_bytes for s in sessions)))  # fmt: skip

    sessions: list[Any] = []
    with recording(None) as (path, record):
        result = drive(engines, plan, target, replace(options, on_turn=tell), record, sessions)
        tell_now()
        live = read_script(path).tables
    share = Share(
        latency=latencies(live),
        lateness_ns=result.lateness_ns,
        elapsed_s=result.elapsed_s,
        stopped=result.stopped,
    )
    everything = result.sessions
    for number in numbers:
        result.sessions = [s for s in everything if s.group == number]
        fill_report(reports[number], chosen, result, live, rewriters[number], silence)
        for connection in reports[number].connections:
            connection.connection_id = f"{connection.connection_id} copy {number}"
        share.connections += reports[number].connections
    return share


def _add_up(report: Report, script: Script, shares: list[Share]) -> None:
    report.connections = [c for share in shares for c in share.connections]
    report.elapsed_s = max((share.elapsed_s for share in shares), default=0.0)
    report.stopped = next((share.stopped for share in shares if share.stopped), None)
    captured = latencies(script.tables)
    for name, values in captured.items():
        live = [v for share in shares for v in share.latency.get(name, [])]
        report.latency[name] = (spread(values), spread(live))
    report.lateness = spread([v for share in shares for v in share.lateness_ns])
    frames = sum(c.sent_steps for c in report.connections)
    rate = frames / report.elapsed_s if report.elapsed_s else 0.0
    report.load = {"frames_sent": frames, "frames_per_second": round(rate)}
