"""Methods by name as tshark 4.0.17 counts them (`samples/manifest.json`), and where it is wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from dissectors.amqp09.dialects import load_dialect
from dissectors.amqp09.field_types import preferred_systems
from dissectors.amqp09.methods import decode_method
from tests.dissectors.amqp09.test_samples_truth import by_file, family, tables_of
from tests.samples import Entry, entry

# sample → (ours and not tshark's, tshark's and not ours)
DIFFERENCES: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    # class 50 has no method 99: it is in `problems`; and tshark counts a header as a method
    "04b": ({"unknown-method": 1}, {"50.99": 1, "header:0-9-1": 1}),
    "26": ({}, {"header:1-0-9": 1}),
    # 0-8: connection.close is 60 and close-ok 61 (see the test of the octets below)
    "28": (
        {"connection.close": 1, "connection.close-ok": 1},
        {"connection.blocked": 1, "connection.unblocked": 1},
    ),
}
# Swapped packets: tshark loses frames; the original's counts are the truth.
REORDERED = {"23c": "02"}


def number(found: Entry) -> str:
    return found["file"].split("_")[0]


@pytest.mark.parametrize("found", family(), ids=by_file)
def test_methods_by_name(found: Entry) -> None:
    tables = tables_of(found)
    ours = Counter(r["name"] for r in tables["frames"] if r["frame_type"] == "method")
    source = entry(REORDERED[number(found)]) if number(found) in REORDERED else found
    tshark = Counter(source["tshark"]["counts"])
    assert (ours - tshark, tshark - ours) == DIFFERENCES.get(number(found), ({}, {}))


def test_tshark_loses_frames_of_swapped_packets() -> None:
    shown = entry("23c")["tshark"]["counts"]
    assert shown["basic.deliver"] < entry("02")["tshark"]["counts"]["basic.deliver"]


@pytest.mark.parametrize(
    ("octets", "name_08", "name_091"),
    [
        # 0-8, class connection: close = 60 (reply-code, reply-text, class, method)
        (b"\0\x0a\0\x3c\0\xc8\x02ok\0\0\0\0", "connection.close", "connection.blocked"),
        (b"\0\x0a\0\x3d", "connection.close-ok", "connection.unblocked"),
    ],
)
def test_close_of_0_8(octets: bytes, name_08: str, name_091: str) -> None:
    for version, name in (("0-8", name_08), ("0-9-1", name_091)):
        decoded = decode_method(octets, load_dialect(version), preferred_systems(version))
        assert decoded is not None
        assert decoded.method.full_name == name
        # Only the right reading takes all octets.
        assert bool(decoded.trailing) == (name == "connection.blocked")


def test_class_50_has_no_method_99() -> None:
    assert load_dialect("0-9-1").method_name(50, 99) is None
