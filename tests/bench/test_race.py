"""The benchmarks run: their numbers are for people, never asserted."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from click.testing import CliRunner

import bench
from bench.race import main


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(bench.__path__)])
def test_every_benchmark_can_be_started(name: str) -> None:
    importlib.import_module(f"bench.{name}")


@pytest.mark.live
def test_the_race_against_tshark_is_run_to_its_end() -> None:
    run = CliRunner().invoke(main, ["--megabytes", "1"], catch_exceptions=False)
    assert run.exit_code == 0
    for dialect in ("0-9-1", "1.0"):
        assert f"AMQP {dialect}, 1 MB" in run.output
    assert run.output.count("tshark -T fields") == run.output.count("plain Python") == 4
