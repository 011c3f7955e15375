"""Every way in which TLS 1.2 and 1.3 protect records, made by OpenSSL: the tables are those of the
same talk in the clear."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissectors.tls.suites import TLS12, TLS13
from tests.builders.streams import Said, said_in
from tests.builders.talk import Talk, pcap_bytes
from tests.builders.tls import NO_ENCRYPT_THEN_MAC, Flavour, tls_talk
from tests.dissectors.test_samples_ledger import assert_ledger
from tests.tables import Tables, dissect, unlocated

TABLES = ("frames", "transfers", "links", "sessions", "credits")
# The first messages of a talk in 0-9-1 and of one in 1.0 (its open, SASL and transfers).
SAID_09 = said_in("01", 60)
SAID_10 = said_in("10a", 40)

FLAVOURS = {
    "1.2 AES-128-GCM": Flavour("TLSv1_2", "ECDHE-RSA-AES128-GCM-SHA256"),
    "1.2 AES-256-GCM": Flavour("TLSv1_2", "ECDHE-RSA-AES256-GCM-SHA384"),
    "1.2 AES-128-GCM RSA": Flavour("TLSv1_2", "AES128-GCM-SHA256"),
    "1.2 ChaCha20": Flavour("TLSv1_2", "ECDHE-RSA-CHACHA20-POLY1305"),
    "1.2 AES-128-CCM": Flavour("TLSv1_2", "AES128-CCM"),
    "1.2 AES-256-CCM-8": Flavour("TLSv1_2", "AES256-CCM8"),
    "1.2 CBC SHA-1": Flavour("TLSv1_2", "ECDHE-RSA-AES128-SHA"),
    "1.2 CBC SHA-256": Flavour("TLSv1_2", "ECDHE-RSA-AES128-SHA256"),
    "1.2 CBC SHA-384": Flavour("TLSv1_2", "ECDHE-RSA-AES256-SHA384"),
    "1.2 CBC MAC first": Flavour("TLSv1_2", "AES256-SHA256", options=NO_ENCRYPT_THEN_MAC),
    "1.3 AES-128-GCM": Flavour(suite="TLS_AES_128_GCM_SHA256"),
    "1.3 AES-256-GCM": Flavour(suite="TLS_AES_256_GCM_SHA384"),
    "1.3 ChaCha20": Flavour(suite="TLS_CHACHA20_POLY1305_SHA256"),
    "1.3 AES-128-CCM": Flavour(suite="TLS_AES_128_CCM_SHA256"),
    "1.3 AES-128-CCM-8": Flavour(suite="TLS_AES_128_CCM_8_SHA256"),
    # The server asks for another key share: two client hellos (RFC 8446 §4.1.4).
    "1.3 hello retry": Flavour(curve="secp521r1"),
    "1.2 resumed": Flavour("TLSv1_2", is_resumed=True),
    "1.3 resumed": Flavour("TLSv1_3", is_resumed=True),
}


def write_talk(path: Path, said: Said, mss: int = 60000, ports: tuple[int, int] = (40001, 5671),
               is_closed: bool = True) -> str:  # fmt: skip
    talk = Talk(ports).open()
    for side, octets in said:
        talk.say(side, octets, mss)
    path.write_bytes(pcap_bytes((talk.close() if is_closed else talk).packets))
    return str(path)


def write_keys(path: Path, keylog: bytes) -> str:
    path.write_bytes(keylog)
    return str(path)


def assert_same_rows(opened: Tables, plain: Tables) -> None:
    for table in TABLES:
        assert unlocated(opened[table]) == unlocated(plain[table]), table


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> dict[str, Tables]:
    folder = tmp_path_factory.mktemp("plain")
    return {
        "09": dissect(write_talk(folder / "09.pcap", SAID_09)),
        "10": dissect(write_talk(folder / "10.pcap", SAID_10)),
    }


@pytest.mark.parametrize("flavour", FLAVOURS.values(), ids=FLAVOURS)
def test_every_suite(flavour, plain, tmp_path):
    wire, keylog = tls_talk(SAID_09, flavour)
    keys = write_keys(tmp_path / "keys", keylog)
    opened = dissect(write_talk(tmp_path / "tls.pcap", wire), keylog=keys)
    assert_same_rows(opened, plain["09"])
    assert len(opened["transfers"]) > 5
    assert opened["problems"] == plain["09"]["problems"]
    (connection,) = opened["connections"]
    assert connection["tls_version"] == flavour.version.replace("v", " ").replace("_", ".")
    assert connection["tls_sni"] == "broker.example"
    assert_ledger(opened)


@pytest.mark.parametrize("mss", [1, 7, 100, 1448])
def test_records_cut_and_joined_by_segments(mss, plain, tmp_path):
    """1.0 this time; the packet of a frame is the one that completes its record."""
    wire, keylog = tls_talk(SAID_10)
    keys = write_keys(tmp_path / "keys", keylog)
    opened = dissect(write_talk(tmp_path / "tls.pcap", wire, mss), keylog=keys)
    assert_same_rows(opened, plain["10"])
    assert_ledger(opened)


def test_every_suite_of_the_table_is_of_a_kind_that_is_tried_here():
    tried = {(s.cipher, s.tag_bytes, s.mac) for s in (*TLS12.values(), *TLS13.values())}
    assert tried == {
        ("gcm", 16, None),
        ("chacha20", 16, None),
        ("ccm", 16, None),
        ("ccm", 8, None),
        ("cbc", 16, "sha1"),
        ("cbc", 16, "sha256"),
        ("cbc", 16, "sha384"),
    }
