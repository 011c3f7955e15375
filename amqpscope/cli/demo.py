"""``amqpscope demo``: the main job on the bundled samples, one line for each."""

from __future__ import annotations

from pathlib import Path

import click

from amqpscope.cli.options import fail, mistakes_in_one_line

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@click.command("demo")
@click.option(
    "--samples",
    type=click.Path(file_okay=False, path_type=Path),
    default=SAMPLES,
    help="Folder of captures to use instead of the bundled ones.",
)
@click.option(
    "out", "-o", "--output", default="out/demo", show_default=True, help="Folder for the tables."
)
def command(samples: Path, out: str) -> None:
    """Dissect every bundled sample into tables and print what came out.

    \b
    Example:
      amqpscope demo -o tables
    """
    if not samples.is_dir():
        fail(f"{samples}: no such folder; --samples DIR names the captures to use")
    with mistakes_in_one_line():
        from amqpscope.demo import run

        for line in run(samples, Path(out)):
            click.echo(line)
