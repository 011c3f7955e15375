"""The TLS samples: with their keys they give the tables that their plain text would."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pamqp.commands import INDEX_MAPPING

from tests.builders.talk import Talk, write_pcap
from tests.dissectors.test_samples_ledger import assert_ledger
from tests.dissectors.tls import oracle
from tests.samples import entry, sample
from tests.tables import dissect, unlocated

NAMES = ["21a", "21b"]
VERSIONS = {"21a": "TLS 1.3", "21b": "TLS 1.2"}


def keylog_of(name: str) -> str:
    return str(Path(sample(name)).with_suffix(".keylog"))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_client_counted(name):
    truth = entry(name)["truth"]
    tables = dissect(sample(name), keylog=keylog_of(name))
    assert_ledger(tables)
    (connection,) = tables["connections"]
    assert (connection["transport"], connection["dialect"]) == ("tls", "0-9-1")
    assert connection["tls_version"] == VERSIONS[name]
    assert connection["tls_sni"] == "localhost"
    names = tables.names()
    assert names["basic.publish"] == truth["published"]
    assert names["basic.deliver"] == truth["delivered"]
    kinds = [row["kind"] for row in tables["transfers"]]
    assert kinds.count("publish") == truth["published"]
    assert kinds.count("deliver") == truth["delivered"]
    assert {row["outcome"] for row in tables["transfers"]} == {"accepted"}
    assert tables["problems"] == []


@pytest.mark.parametrize("name", NAMES)
def test_tables_of_the_plain_text_as_tshark_decrypts_it(name, tmp_path):
    sides = oracle.decrypted(sample(name), keylog_of(name))
    opened = dissect(sample(name), keylog=keylog_of(name))
    talk = Talk((36082, 5671)).open()
    places = [0, 0]
    for row in opened["frames"]:
        side = 0 if row["direction"] == "c2s" else 1
        assert row["stream_offset"] == places[side]
        places[side] += row["size_bytes"]
        talk.say(side, sides[side][row["stream_offset"] : places[side]])
    assert tuple(places) == tuple(len(octets) for octets in sides)
    plain = dissect(write_pcap(tmp_path / "plain.pcap", talk.close().packets))
    for table in ("frames", "transfers", "links", "sessions", "credits"):
        assert unlocated(opened[table]) == unlocated(plain[table]), table


@pytest.mark.parametrize("name", NAMES)
def test_packets_are_those_that_tshark_shows(name):
    shown = oracle.frames_09(sample(name), keylog_of(name), 5671)
    tables = dissect(sample(name), keylog=keylog_of(name))
    numbers = {
        re.sub(r"(?<=[a-z])(?=[A-Z])", "-", method.name).lower(): divmod(index, 1 << 16)
        for index, method in INDEX_MAPPING.items()
    }
    told = [
        (row["packet_no"], *numbers.get(row["name"], (None, None)))
        for row in tables["frames"]
        if row["name"] != "protocol-header"  # tshark does not show it inside TLS
    ]
    assert shown == told


@pytest.mark.parametrize("name", NAMES)
def test_without_keys_a_row_that_says_tls(name):
    tables = dissect(sample(name))
    (connection,) = tables["connections"]
    assert (connection["transport"], connection["dialect"]) == ("tls", "tls")
    assert (connection["tls_version"], connection["tls_sni"]) == (VERSIONS[name], "localhost")
    assert tables["frames"] == []
    assert tables.problem_codes() == {"tls.no_keys": 1}
    assert_ledger(tables)


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_reaches_a_row(name):
    """Neither of the key log nor of the PLAIN response inside."""
    tables = dissect(sample(name), keylog=keylog_of(name), has_payloads=True)
    text = json.dumps(tables, default=lambda octets: octets.hex())
    for line in Path(keylog_of(name)).read_text().splitlines():
        if not line.startswith("#"):
            assert line.split()[-1] not in text
    assert "guest\\u0000guest" not in text
    assert b"guest\0guest".hex() not in text
