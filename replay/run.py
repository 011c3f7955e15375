"""One replay from plan to report: safety, engines, the run, and the comparison of its recording."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dissectors.options import Options
from replay.cleanup import clean_up
from replay.compare import Comparison, Difference
from replay.driver import Driver
from replay.engine import Credentials, Engine, Settings, make_engine
from replay.latency import latencies, spread
from replay.live import Recording
from replay.pacing import Pacer, parse_speed
from replay.plan import Plan, refusal_of
from replay.report import ConnectionReport, Report
from replay.rewrite import Rewriter
from replay.rules import HARD, RULES, Silence
from replay.safety import Consent, judge
from replay.script import ConversationScript, Script, Tables, read_script
from replay.session import Limits, RunResult, Session
from replay.target import Target, parse_target
from replay.transport import TlsSettings, Transport, connect, resolve
from replay.views import View

# Problems that say that the file ends before its time.
CUT_CODES = frozenset(
    {"capture.truncated", "capture.bad_block", "capture.bad_compression", "capture.read_error"}
)


@dataclass(slots=True)
class ClientOptions:
    """What a run needs and a plan must not hold."""

    credentials: Credentials = field(default_factory=Credentials)
    tls: TlsSettings = field(default_factory=TlsSettings)
    consent: Consent = field(default_factory=Consent)
    ignored: tuple[str, ...] = ()
    fail_on: str = HARD
    save_live: str | None = None
    is_cleaned_up: bool = False
    connect_timeout_s: float = 10.0
    copy_no: int | None = None
    on_turn: Callable[[int], None] | None = None


def options_of(plan: Plan) -> Options:
    ports = {int(port): dialect for port, dialect in plan.ports.items()}
    return Options(forced_ports=ports, keylog=plan.keylog)


def make_rewriter(plan: Plan, target: Target | None) -> Rewriter:
    vhost = plan.vhost or (target.vhost if target else None)
    return Rewriter(plan.prefix, dict(plan.names), vhost)


def replay_client(plan: Plan, script: Script, options: ClientOptions) -> Report:
    """Replay the chosen connections against the plan's target."""
    if plan.target is None:
        raise ValueError("the plan has no target")
    target = parse_target(plan.target)
    silence = Silence(options.ignored)
    chosen = script.only(plan.chosen()) if plan.connections else script
    report = Report(f"replay to {target}", list(plan.captures), fail_on=options.fail_on)
    rewriter = make_rewriter(plan, target)
    engines = make_engines(chosen, plan, rewriter, options, report)
    verdict = judge(chosen, target, resolve(target.host), rewriter, options.consent)
    report.refusals += verdict.reasons()
    if not engines:
        reasons = [f"{c.connection_id} is {note}" for c in report.connections for note in c.notes]
        report.refusals += reasons or ["the capture holds no AMQP connection"]
    if report.refusals:
        return report
    with recording(options.save_live) as (path, record):
        result = drive(engines, plan, target, options, record)
        live = read_script(path) if os.path.getsize(path) else None
    if options.is_cleaned_up:
        clean_up(chosen, rewriter, lambda: open_transport(target, options), options.credentials)
    fill_report(report, chosen, result, live.tables if live else {}, rewriter, silence)
    return report


def judge_plan(plan: Plan, script: Script) -> list[str]:
    """What the rails say to a plan as it is, without any consent."""
    target = parse_target(plan.target or "")
    chosen = script.only(plan.chosen())
    verdict = judge(chosen, target, resolve(target.host), make_rewriter(plan, target), Consent())
    return verdict.reasons()


def make_engines(
    script: Script, plan: Plan, rewriter: Rewriter, options: ClientOptions, report: Report
) -> list[Engine]:
    """One per connection that can be replayed; the others are in the report with the reason."""
    settings = Settings(
        rewriter=rewriter,
        credentials=options.credentials,
        causality=plan.causality,
        mode="semantic" if plan.mode == "semantic" else "wire",
        max_frame_bytes=plan.frame_max,
        heartbeat_s=plan.heartbeat_s,
        copy_no=options.copy_no,
    )
    engines = []
    for conversation in script.connections:
        refusal = refusal_of(conversation, script)
        if refusal is not None:
            note = f"not replayed: {refusal}"
            report.connections.append(
                ConnectionReport(conversation.connection_id, conversation.dialect, notes=[note])
            )
            continue
        engines.append(make_engine(conversation, "client", settings))
    return engines


def open_transport(target: Target, options: ClientOptions) -> Transport:
    tls = options.tls if target.is_tls else None
    return connect(target.host, target.port, options.connect_timeout_s, tls)


