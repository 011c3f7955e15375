"""Where keys come from, and what is told when they are missing, wrong or of no use."""

from __future__ import annotations

import subprocess

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from dissectors.detect import TLS_HEADER
from dissectors.tls.keylog import KeyLog
from tests.builders.streams import joined, without_packet
from tests.builders.tls import Flavour, refused_handshake, tls_talk
from tests.dissectors.test_samples_ledger import assert_ledger
from tests.dissectors.tls.test_suites import (
    SAID_09,
    SAID_10,
    assert_same_rows,
    write_keys,
    write_talk,
)
from tests.tables import dissect

BOTH = [Flavour("TLSv1_2"), Flavour("TLSv1_3")]
IDS = ["1.2", "1.3"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return dissect(write_talk(tmp_path_factory.mktemp("plain") / "a.pcap", SAID_10))


@pytest.mark.parametrize("flavour", BOTH, ids=IDS)
def test_keys_inside_a_pcapng(flavour, plain, tmp_path):
    """As editcap puts them there (a decryption secrets block)."""
    wire, keylog = tls_talk(SAID_10, flavour)
    keys = write_keys(tmp_path / "keys", keylog)
    capture = write_talk(tmp_path / "a.pcap", wire)
    with_keys = str(tmp_path / "a.pcapng")
    subprocess.run(["editcap", "--inject-secrets", f"tls,{keys}", capture, with_keys], check=True)
    assert_same_rows(dissect(with_keys), plain)
    assert_same_rows(dissect(capture, keylog=keys), plain)


@pytest.mark.parametrize("flavour", BOTH, ids=IDS)
def test_keys_of_another_session(flavour, tmp_path):
    wire, _ = tls_talk(SAID_10, flavour)
    _, other = tls_talk([], flavour)
    tables = dissect(
        write_talk(tmp_path / "a.pcap", wire), keylog=write_keys(tmp_path / "k", other)
    )
    (problem,) = tables["problems"]
    assert (problem["code"], problem["severity"]) == ("tls.no_keys", "info")
    assert "does not have this session" in problem["detail"]
    assert tables["connections"][0]["dialect"] == "tls"
    assert_ledger(tables)


@pytest.mark.parametrize("flavour", BOTH, ids=IDS)
def test_wrong_secrets(flavour, tmp_path):
    """The session is in the log, with secrets that are not its own."""
    wire, keylog = tls_talk(SAID_10, flavour)
    wrong = b"".join(
        b" ".join([*line.split()[:2], line.split()[2][::-1]]) + b"\n"
        for line in keylog.splitlines()
        if not line.startswith(b"#")
    )
    tables = dissect(
        write_talk(tmp_path / "a.pcap", wire), keylog=write_keys(tmp_path / "k", wrong)
    )
    codes = tables.problem_codes()
    assert codes["tls.decrypt_failed"] == 2
    assert {p["direction"] for p in tables["problems"]} == {"c2s", "s2c"}
    assert tables["frames"] == []
    assert_ledger(tables)


def test_a_log_without_handshake_secrets(plain, tmp_path):
    """Some libraries log traffic secrets only; the application data needs no more."""
    wire, keylog = tls_talk(SAID_10)
    traffic = b"\n".join(line for line in keylog.splitlines() if b"_TRAFFIC_SECRET_0" in line)
    tables = dissect(write_talk(tmp_path / "a.pcap", wire),
                     keylog=write_keys(tmp_path / "k", traffic))  # fmt: skip
    assert_same_rows(tables, plain)
    assert_ledger(tables)


def test_broken_lines_of_a_key_log_are_passed_over(tmp_path):
    random, secret = bytes(range(32)), bytes(48)
    good = f"CLIENT_RANDOM {random.hex()} {secret.hex()}\n".encode()
    lines = [b"# comment\n", b"\xff\xfe\n", b"CLIENT_RANDOM zz 00\n", b"CLIENT_RANDOM 00 00\n",
             b"RSA 1234 5678\n", b"x" * 2000 + b"\n", b"CLIENT_RANDOM\n", good]  # fmt: skip
    keys = KeyLog(write_keys(tmp_path / "keys", b"".join(lines)))
    assert keys.find(random) == {"CLIENT_RANDOM": secret}
    assert secret.hex() not in repr(keys)
    assert keys.find(bytes(32)) == {}


@pytest.mark.parametrize("flavour", BOTH, ids=IDS)
def test_begun_in_mid_connection(flavour, tmp_path):
    """Without the handshake nobody knows the session; it is still TLS on an AMQP port."""
    wire, keylog = tls_talk(SAID_10, flavour)
    keys = write_keys(tmp_path / "keys", keylog)
    tables = dissect(write_talk(tmp_path / "a.pcap", wire[-20:]), keylog=keys)
    (connection,) = tables["connections"]
    assert connection["transport"] == "tls"
    assert tables.problem_codes()["tls.no_keys"] == 1
    assert_ledger(tables)


def test_any_port_if_the_keys_are_there(plain, tmp_path):
    wire, keylog = tls_talk(SAID_10)
    keys = write_keys(tmp_path / "keys", keylog)
    capture = write_talk(tmp_path / "a.pcap", wire, ports=(40001, 8443))
    assert_same_rows(dissect(capture, keylog=keys), plain)
    assert dissect(capture)["connections"] == []
    in_pieces = write_talk(tmp_path / "b.pcap", wire, 5, (40001, 8443))
    assert_same_rows(dissect(in_pieces, keylog=keys), plain)


def test_what_is_inside_and_no_amqp_leaves_no_row(tmp_path):
    wire, keylog = tls_talk([(0, b"GET / HTTP/1.1\r\n\r\n"), (1, b"HTTP/1.1 200 OK\r\n\r\n")])
    keys = write_keys(tmp_path / "keys", keylog)
    capture = write_talk(tmp_path / "a.pcap", wire, ports=(40001, 8443))
    assert dissect(capture, keylog=keys)["connections"] == []
    on_amqp_port = dissect(write_talk(tmp_path / "b.pcap", wire), keylog=keys)
    (connection,) = on_amqp_port["connections"]
    assert (connection["transport"], connection["dialect"]) == ("tls", "http")
    assert_ledger(on_amqp_port)


@pytest.mark.parametrize("flavour", BOTH, ids=IDS)
def test_in_band_tls(flavour, plain, tmp_path):
    """1.0 §5.2.1: protocol headers with id 2, then TLS, then the layers inside."""
    wire, keylog = tls_talk(SAID_10, flavour)
    wire = [(0, TLS_HEADER), (1, TLS_HEADER), *wire]
    capture = write_talk(tmp_path / "a.pcap", wire, ports=(40001, 5672))
    keys = write_keys(tmp_path / "keys", keylog)
    tables = dissect(capture, keylog=keys)
    assert dissect(capture, keylog=keys, forced_ports={5672: "1.0"}) == tables
    (connection,) = tables["connections"]
    assert (connection["dialect"], connection["transport"]) == ("1.0", "tls")
    assert connection["tls_sni"] == "broker.example"
    headers, inside = tables["frames"][:2], tables["frames"][2:]
    assert [row["fields"] for row in headers] == ['{"octets":"2.1.0.0"}'] * 2
    assert [row["name"] for row in inside] == [row["name"] for row in plain["frames"]]
    tables["frames"] = [row | {"frame_no": row["frame_no"] - 2} for row in inside]
    tables["credits"] = [row | {"frame_no": row["frame_no"] - 2} for row in tables["credits"]]
    assert_same_rows(tables, plain)
    assert_ledger(tables)


def test_in_band_tls_that_the_server_refuses(tmp_path):
    said = [(0, TLS_HEADER), (1, b"AMQP\x03\x01\x00\x00")]
    tables = dissect(write_talk(tmp_path / "a.pcap", said, ports=(40001, 5672)))
    assert tables.problem_codes()["detect.refused_version"] == 1
    assert len(tables["frames"]) == 2
    assert_ledger(tables)


def test_a_fatal_alert_is_told(tmp_path):
    wire = refused_handshake()
    tables = dissect(write_talk(tmp_path / "a.pcap", wire))
    told = {p["code"]: p["detail"] for p in tables["problems"]}
    assert told["tls.alert"] == "unknown_ca"
    assert_ledger(tables)


@pytest.mark.parametrize("flavour", BOTH, ids=IDS)
def test_lost_packets_inside_tls(flavour, tmp_path):
    """The records behind a gap are found and opened again; what is missing is counted."""
    wire, keylog = tls_talk(SAID_09, flavour)
    keys = write_keys(tmp_path / "keys", keylog)
    whole = dissect(write_talk(tmp_path / "a.pcap", wire), keylog=keys)
    data = (tmp_path / "a.pcap").read_bytes()
    for dropped in (20, 25, 30):
        (tmp_path / "b.pcap").write_bytes(without_packet(data, dropped))
        tables = dissect(str(tmp_path / "b.pcap"), keylog=keys)
        (connection,) = tables["connections"]
        assert connection["missing_bytes"] > 0
        assert connection["dialect"] == "0-9-1"
        assert_ledger(tables)
        lost = len(whole["frames"]) - len(tables["frames"])
        assert 0 < lost <= 5
        assert tables["frames"][-1]["name"] == whole["frames"][-1]["name"]


def test_a_key_update_of_tls_13(tmp_path):
    """RFC 8446 §7.2. OpenSSL's Python door has no key update, so two records are made by hand
    with the HKDF of the cryptography package: the update itself and data under the new key."""
    said = SAID_10[:6]
    wire, keylog = tls_talk(said, Flavour(suite="TLS_AES_128_GCM_SHA256"))
    secrets = {line.split()[0]: bytes.fromhex(line.split()[2].decode())
               for line in keylog.splitlines() if not line.startswith(b"#")}  # fmt: skip
    secret = secrets[b"CLIENT_TRAFFIC_SECRET_0"]
    sent = sum(1 for side, _ in said if side == 0)
    update = seal(secret, sent, b"\x18\x00\x00\x01\x00" + b"\x16")
    renewed = expand(secret, b"traffic upd", 32)
    empty_frame = bytes.fromhex("0000000802000000")
    more = seal(renewed, 0, empty_frame + b"\x17")
    wire = [*wire, (0, update), (0, more)]
    tables = dissect(write_talk(tmp_path / "a.pcap", wire),
                     keylog=write_keys(tmp_path / "keys", keylog))  # fmt: skip
    assert tables["frames"][-1]["name"] == "empty"
    assert tables["frames"][-1]["stream_offset"] == len(joined(said)[0])
    assert not tables.problem_codes()["tls.decrypt_failed"]
    assert_ledger(tables)


def expand(secret: bytes, label: bytes, size: int) -> bytes:
    name = b"tls13 " + label
    info = size.to_bytes(2, "big") + bytes([len(name)]) + name + b"\0"
    return HKDFExpand(hashes.SHA256(), size, info).derive(secret)


def seal(secret: bytes, sequence: int, inner: bytes) -> bytes:
    key, iv = expand(secret, b"key", 16), expand(secret, b"iv", 12)
    nonce = bytes(a ^ b for a, b in zip(iv, sequence.to_bytes(12, "big"), strict=True))
    header = b"\x17\x03\x03" + (len(inner) + 16).to_bytes(2, "big")
    return header + AESGCM(key).encrypt(nonce, inner, header)
