"""Shared by all tests: repeatable Hypothesis examples, quick tests first, work for all cores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# Test modules are imported by path; the helpers beside them (tests.samples) by name.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# The same examples on every run, and no failure because a machine is busy.
settings.register_profile("house", derandomize=True, deadline=None)
settings.load_profile("house")

# Its files share a session, and Spark uses all cores by itself.
SPARK = "tests/spark_etl/"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Quick tests, then slow ones, then those with live peers: the sooner a failure is seen. Where
    several processes share them, the longest piece of work goes first: the end waits for it.

    What needs a Spark session is slow, however little it does with it."""
    is_shared = hasattr(config, "workerinput")
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
    items.sort(
        key=lambda item: (
            is_shared and not item.nodeid.startswith(SPARK),
            _has(item, "live"),
            _has(item, "slow"),
        )
    )


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return TogetherScheduling(config, log)


class TogetherScheduling(LoadScopeScheduling):
    """With ``pytest -n``, the tests of a file run in one process, with the broker that they start;
    so do all tests of Spark."""

    def _split_scope(self, nodeid: str) -> str:
        return SPARK if nodeid.startswith(SPARK) else nodeid.partition("::")[0]


def _has(item: pytest.Item, mark: str) -> bool:
    return item.get_closest_marker(mark) is not None
