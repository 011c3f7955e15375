"""Shared by all tests: repeatable Hypothesis examples, quick tests first."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Test modules are imported by path; the helpers beside them (tests.samples) by name.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# The same examples on every run, and no failure because a machine is busy.
settings.register_profile("house", derandomize=True, deadline=None)
settings.load_profile("house")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests, then slow ones, then those with live peers: the sooner a failure is seen.

    What needs a Spark session is slow, however little it does with it."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: (_has(item, "live"), _has(item, "slow")))


def _has(item: pytest.Item, mark: str) -> bool:
    return item.get_closest_marker(mark) is not None
