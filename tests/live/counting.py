"""Count rows the way the peers count messages."""

from __future__ import annotations

from collections import Counter
from typing import Any

from xxhash import xxh3_64_hexdigest

from tests.tables import Rows, Tables


def where(rows: Rows, **wanted: Any) -> Rows:
    """Rows in which these columns have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def outcomes(rows: Rows) -> Counter[str | None]:
    return Counter(row["outcome"] for row in rows)


def body_hashes(bodies: list[bytes]) -> Counter[str]:
    return Counter(xxh3_64_hexdigest(body) for body in bodies)


def assert_whole(tables: Tables, problems: tuple[str, ...] = ()) -> None:
    """A complete capture of peers that behave: every byte in a frame, every frame read."""
    assert set(tables.problem_codes()) <= set(problems), tables["problems"]
    for connection in tables["connections"]:
        seen = connection["bytes_c2s"] + connection["bytes_s2c"]
        assert connection["decoded_bytes"] == seen > 0
        assert connection["client_known_by"] == "syn"
    assert {row["status"] for row in tables["frames"]} == {"ok"}
    assert all(row["is_complete"] or row["is_aborted"] for row in tables["transfers"])
