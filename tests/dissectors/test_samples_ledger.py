"""Every bundled capture: all connections found, every byte of their streams accounted for."""

from __future__ import annotations

import pytest

from tests.samples import SAMPLES, manifest, parts
from tests.tables import Tables, dissect, ledger_errors, stream_bytes


def assert_ledger(tables: Tables) -> None:
    assert ledger_errors(tables) == []


@pytest.mark.parametrize("entry", manifest(), ids=lambda e: e["file"])
def test_every_byte_is_accounted_for(entry):
    tables = dissect(str(SAMPLES / entry["file"]))
    assert_ledger(tables)
    truth = entry["truth"].get("source_truth", entry["truth"])
    if "parts" not in entry["truth"]:
        assert len(tables["connections"]) == truth["connections"]
    if entry["deframed"]:
        assert stream_bytes(tables) == entry["deframed"]["stream_bytes"]
    if "dropped_tcp_payload_bytes" in entry["truth"]:
        missing = sum(row["missing_bytes"] for row in tables["connections"])
        assert 0 < missing <= sum(entry["truth"]["dropped_tcp_payload_bytes"])
        assert stream_bytes(tables) == stream_bytes(
            dissect(str(SAMPLES / entry["truth"]["derived_from"]))
        )


@pytest.mark.parametrize(("prefix", "connections"), [("23g_", 1), ("23h_", 2)])
def test_rotated_files_are_one_capture_in_any_order(prefix, connections):
    tables = dissect(parts(prefix))
    assert len(tables["connections"]) == connections
    assert all(row["missing_bytes"] == 0 for row in tables["connections"])
    assert_ledger(tables)
    assert dissect(parts(prefix)[::-1]) == tables


def test_no_decoder_bug_shows_in_any_sample():
    for entry in manifest():
        codes = dissect(str(SAMPLES / entry["file"])).problem_codes()
        assert not codes["frame.bug"], entry["file"]
