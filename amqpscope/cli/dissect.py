"""``amqpscope dissect``: captures to tables, or to a summary a person can read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from amqpscope.cli.options import dissection_options, fail, make_options, mistakes_in_one_line

if TYPE_CHECKING:
    from dissectors.options import Options


@click.command("dissect")
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE…")
@click.option("out", "-o", "--output", metavar="DIR", help="Write the tables into this folder.")
@click.option(
    "file_format",
    "--format",
    type=click.Choice(["parquet", "csv", "jsonl"]),
    help="Format of the tables.  [default: parquet; aligned columns for --table]",
)
@click.option("table", "--table", metavar="NAME", help="Print rows of this table instead.")
@click.option("where", "--where", metavar="CONDITION", help="Only rows for which this holds.")
@click.option("columns", "--columns", metavar="A,B,…", help="Only these columns, in this order.")
@dissection_options
@click.option("as_json", "--json", is_flag=True, help="Print the summary as JSON.")
def command(
    captures: tuple[str, ...],
    out: str | None,
    file_format: str | None,
    table: str | None,
    where: str | None,
    columns: str | None,
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

    A quick look at one table, without files. Conditions know = != < <= > >=, in (…), like '…%',
    is null, and, or, not and parentheses; docs/tables.md has the columns:

    \b
      amqpscope dissect trace.pcap --table problems
      amqpscope dissect trace.pcap --table frames --columns ts_ns,name,size_bytes \\
          --where "name = 'basic.publish' and size_bytes > 100"
      amqpscope dissect trace.pcap --table transfers --where 'outcome is null' --format csv
    """
    chosen = make_options(ports, keylog, payloads)
    if table is not None:
        _check_look(table, out, file_format, payloads, as_json)
        _look(captures, chosen, table, where, columns, file_format or "text")
        return
    if where is not None or columns is not None:
        fail("--where and --columns are for the rows of one table: give --table")
    with mistakes_in_one_line():
        from amqpscope.dissection import dissect

        result = dissect(captures, chosen, out, file_format or "parquet")

        from amqpscope.reports import terminal

        click.echo(terminal.as_json(result) if as_json else terminal.as_text(result))
        if result.unreadable_because is not None:
            fail(result.unreadable_because)


def _check_look(
    table: str, out: str | None, file_format: str | None, has_payloads: bool, as_json: bool
) -> None:
    mistakes = (
        (out is not None, "--table prints rows, -o writes all tables: leave out one of them"),
        (file_format == "parquet", "--table prints rows: --format csv or jsonl, or none at all"),
        (as_json, "--json is for the summary: with --table it is --format jsonl"),
        (table == "payloads" and not has_payloads, "the table payloads needs --payloads"),
    )
    for is_made, message in mistakes:
        if is_made:
            fail(message)


def _look(
    captures: tuple[str, ...],
    options: Options,
    table: str,
    where: str | None,
    columns: str | None,
    file_format: str,
) -> None:
    with mistakes_in_one_line():
        from amqpscope.look import LookError, ask, look

        try:
            question = ask(table, where, columns)
        except LookError as mistake:
            fail(str(mistake))
        out = sys.stdout.buffer
        unreadable_because = look(captures, options, question, out, file_format)
        if unreadable_because is not None:
            fail(unreadable_because)
