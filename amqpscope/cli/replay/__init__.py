"""``amqpscope replay``: captured conversations played again."""

from __future__ import annotations

import importlib

import click

SUBCOMMANDS = ("plan", "client", "server", "diff")


class Subcommands(click.Group):
    """Subcommands by module name, imported when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        module = importlib.import_module(f"amqpscope.cli.replay.{cmd_name}")
        command: click.Command = module.command
        return command


@click.group("replay", cls=Subcommands)
def command() -> None:
    """Play captured sessions again and say what is different.

    \b
    plan      a dry run: what would be sent, waited for and rewritten
    client    play the captured clients against a live broker
    server    play the captured server for a live client: a mock broker
    diff      compare two captures by the same rules

    \b
    Examples:
      amqpscope replay plan trace.pcap
      amqpscope replay client trace.pcap --to amqp://127.0.0.1:5673 --prefix test.

    \b
    Exit codes: 0 same
                1 different
                2 failed, or wrong use
                3 refused by the safety rails
    """
