"""Early data of TLS 1.3, made by OpenSSL's own client and server: read if the server took it, void
if it did not (RFC 8446 §4.2.10)."""

from __future__ import annotations

import select
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders.streams import Said, joined
from tests.builders.tls import SERVER_NAME, certificate
from tests.dissectors.test_samples_ledger import assert_ledger
from tests.dissectors.tls.test_suites import SAID_09, write_talk
from tests.live.waiting import free_ports, is_listening, until
from tests.tables import dissect

SENT = joined(SAID_09[:12])[0]
EARLY_BYTES = 8  # the protocol header
RECORD_BYTES = 22  # header, inner type and tag around the rest


@contextmanager
def running(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """An openssl command with its input open; it is over at the end."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(["openssl", *words], stdin=subprocess.PIPE, **silent)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def server() -> Iterator[int]:
    (port,) = free_ports(1)
    pem = certificate()
    with running("s_server", "-accept", f"127.0.0.1:{port}", "-cert", pem, "-key", pem, "-tls1_3",
                 "-early_data", "-quiet"):  # fmt: skip
        until(lambda: is_listening(port), "s_server")
        yield port


def connect(port: int) -> tuple[str, ...]:
    return ("s_client", "-connect", f"127.0.0.1:{port}", "-tls1_3", "-servername", SERVER_NAME)


def make_session(port: int, path: Path) -> None:
    """A session ticket; the connection is closed in good order, or the server would forget it."""
    with running(*connect(port), "-sess_out", str(path)) as client:
        until(lambda: path.exists() and path.stat().st_size, "a session ticket")
        client.communicate(b"Q\n", timeout=30)


def talk_early(port: int, session: Path, keys: Path, folder: Path) -> Said:
    """What passes when the first octets are sent early and the rest after the handshake."""
    wire: Said = []
    early = folder / "early"
    early.write_bytes(SENT[:EARLY_BYTES])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=relay, args=(listener, port, wire), daemon=True).start()
        words = (*connect(listener.getsockname()[1]), "-quiet", "-sess_in", str(session),
                 "-early_data", str(early), "-keylogfile", str(keys))  # fmt: skip
        with running(*words) as client:
            until(lambda: len({side for side, _ in wire}) == 2, "the server's answer")
            assert client.stdin is not None
            client.stdin.write(SENT[EARLY_BYTES:])
            client.stdin.flush()
            rest = len(SENT) - EARLY_BYTES + RECORD_BYTES
            until(lambda: any(len(octets) >= rest for _, octets in wire[2:]), "the rest")
    return wire


def relay(listener: socket.socket, port: int, wire: Said) -> None:
    """Pass on one connection and keep what passes."""
    near, _ = listener.accept()
    far = socket.create_connection(("127.0.0.1", port))
    with near, far:
        while True:
            for ready in select.select([near, far], [], [])[0]:
                try:
                    octets = ready.recv(65536)
                except ConnectionError:
                    return
                if not octets:
                    return
                wire.append((int(ready is far), octets))
                (near if ready is far else far).sendall(octets)


@pytest.mark.live
@pytest.mark.parametrize("is_taken", [True, False])
def test_early_data(is_taken, tmp_path):
    session, keys = tmp_path / "session", tmp_path / "keys"
    with server() as port:
        make_session(port, session)
        if is_taken:
            wire = talk_early(port, session, keys, tmp_path)
    if not is_taken:
        # Another server cannot know the session.
        with server() as port:
            wire = talk_early(port, session, keys, tmp_path)
    tables = dissect(write_talk(tmp_path / "a.pcap", wire), keylog=str(keys))
    assert_ledger(tables)
    plain = dissect(write_talk(tmp_path / "b.pcap", [(0, SENT)]))
    names = [row["name"] for row in plain["frames"]]
    assert names[0] == "protocol-header"
    assert [row["name"] for row in tables["frames"]] == (names if is_taken else names[1:])
    assert tables["problems"] == []
