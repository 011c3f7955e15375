"""``amqpscope analyze``: flow control, settlement, latency and throughput, through Spark."""

from __future__ import annotations

import click

from amqpscope.cli.options import dissection_options, fail, make_options, mistakes_in_one_line


@click.command("analyze")
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE…|DIR")
@click.option("out", "-o", "--output", metavar="DIR", help="Write tables and metrics here.")
@click.option("--master", metavar="URL", help="Spark master.  [default: local[*]]")
@click.option(
    "--window", type=float, default=1.0, show_default=True, help="Seconds of a time window."
)
@click.option(
    "group_by", "--group-by", multiple=True, metavar="WORD", help="link (default), session, "
    "connection, address, client, server, vhost, dialect, kind. May be repeated.",
)  # fmt: skip
@click.option("--partitions", type=click.IntRange(min=1), help="Tasks to dissect with.")
@dissection_options
@click.option("is_watching", "--watch", is_flag=True, help="Take new files of DIR as they come.")
@click.option("is_once", "--once", is_flag=True, help="With --watch: take what is there, then end.")
@click.option("as_json", "--json", is_flag=True, help="Print the summary as JSON.")
def command(
    captures: tuple[str, ...],
    out: str | None,
    master: str | None,
    window: float,
    group_by: tuple[str, ...],
    partitions: int | None,
    ports: tuple[tuple[int, str | None], ...],
    keylog: str | None,
    payloads: bool,
    is_watching: bool,
    is_once: bool,
    as_json: bool,
) -> None:
    """Compute metrics from captures, or from a folder of tables, and print what stands out.

    Spark runs inside this machine unless --master names a cluster; no Java needs to be
    installed. With -o, all tables and metrics are written as Parquet.

    \b
    Examples:
      amqpscope analyze trace.pcap
      amqpscope analyze 'rotated_*.pcapng' -o out --window 10 --group-by address
      amqpscope analyze tables -o out
      amqpscope analyze captures/ -o out --watch
    """
    if is_watching and out is None:
        fail("--watch needs -o DIR: it keeps what it has done there")
    if is_once and not is_watching:
        fail("--once belongs to --watch")
    with mistakes_in_one_line():
        from amqpscope.analysis import Wish, run

        wish = Wish(
            captures=captures,
            output=out,
            options=make_options(ports, keylog, payloads),
            master=master,
            window_seconds=window,
            group_by=group_by,
            partitions=partitions,
            is_watching=is_watching,
            is_once=is_once,
        )
        click.echo(run(wish, as_json))
