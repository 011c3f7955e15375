"""Every 0-9-family sample: our tables say what its clients counted (`samples/manifest.json`)."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from tests.dissectors.amqp09.measures import MEASURES, NOT_ABOUT_MESSAGES, all_tied
from tests.samples import SAMPLES, Entry, entry, manifest, parts, sample
from tests.tables import Tables, dissect

FAMILY = ("0-8", "0-9", "0-9-1")
# Files in which something is missing: what must hold for them is in test_loss.
DAMAGED = ("23a", "23e")
FRAME_TYPES = {"method": "1", "header": "2", "body": "3", "heartbeat": "8"}


def family() -> list[Entry]:
    return [e for e in manifest() if e["dialect"] in FAMILY and not e["file"].startswith(DAMAGED)]


def whole() -> list[Entry]:
    return [e for e in family() if "parts" not in e["truth"]]


@cache
def _tables(file: str, keylog: str | None) -> Tables:
    options = {"keylog": str(SAMPLES / keylog)} if keylog else {}
    return dissect(str(SAMPLES / file), **options)


def tables_of(found: Entry) -> Tables:
    return _tables(found["file"], found["truth"].get("keylog"))


def by_file(found: Entry) -> str:
    return found["file"]


def truth_of(found: Entry) -> dict[str, object]:
    return found["truth"].get("source_truth", found["truth"])


# (sample, word) that the capture cannot show, and why
NOT_IN_CAPTURE = {
    ("22a", "prefetch_count"): "basic.qos came before the capture began",
    ("23c", "max_unacked"): "packets were swapped, and with them the times of deliveries and acks",
}
CASES = [
    (e, word)
    for e in whole()
    for word in truth_of(e)
    if word not in NOT_ABOUT_MESSAGES and (e["file"].split("_")[0], word) not in NOT_IN_CAPTURE
]


@pytest.mark.parametrize(
    ("found", "word"), CASES, ids=[f"{e['file'].split('_')[0]}-{word}" for e, word in CASES]
)
def test_truth(found: Entry, word: str) -> None:
    assert MEASURES[word](tables_of(found)) == truth_of(found)[word]


@pytest.mark.parametrize("found", whole(), ids=by_file)
def test_messages_are_whole_and_tied(found: Entry) -> None:
    tables = tables_of(found)
    assert all(row["is_complete"] for row in tables["transfers"])
    assert all(row["body_hash"] is not None for row in tables["transfers"])
    assert all_tied(tables, "return-of", "publish")
    returned = [row for row in tables["transfers"] if row["kind"] == "return"]
    assert all(row["relation"] == "return-of" for row in returned)


@pytest.mark.parametrize("found", [e for e in family() if e["deframed"]], ids=by_file)
def test_frame_types_as_a_script_counts_them(found: Entry) -> None:
    tables = tables_of(found)
    types = Counter(row["frame_type"] for row in tables["frames"])
    assert types.pop("protocol-header", 0) == found["deframed"]["protocol_headers"]
    assert {FRAME_TYPES[t]: n for t, n in types.items()} == found["deframed"]["frame_types"]


def test_rotated_parts_together_are_the_original() -> None:
    tables = dissect(parts("23g"))
    original = truth_of(entry("06"))
    for word in ("connections", "channels", "published", "confirms_received", "delivered", "acked"):
        assert MEASURES[word](tables) == original[word]


def test_every_body_of_interleaved_channels() -> None:
    """`sizes` of the manifest in numbers: channel index and k in the text, 11 octets per k."""
    rows = [r for r in dissect(sample("06"))["transfers"] if r["kind"] == "publish"]
    expected = Counter(len(str(i)) + len(str(k)) + 2 + 11 * k for i in range(12) for k in range(15))
    assert Counter(row["body_bytes"] for row in rows) == expected


def test_killed_consumer() -> None:
    tables = dissect(sample("33"))
    truth = truth_of(entry("33"))
    delivered = [r for r in tables["transfers"] if r["kind"] == "deliver"]
    counts = Counter(row["connection_id"] for row in delivered)
    assert sorted(counts.values()) == [truth["delivered_to_killed"], truth["delivered_to_second"]]
    assert sum(c["tcp_end"] == "rst" for c in tables["connections"]) == truth["resets"]
