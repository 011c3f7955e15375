"""Shared by all tests: repeatable Hypothesis examples, quick tests first, work for two processes."""

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

# What several files share and takes long to make: one process makes it and runs all their tests.
SHARED_FIXTURES = ("scene_tables", "found")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests, then slow ones, then those with live peers: the sooner a failure is seen.

    What needs a Spark session is slow, however little it does with it. Where processes share the
    tests (``pytest -n``), a file's tests stay together, with the broker that they started."""
    for item in items:
        names = getattr(item, "fixturenames", ())
        if "spark" in names:
            item.add_marker(pytest.mark.slow)
        shared = [name for name in SHARED_FIXTURES if name in names]
        item.add_marker(pytest.mark.xdist_group((shared or [item.nodeid.partition("::")[0]])[0]))
    items.sort(key=lambda item: (_has(item, "live"), _has(item, "slow")))


def _has(item: pytest.Item, mark: str) -> bool:
    return item.get_closest_marker(mark) is not None
