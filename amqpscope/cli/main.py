"""The front door: finds the command's module by name and imports nothing else.

Exit codes, for all commands: 0 done; 2 wrong use, or nothing could be read or written; 130
interrupted.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Any

import click

from amqpscope import __version__

COMMANDS = ("dissect", "analyze", "demo", "replay")
EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130
# So many new objects between two searches for cycles: while a command loads they are modules'.
OBJECTS_PER_COLLECTION = 100_000


class Commands(click.Group):
    """Commands by module name, imported when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"amqpscope.cli.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader of our output has left (`| head`): nobody is there to be told.
            _drop_output()
            return None
        except KeyboardInterrupt:  # click would say 1
            click.echo("amqpscope: interrupted", err=True)
            sys.exit(EXIT_INTERRUPTED)
        return result


def _drop_output() -> None:
    """What waits to be written, or comes yet, goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from dissectors import backend

        click.echo(f"amqpscope {__version__} ({backend.describe()})")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Version, and whether the compiled or the plain Python backend is active.",
)
def cli() -> None:
    """From AMQP packet captures to tables, with nothing lost.

    \b
    Exit codes: 0 done
                2 wrong use, or nothing could be read or written
              130 interrupted
    """


def main() -> None:
    gc.set_threshold(OBJECTS_PER_COLLECTION)
    # No command does linear algebra: its threads would only spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.stdout is None:  # closed by the caller (`>&-`)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    try:
        cli(prog_name="amqpscope")
    except OSError as failure:  # commands tell theirs; this is the output itself, of `--help` too
        _drop_output()
        click.echo(f"amqpscope: {failure.strerror or failure}", err=True)
        sys.exit(EXIT_MISTAKE)
    finally:
        # What is left goes with the process: no search for cycles in it before that.
        gc.freeze()