def drive(
    engines: list[Engine],
    plan: Plan,
    target: Target,
    options: ClientOptions,
    record: Recording,
    sessions: list[Session] | None = None,
) -> RunResult:
    """``sessions``: a list to fill, for those who watch the run."""
    sessions = [] if sessions is None else sessions
    sessions += [
        Session(engine, lambda: open_transport(target, options), engine.settings.copy_no or 0)
        for engine in engines
    ]
    limits = Limits(plan.step_timeout_s, plan.max_time_s)
    return Driver(
        sessions,
        Pacer(parse_speed(plan.speed), plan.pace),
        limits,
        record,
        is_ordered=plan.causality != "protocol",
        on_turn=options.on_turn,
    ).run()


@contextlib.contextmanager
def recording(path: str | None) -> Iterator[tuple[str, Recording]]:
    """A recording in the given file, or in one that is gone afterwards."""
    if path is not None:
        with open(path, "wb") as file:
            yield path, Recording(file)
        return
    with tempfile.NamedTemporaryFile(prefix="amqpscope-replay-", suffix=".pcap") as file:
        yield file.name, Recording(file)  # type: ignore[arg-type]


def fill_report(
    report: Report,
    script: Script,
    result: RunResult,
    live: Tables,
    rewriter: Rewriter,
    silence: Silence,
    peer: str = "server",
) -> None:
    """Compare what each session recorded with what was captured of it."""
    report.elapsed_s = result.elapsed_s
    report.stopped = result.stopped
    by_client: dict[str, str] = {}
    for row in live.get("connections", []):
        by_client[row["client"]] = row["connection_id"]
    for session in result.sessions:
        report.connections.append(
            _report_session(session, script, live, by_client, rewriter, silence, peer)
        )
    captured = latencies(script.tables)
    heard = latencies(live)
    report.latency = {name: (spread(captured[name]), spread(heard[name])) for name in captured}
    report.lateness = spread(result.lateness_ns)


def _report_session(
    session: Session,
    script: Script,
    live: Tables,
    by_client: dict[str, str],
    rewriter: Rewriter,
    silence: Silence,
    peer: str,
) -> ConnectionReport:
    engine = session.engine
    conversation = session.conversation
    found = ConnectionReport(
        conversation.connection_id,
        conversation.dialect,
        engine.sent_step_count,
        engine.skipped_step_count,
        session.failure or shortcoming(script, conversation),
        [note.text for note in engine.notes],
    )
    live_id = by_client.get(session.client_name)
    # A session that was never let in has shown nothing that could be compared.
    if live_id is not None and not (session.failure and not engine.sent_step_count):
        tables = script.tables
        if conversation.has_gaps:
            tables = _complete_part(tables, conversation)
        captured = View(conversation.connection_id, tables)
        other = View(live_id, live, rewriter.back, engine.body_hashes)
        found.differences = Comparison(captured, other, peer, silence).run()
    elif not session.failure and not silence.covers("connection"):
        rule = RULES["connection"]
        found.differences.append(
            Difference(rule.id, rule.severity, conversation.connection_id, "connection",
                       "connection", "no live connection was made for it")
        )  # fmt: skip
    if not any(d.severity == HARD for d in found.differences) and not silence.covers("wait"):
        rule = RULES["wait"]
        found.differences += [
            Difference(rule.id, rule.severity, conversation.connection_id, "connection", note.code,
                       note.text, packet_no=note.step.packet_no if note.step else None)
            for note in engine.notes
            if note.severity == HARD
        ]  # fmt: skip
    return found


def _complete_part(tables: Tables, conversation: ConversationScript) -> Tables:
    """The rows of what was replayed: those of a capture with lost bytes end where it begins."""
    last = conversation.last_ts_ns
    columns = {"frames": "ts_ns", "transfers": "last_ts_ns"}
    part = {
        name: [r for r in rows if name not in columns or r[columns[name]] <= last]
        for name, rows in tables.items()
    }
    unknown = {"close_initiator": None, "close_code": None, "close_condition": None}
    part["connections"] = [{**row, **unknown} for row in tables.get("connections", [])]
    return part


def shortcoming(script: Script, conversation: ConversationScript) -> str | None:
    """Why a replay of it cannot be the whole of it."""
    if conversation.has_gaps:
        last = conversation.steps[-1].packet_no if conversation.steps else 0
        return (
            f"the capture lacks bytes after packet {last}: only the part before was replayed"
            f" ({conversation.lost_step_count} frames were not)"
        )
    cut = [p for p in script.problems if p["code"] in CUT_CODES]
    if cut and conversation.row.get("tcp_end") == "open":
        return f"the capture is cut off ({cut[0]['detail']}): replayed as far as it goes"
    return None
