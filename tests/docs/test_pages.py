"""The pages made from the code are up to date, and every table and problem is on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqpscope.docs import PAGES, write_pages
from dissectors.problems import PROBLEM_CODES
from dissectors.tables import TABLES

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_code_says(name: str, tmp_path: Path) -> None:
    write_pages(tmp_path)
    fresh = (tmp_path / name).read_text(encoding="utf-8")
    assert (DOCS / name).read_text(encoding="utf-8") == fresh, "run `make docs`"


def test_every_column_and_every_code_is_documented() -> None:
    tables = (DOCS / "tables.md").read_text(encoding="utf-8")
    for table in TABLES.values():
        section = tables.split(f"## {table.name}\n")[1].split("\n## ")[0]
        assert [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")] == (
            list(table.names())
        )
    problems = (DOCS / "problems.md").read_text(encoding="utf-8")
    assert all(f"| `{code}` |" in problems for code in PROBLEM_CODES)
