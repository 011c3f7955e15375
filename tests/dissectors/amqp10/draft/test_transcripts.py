"""The paper's transcripts: the samples are what the builder makes, and the tables tell what the
paper narrates (`truth` in the manifest)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.builders.draft_transcripts import TRANSCRIPTS, capture
from tests.samples import SAMPLES, entry
from tests.tables import Rows, Tables, dissect

NAMES = list(TRANSCRIPTS)
DIRECTIONS = {"sent": "c2s", "received": "s2c"}


def tables_of(name: str) -> tuple[Tables, dict[str, Any]]:
    return dissect(str(SAMPLES / name)), entry(name)["truth"]


def messages(tables: Tables) -> Rows:
    """Transfers that are no requests to the coordinator."""
    coordinators = {row["link_id"] for row in tables["links"] if row["kind"] == "coordinator"}
    return [row for row in tables["transfers"] if row["link_id"] not in coordinators]


@pytest.mark.parametrize("name", NAMES)
def test_the_sample_is_what_the_builder_makes(name):
    assert (SAMPLES / name).read_bytes() == capture(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_frame_is_read_and_nothing_is_odd(name):
    tables, truth = tables_of(name)
    deframed = entry(name)["deframed"]
    (connection,) = tables["connections"]
    assert connection["dialect"] == "1.0-draft"
    assert connection["decoded_bytes"] == deframed["stream_bytes"]
    assert len(tables["frames"]) == deframed["frames"] + deframed["protocol_headers"]
    assert {row["status"] for row in tables["frames"]} == {"ok"}
    assert tables["problems"] == []
    assert len(tables["sessions"]) == truth["sessions"]
    assert len(tables["links"]) == truth["links"]
    assert not any(row["is_inferred"] for row in tables["links"])


@pytest.mark.parametrize("name", NAMES)
def test_transfers_and_outcomes(name):
    tables, truth = tables_of(name)
    told = messages(tables)
    (what,) = (word for word in DIRECTIONS if word in truth)
    assert [row["direction"] for row in told] == [DIRECTIONS[what]] * truth[what]
    assert {row["address"] for row in told} == {truth["address"]}
    assert Counter(row["outcome"] for row in told if row["outcome"]) == truth["outcomes"]
    assert sum(row["settled_ts_ns"] is None for row in told) == truth.get("unsettled", 0)
    assert all(row["is_complete"] and row["body_kind"] == "data" for row in told)
    kinds = Counter((row["settle_kind"], row["settled_by"]) for row in told)
    assert kinds["implicit", "receiver"] == truth.get("settled_by_low_water_mark", 0)
    assert kinds["implicit", "implicit"] == truth.get("settled_by_link_end", 0)
    assert kinds["presettled", "sender"] == truth.get("presettled", 0)
    by_disposition = kinds["single", "receiver"] + kinds["single", "sender"]
    assert by_disposition == truth.get("settled_by_disposition", 0)


@pytest.mark.parametrize("name", NAMES)
def test_credit(name):
    tables, truth = tables_of(name)
    ids = {row["link_id"] for row in tables["links"] if row["kind"] == "link"}
    rows = [row for row in tables["credits"] if row["link_id"] in ids]
    assert sum(row["granted"] or 0 for row in rows) == truth.get("credit_granted", 0)
    if "credit_left" in truth:
        assert rows[-1]["sender_credit"] == truth["credit_left"]
    assert sum(bool(row["is_drain"]) for row in rows) == truth.get("drains", 0)
    stated = [row["incoming_window"] for row in rows if row["incoming_window"] is not None]
    assert stated[-1:] == ([truth["session_credit"]] if "session_credit" in truth else [])


@pytest.mark.parametrize("name", [name for name in NAMES if "transactional" in name])
def test_transactions(name):
    tables, truth = tables_of(name)
    (session,) = tables["sessions"]
    assert (session["commit_count"], session["rollback_count"]) == (truth["committed"], 0)
    (message,) = messages(tables)
    assert bytes.fromhex(message["transaction_id"]).decode() == truth["transaction"]
    assert message["transaction_outcome"] == "committed"
    requests = [row for row in tables["transfers"] if row["transaction_id"] is None]
    assert len(requests) == truth["declares"] + truth["discharges"]
    assert {row["outcome"] for row in requests} == {"accepted"}


def test_an_outcome_inside_a_transaction_takes_effect_when_it_is_settled():
    """Table 7: provisional with the client's disposition, settled by the broker after commit."""
    tables, _ = tables_of("34e_10draft_transactional_accept.pcap")
    (message,) = messages(tables)
    stated = [row for row in tables["frames"] if row["name"] == "disposition"]
    assert message["outcome_ts_ns"] == stated[1]["ts_ns"]
    assert message["settled_ts_ns"] == stated[3]["ts_ns"]


def test_all_transcripts_read_as_one_capture():
    tables = dissect([str(SAMPLES / name) for name in NAMES])
    assert len({row["connection_id"] for row in tables["connections"]}) == len(NAMES)
