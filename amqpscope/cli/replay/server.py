"""``amqpscope replay server``: a mock broker from a capture."""

from __future__ import annotations

import click

from amqpscope.cli.options import fail, make_options
from amqpscope.cli.replay.options import (
    finish,
    judging_options,
    reading_options,
    replay_mistakes,
)


@click.command("server")
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE…")
@reading_options
@judging_options
@click.option("listen", "--listen", default="127.0.0.1:5672", show_default=True,
              metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.")  # fmt: skip
@click.option("--unmatched", type=click.Choice(["close", "error", "ignore"]), default="close",
              show_default=True, help="What a client gets for something that was not captured:"
              " close the connection, an error on the channel, or nothing.")  # fmt: skip
@click.option("--speed", default="max", show_default=True, metavar="1|10|max",
              help="Pace of what the server sends.")  # fmt: skip
@click.option("max_time_s", "--max-time", type=click.FloatRange(0.0, min_open=True), default=300.0,
              show_default=True, metavar="S", help="End the run.")  # fmt: skip
@click.option("connection_count", "--count", type=click.IntRange(1),
              help="Connections to serve before the report.  [default: as captured]")  # fmt: skip
@click.option("--save-live", metavar="FILE", help="Save the live run as a capture.")
def command(
    captures: tuple[str, ...],
    ports: tuple[tuple[int, str | None], ...],
    keylog: str | None,
    connections: tuple[str, ...],
    ignored: tuple[str, ...],
    fail_on: str,
    junit: str | None,
    as_json: bool,
    listen: str,
    unmatched: str,
    speed: str,
    max_time_s: float,
    connection_count: int | None,
    save_live: str | None,
) -> None:
    """Be the captured server for a live client, and say what the client did differently.

    Each captured connection is served to the next client that comes. Tags, names that the client
    makes up and times may differ; any user name and password is accepted.

    \b
    Examples:
      amqpscope replay server trace.pcap --listen 127.0.0.1:5680
      amqpscope replay server trace.pcap --listen 127.0.0.1:0 --unmatched error --junit out.xml

    \b
    Exit codes: 0 same, 1 different, 2 failed, 3 refused
    """
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal():
        fail(f"--listen wants HOST:PORT, not {listen!r}")
    with replay_mistakes():
        from replay.script import read_script
        from replay.server import ServerOptions, serve

        script = read_script(captures, make_options(ports, keylog, False))
        if connections:
            try:
                script = script.only(connections)
            except KeyError as unknown:
                fail(f"no connection {unknown} in the capture")
        options = ServerOptions(
            host.strip("[]"), int(port), unmatched, speed, max_time_s=max_time_s, ignored=ignored,
            fail_on=fail_on, save_live=save_live, connection_count=connection_count,
        )  # fmt: skip
        report = serve(
            script, options, lambda at: click.echo(f"listening on {host}:{at}", err=True)
        )
        finish(report, as_json, junit)
