"""The mock server: captured servers for live clients, and what the clients did otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replay.driver import Driver
from replay.engine import Settings, make_engine
from replay.pacing import Pacer, parse_speed
from replay.plan import refusal_of
from replay.report import ConnectionReport, Report
from replay.rewrite import Rewriter
from replay.rules import HARD, Silence
from replay.run import fill_report, recording
from replay.script import Script, read_script
from replay.session import Limits, Session
from replay.transport import Listener, Transport


@dataclass(frozen=True, slots=True)
class ServerOptions:
    host: str = "127.0.0.1"
    port: int = 0
    unmatched: str = "close"
    speed: str = "max"
    pace: str = "absolute"
    max_time_s: float = 300.0
    ignored: tuple[str, ...] = ()
    fail_on: str = HARD
    save_live: str | None = None
    # How many connections are served before the report; None = as many as were captured.
    connection_count: int | None = None


def serve(
    script: Script, options: ServerOptions, on_listening: Callable[[int], None] = lambda _: None
) -> Report:
    """Serve the captured connections in their order, each to the next client that comes."""
    silence = Silence(options.ignored)
    served = [
        c for c in script.connections if refusal_of(c, script) is None and c.is_complete_from_start
    ]
    report = Report(
        f"mock server on {options.host}", list(script.captures), fail_on=options.fail_on
    )
    if not served:
        report.refusals.append("no connection of the capture can be served from its beginning")
        return report
    rewriter = Rewriter()
    listener = Listener(options.host, options.port)
    report.title = f"mock server on {options.host}:{listener.port}"
    waiting = list(served)
    wanted = options.connection_count or len(served)

    def accept(transport: Transport) -> Session:
        conversation = waiting.pop(0)
        if not waiting:
            # Clients beyond the captured ones get the same once more.
            waiting.extend(served)
        settings = Settings(rewriter=rewriter, unmatched=options.unmatched)
        return Session(make_engine(conversation, "server", settings), lambda: transport)

    with recording(options.save_live) as (path, record):
        driver = Driver(
            [],
            Pacer(parse_speed(options.speed), options.pace),
            Limits(max_time_s=options.max_time_s),
            record,
            is_ordered=False,
            door=(listener, accept, wanted),
        )
        on_listening(listener.port)
        try:
            result = driver.run()
        finally:
            listener.close()
        live = read_script(path).tables
    fill_report(report, script, result, live, rewriter, silence, "client")
    for conversation in served[len(result.sessions) :]:
        report.connections.append(
            ConnectionReport(
                conversation.connection_id, conversation.dialect, failure="no client came for it"
            )
        )
    return report
