"""``amqpscope replay client``: captured clients against a live broker."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from amqpscope.cli.options import fail
from amqpscope.cli.replay.options import (
    finish,
    judging_options,
    make_plan,
    planning_options,
    reading_options,
    replay_mistakes,
)

if TYPE_CHECKING:
    from replay.load import Progress


@click.command("client")
@click.argument("sources", nargs=-1, required=True, metavar="CAPTURE…|PLAN")
@reading_options
@planning_options
@judging_options
@click.option("credentials_file", "--credentials", type=click.Path(exists=True, dir_okay=False),
              help="File with name and password on two lines. Else AMQPSCOPE_USERNAME and"
                   " AMQPSCOPE_PASSWORD from the environment, else guest.")  # fmt: skip
@click.option("--mechanism", type=click.Choice(["PLAIN", "ANONYMOUS", "EXTERNAL"]),
              help="SASL mechanism.  [default: as captured]")  # fmt: skip
@click.option("ca_file", "--cafile", type=click.Path(exists=True, dir_okay=False),
              help="amqps: trust what this CA signed.")  # fmt: skip
@click.option("certificate", "--cert", type=click.Path(exists=True, dir_okay=False),
              help="amqps: our own certificate (with --key).")  # fmt: skip
@click.option("key_file", "--key", type=click.Path(exists=True, dir_okay=False),
              help="amqps: its private key.")  # fmt: skip
@click.option("is_insecure", "--insecure", is_flag=True, help="amqps: trust any certificate.")
@click.option("--allow-captured-target", is_flag=True,
              help="Let it replay to the address that was captured.")  # fmt: skip
@click.option("--allow-remote", is_flag=True, help="Let it leave this machine.")
@click.option("--allow-destructive", is_flag=True,
              help="Let it delete, purge or take over names without a prefix.")  # fmt: skip
@click.option("--save-live", metavar="FILE", help="Save the live run as a capture.")
@click.option("--cleanup", is_flag=True,
              help="Delete the queues and exchanges with our prefix afterwards.")  # fmt: skip
@click.option("process_count", "--processes", type=click.IntRange(1),
              help="Processes in load mode.  [default: one per core]")  # fmt: skip
def command(
    sources: tuple[str, ...],
    ports: tuple[tuple[int, str | None], ...],
    keylog: str | None,
    connections: tuple[str, ...],
    ignored: tuple[str, ...],
    fail_on: str,
    junit: str | None,
    as_json: bool,
    credentials_file: str | None,
    mechanism: str | None,
    ca_file: str | None,
    certificate: str | None,
    key_file: str | None,
    is_insecure: bool,
    allow_captured_target: bool,
    allow_remote: bool,
    allow_destructive: bool,
    save_live: str | None,
    cleanup: bool,
    process_count: int | None,
    **given: Any,
) -> None:
    """Play the captured clients against a live broker and compare.

    Every captured frame of the clients goes out as it was, but for what must change: credentials,
    delivery tags, names that the server makes, and what --prefix, --vhost and --map ask for. The
    answers are compared with the captured ones.

    \b
    Examples:
      amqpscope replay client trace.pcap --to amqp://127.0.0.1:5673 --prefix test. --cleanup
      amqpscope replay client trace.pcap --to amqp://127.0.0.1:5673 --vhost test --speed max
      amqpscope replay client trace.plan --junit result.xml --ignore counts
      amqpscope replay client trace.pcap --to amqp://127.0.0.1:5673 --copies 20 --speed max

    \b
    Exit codes: 0 same, 1 different, 2 failed, 3 refused
    """
    with replay_mistakes():
        plan, script = make_plan(sources, ports, keylog, connections, given)
        if plan.target is None:
            fail("where to? give --to amqp://host:port")
        if cleanup and not plan.prefix:
            fail("--cleanup deletes what carries the prefix: give --prefix")

        from replay.run import ClientOptions, replay_client
        from replay.safety import Consent
        from replay.target import read_credentials
        from replay.transport import TlsSettings

        options = ClientOptions(
            credentials=read_credentials(credentials_file, mechanism),
            tls=TlsSettings(ca_file, certificate, key_file, not is_insecure),
            consent=Consent(allow_captured_target, allow_remote, allow_destructive),
            ignored=ignored,
            fail_on=fail_on,
            save_live=save_live,
            is_cleaned_up=cleanup,
        )
        if plan.mode == "load":
            from replay.load import replay_load

            report = replay_load(plan, script, options, process_count, _show_progress)
            if sys.stderr.isatty():
                click.echo(err=True)
        else:
            report = replay_client(plan, script, options)
        finish(report, as_json, junit)


def _show_progress(progress: Progress) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{progress.line():<70}", nl=False, err=True)
