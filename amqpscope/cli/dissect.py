"""``amqpscope dissect``: captures to tables, or to a summary a person can read."""

from __future__ import annotations

import click

from amqpscope.cli.options import dissection_options, fail, make_options, mistakes_in_one_line


@click.command("dissect")
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE…")
@click.option("out", "-o", "--output", metavar="DIR", help="Write the tables into this folder.")
@click.option(
    "file_format",
    "--format",
    type=click.Choice(["parquet", "csv", "jsonl"]),
    default="parquet",
    show_default=True,
    help="Format of the tables.",
)
@dissection_options
@click.option("as_json", "--json", is_flag=True, help="Print the summary as JSON.")
def command(
    captures: tuple[str, ...],
    out: str | None,
    file_format: str,
    ports: tuple[tuple[int, str | None], ...],
    keylog: str | None,
    payloads: bool,
    as_json: bool,
) -> None:
    """Dissect captures into tables; print what is in them.

    CAPTURE is a pcap or pcapng file (also .gz, .zst), a folder, a glob in quotes, or - for
    stdin. Several are read as one timeline: a connection may span rotated files.

    \b
    Examples:
      amqpscope dissect trace.pcap
      amqpscope dissect trace.pcap -o tables
      amqpscope dissect 'rotated_*.pcapng.gz' -o tables --format csv
      tcpdump -i eth0 -w - tcp | amqpscope dissect - -o tables
    """
    with mistakes_in_one_line():
        from amqpscope.dissection import dissect

        result = dissect(captures, make_options(ports, keylog, payloads), out, file_format)

        from amqpscope.reports import terminal

        click.echo(terminal.as_json(result) if as_json else terminal.as_text(result))
        if result.unreadable_because is not None:
            fail(result.unreadable_because)
