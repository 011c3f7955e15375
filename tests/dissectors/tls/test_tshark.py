"""Ciphers and versions that our own code does not have are opened through tshark."""

from __future__ import annotations

import pytest

from dissectors.tls import tshark
from tests.builders.tls import Flavour, tls_talk
from tests.dissectors.test_samples_ledger import assert_ledger
from tests.dissectors.tls.test_suites import SAID_09, assert_same_rows, write_keys, write_talk
from tests.tables import dissect

# The ssl module warns of the old versions that these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
FLAVOURS = {
    "TLS 1.2": Flavour("TLSv1_2", "ECDHE-RSA-CAMELLIA128-SHA256"),
    "TLS 1.1": Flavour("TLSv1_1", "ECDHE-RSA-AES128-SHA:@SECLEVEL=0"),
    "TLS 1.0": Flavour("TLSv1", "ECDHE-RSA-AES256-SHA:@SECLEVEL=0"),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return dissect(write_talk(tmp_path_factory.mktemp("plain") / "a.pcap", SAID_09))


@pytest.mark.parametrize(("version", "mss"), [(v, 60000) for v in FLAVOURS] + [("TLS 1.2", 37)])
def test_same_rows(version, mss, plain, tmp_path):
    wire, keylog = tls_talk(SAID_09, FLAVOURS[version])
    keys = write_keys(tmp_path / "keys", keylog)
    tables = dissect(write_talk(tmp_path / "a.pcap", wire, mss), keylog=keys)
    assert_same_rows(tables, plain)
    assert tables["connections"][0]["tls_version"] == version
    assert tables.problem_codes() == {"tls.by_tshark": 1}
    assert_ledger(tables)


def test_several_records_in_one_packet(plain, tmp_path):
    wire, keylog = tls_talk(SAID_09, FLAVOURS["TLS 1.2"])
    packed = []
    for side, octets in wire:
        if packed and packed[-1][0] == side:
            packed[-1] = (side, packed[-1][1] + octets)
        else:
            packed.append((side, octets))
    keys = write_keys(tmp_path / "keys", keylog)
    tables = dissect(write_talk(tmp_path / "a.pcap", packed), keylog=keys)
    assert_same_rows(tables, plain)


def test_without_tshark_it_is_told_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(tshark, "MAX_CONNECTIONS", 0)
    wire, keylog = tls_talk(SAID_09, FLAVOURS["TLS 1.2"])
    keys = write_keys(tmp_path / "keys", keylog)
    tables = dissect(write_talk(tmp_path / "a.pcap", wire), keylog=keys)
    assert tables["frames"] == []
    (problem,) = tables["problems"]
    assert problem["code"] == "tls.unsupported_cipher"
    assert problem["detail"] == "TLS 1.2 with cipher suite 0xc076"
    assert_ledger(tables)


def test_wrong_secrets_for_tshark(tmp_path):
    wire, keylog = tls_talk(SAID_09, FLAVOURS["TLS 1.2"])
    label, random, secret = keylog.split()[-3:]
    keys = write_keys(tmp_path / "keys", b" ".join((label, random, secret[::-1])) + b"\n")
    tables = dissect(write_talk(tmp_path / "a.pcap", wire), keylog=keys)
    assert tables["frames"] == []
    assert tables.problem_codes()["tls.decrypt_failed"] == 2
    assert_ledger(tables)
