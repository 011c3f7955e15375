"""Writes the pages that are made from the code: ``python -m amqpscope.docs [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path

from amqpscope.dissection import dissect
from amqpscope.reports.picture import terminal_svg
from amqpscope.reports.terminal import as_text
from dissectors.options import Options
from dissectors.problems import PROBLEM_CODES
from dissectors.tables import CORE_TABLES, SCHEMA_VERSION, TABLES, Table
from spark_etl.metrics.definitions import METRICS
from spark_etl.metrics.options import GROUPS
from spark_etl.metrics.tiers import EQUAL_COUNTS, TIERS, UNEQUAL_COUNTS

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
PICTURED = "03_091_nack_requeue_reject_return_get.pcap"
_TYPES = {
    "int64": "int64",
    "int32": "int32",
    "bool": "bool",
    "ratio": "double, 0 to 1",
    "word": "string",
    "text": "string",
    "string": "string",
    "hash": "string, 16 hex digits",
    "bytes": "binary",
    "number": "double",
}

_LOOK = (
    "## A quick look",
    "",
    "`amqpscope dissect CAPTURE… --table NAME [--where CONDITION] [--columns A,B,…]` prints rows "
    "as they are found: in columns, or with `--format csv` or `--format jsonl` for a pipe. "
    "Conditions are those of SQL:",
    "",
    "| condition | |",
    "|---|---|",
    "| `size_bytes > 100` | also `=` `!=` `<` `<=` `>=`; with a value or another column |",
    "| `name in ('transfer', 'flow')` | one of these; texts are in quotes |",
    "| `routing_key like 'orders.%'` | `%` any characters, `_` one of them |",
    "| `outcome is null`, `outcome is not null` | absent or not |",
    "| `is_redelivered` | of a column that is true or false |",
    "| `not …`, `… and …`, `… or …`, `( … )` | `and` binds closer than `or` |",
    "",
    "Null compares with nothing: `outcome != 'accepted'` leaves out messages without an outcome.",
    "",
)


def tables_page() -> str:
    lines = [
        "# Tables",
        "",
        f"Schema version {SCHEMA_VERSION}, also in each Parquet file's metadata "
        "(`amqpscope.schema_version`). `amqpscope dissect CAPTURE… -o DIR` writes "
        f"{', '.join(f'`{t}`' for t in CORE_TABLES)}, empty ones too; `payloads` only with "
        "`--payloads`.",
        "",
        "Sessions, links and transfers are numbered within their connection: "
        "(`connection_id`, `session_id`), (`connection_id`, `link_id`) and "
        '(`connection_id`, `transfer_id`) are the keys. An absent value is null, never `""` '
        "or 0. Times are nanoseconds since 1970 UTC. Packet numbers are those that "
        "`tshark -Y frame.number==N` shows in the row's capture file.",
        "",
        *_LOOK,
    ]
    for table in TABLES.values():
        lines += [*_table_lines(table), ""]
    return "\n".join(lines)


def problems_page() -> str:
    lines = [
        "# Problems",
        "",
        "Whatever is malformed, missing, cut or skipped becomes a row in `problems` with one of "
        "these codes. `info`: the tables are right all the same; `warning`: something could not "
        "be known; `error`: bytes or messages are lost to the tables.",
        "",
        "| code | severity | meaning | what is done |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{p.code}` | {p.severity} | {_cell(p.meaning)} | {_cell(p.recovery)} |"
        for p in PROBLEM_CODES.values()
    ]
    return "\n".join([*lines, ""])


def metrics_page() -> str:
    lines = [
        "# Metrics",
        "",
        "`amqpscope analyze CAPTURE… -o DIR` writes these tables beside those of the dissectors "
        "([tables](tables.md)); `spark_etl.load(DIR)` gives all of them as pandas, by name. Times "
        "are nanoseconds; times of day since 1970 UTC. Packet numbers are those that "
        "`tshark -Y frame.number==N` shows in the row's capture file.",
        "",
        "`--group-by` joins links: "
        + ", ".join(f"`{word}`" for word in GROUPS)
        + "; columns that a grouping does not keep apart are null. It concerns "
        "flow_control, settlement, backlog, latencies and throughput; stalls, credit_timeline and "
        "end_to_end are always in full. `--window SECONDS` sets the time windows (1 s).",
        "",
    ]
    for metric in METRICS.values():
        lines += [*_table_lines(metric.table), "", f"Rests on: {metric.clauses}.", ""]
        lines += [f"How exact: {metric.exactness}", ""]
        if metric.table.name == "end_to_end":
            lines += [*_tier_lines(), ""]
    return "\n".join(lines)


def _tier_lines() -> list[str]:
    lines = ["| matched_by | equal | confidence |", "|---|---|---|"]
    for tier in TIERS:
        alone = ", and no other publish has it" if tier.is_unique_only else ""
        lines.append(f"| `{tier.name}` | {', '.join(tier.columns)}{alone} | {tier.confidence} |")
    return [
        *lines,
        "",
        "`route` is the routing key or queue of 0-9, and the node's name in a 1.0 address. Of "
        "several publishes with the same key the k-th goes with the k-th delivery, and the "
        f"confidence is multiplied by {EQUAL_COUNTS}, or by {UNEQUAL_COUNTS} where there are not "
        "as many deliveries as publishes.",
    ]


def picture() -> str:
    """The README's picture: what ``dissect`` says about a sample."""
    result = dissect([str(SAMPLES / PICTURED)], Options())
    command = f"$ amqpscope dissect samples/{PICTURED}"
    return terminal_svg([command, *as_text(result).splitlines()])


PAGES = {
    "tables.md": tables_page,
    "problems.md": problems_page,
    "metrics.md": metrics_page,
    "session.svg": picture,
}


def _table_lines(table: Table) -> list[str]:
    lines = [f"## {table.name}", "", f"{table.doc[0].upper()}{table.doc[1:]}.", ""]
    lines += ["| column | type | null | meaning |", "|---|---|---|---|"]
    for column in table.columns:
        null = "yes" if column.is_nullable else "never"
        lines.append(f"| `{column.name}` | {_TYPES[column.kind]} | {null} | {_cell(column.doc)} |")
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def write_pages(folder: Path) -> None:
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
