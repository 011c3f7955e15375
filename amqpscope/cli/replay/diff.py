"""``amqpscope replay diff``: two captures compared by the rules of replay."""

from __future__ import annotations

import click

from amqpscope.cli.options import Port, make_options
from amqpscope.cli.replay.options import finish, judging_options, replay_mistakes


@click.command("diff")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("ports", "--port", type=Port(), multiple=True,
              help="Take this port for AMQP, of this dialect if given.")  # fmt: skip
@click.option("--keylog", type=click.Path(exists=True, dir_okay=False),
              help="TLS key log to decrypt AMQPS with.")  # fmt: skip
@click.option("--peer", type=click.Choice(["server", "client", "both"]), default="both",
              show_default=True, help="Whose doings are compared.")  # fmt: skip
@click.option("--prefix", default="", help="B's names carry this prefix.")
@judging_options
def command(
    first: str,
    second: str,
    ports: tuple[tuple[int, str | None], ...],
    keylog: str | None,
    peer: str,
    prefix: str,
    ignored: tuple[str, ...],
    fail_on: str,
    junit: str | None,
    as_json: bool,
) -> None:
    """Compare two captures, or a capture and a saved live run, connection by connection.

    \b
    Examples:
      amqpscope replay diff monday.pcap tuesday.pcap
      amqpscope replay diff trace.pcap live.pcap --peer server --prefix test.

    \b
    Exit codes: 0 same, 1 different, 2 failed
    """
    with replay_mistakes():
        from replay.diff import diff_captures

        options = make_options(ports, keylog, False)
        finish(
            diff_captures(first, second, options, peer, prefix, ignored, fail_on), as_json, junit
        )
