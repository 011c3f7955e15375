"""Writes the pages that are made from the code: ``python -m amqpscope.docs [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path

from dissectors.problems import PROBLEM_CODES
from dissectors.tables import CORE_TABLES, SCHEMA_VERSION, TABLES, Table

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
}


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


PAGES = {"tables.md": tables_page, "problems.md": problems_page}


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
