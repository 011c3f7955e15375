"""A real TLS connection between two ends of Python's ssl (OpenSSL), without a socket.

What passes between the ends becomes packets of a ``Talk``; the client writes the key log. TLS 1.3
suites can only be chosen by OpenSSL's configuration file, so a talk may be made by a process of
its own (``python -m tests.builders.tls``).
"""

from __future__ import annotations

import datetime
import json
import os
import ssl
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from tests.builders.streams import Said

SERVER_NAME = "broker.example"
# SSL_OP_NO_ENCRYPT_THEN_MAC of OpenSSL, which the ssl module has no name for.
NO_ENCRYPT_THEN_MAC = 0x00080000


@dataclass(frozen=True)
class Flavour:
    """What to negotiate. ``ciphers`` is for TLS 1.2, ``suite`` for TLS 1.3; ``curve`` is the only
    one that the server takes; a resumed session is the second of two."""

    version: str = "TLSv1_3"
    ciphers: str | None = None
    suite: str | None = None
    options: int = 0
    curve: str | None = None
    is_resumed: bool = False


class _End:
    def __init__(
        self, context: ssl.SSLContext, is_server: bool, session: ssl.SSLSession | None = None
    ) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(
            self.incoming,
            self.outgoing,
            server_side=is_server,
            server_hostname=None if is_server else SERVER_NAME,
            session=session,
        )


def tls_talk(said: Said, flavour: Flavour | None = None) -> tuple[Said, bytes]:
    """The same talk over TLS: the octets on the wire, and the key log."""
    flavour = flavour or Flavour()
    if flavour.suite is None:
        return _talk(said, flavour)
    wanted = {"flavour": asdict(flavour), "said": [[side, o.hex()] for side, o in said]}
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "openssl.cnf"
        config.write_text(
            "openssl_conf=a\n[a]\nssl_conf=b\n[b]\nsystem_default=c\n[c]\n"
            f"Ciphersuites={flavour.suite}\n"
        )
        done = subprocess.run(
            [sys.executable, "-m", "tests.builders.tls"],
            input=json.dumps(wanted),
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OPENSSL_CONF": str(config)},
            cwd=Path(__file__).resolve().parents[2],
        )
    made = json.loads(done.stdout)
    return [(side, bytes.fromhex(o)) for side, o in made["wire"]], made["keylog"].encode()


def _talk(said: Said, flavour: Flavour) -> tuple[Said, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        keylog = Path(folder) / "keys"
        client, server = _contexts(flavour, str(keylog))
        session = _earlier_session(client, server) if flavour.is_resumed else None
        ends = (_End(client, False, session), _End(server, True))
        wire: Said = []
        _shake_hands(ends, wire)
        assert ends[0].tls.session_reused == flavour.is_resumed
        wanted = flavour.suite or flavour.ciphers
        assert wanted is None or wanted.startswith(ends[0].tls.cipher()[0])
        for side, octets in said:
            ends[side].tls.write(octets)
            _carry(ends, side, wire)
            _read(ends[1 - side], len(octets))
        return wire, keylog.read_bytes()


def _earlier_session(client: ssl.SSLContext, server: ssl.SSLContext) -> ssl.SSLSession | None:
    ends = (_End(client, False), _End(server, True))
    _shake_hands(ends, [])
    ends[1].tls.write(b"x")
    _carry(ends, 1, [])
    _read(ends[0], 1)
    return ends[0].tls.session


def refused_handshake() -> Said:
    """A client that does not trust the server's certificate ends the handshake with an alert."""
    with tempfile.TemporaryDirectory() as folder:
        client, server = _contexts(Flavour("TLSv1_2"), str(Path(folder) / "keys"))
    client.verify_mode = ssl.CERT_REQUIRED
    ends = (_End(client, False), _End(server, True))
    wire: Said = []
    try:
        _shake_hands(ends, wire)
    except ssl.SSLCertVerificationError:
        _carry(ends, 0, wire)
        return wire
    raise AssertionError("the client trusts everybody")


def _contexts(flavour: Flavour, keylog: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    client.keylog_filename = keylog
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate())
    version = ssl.TLSVersion[flavour.version]
    for context in (client, server):
        context.minimum_version = context.maximum_version = version
        context.options |= flavour.options
        if flavour.ciphers:
            context.set_ciphers(flavour.ciphers)
    if flavour.curve:
        server.set_ecdh_curve(flavour.curve)
    return client, server


def _shake_hands(ends: tuple[_End, _End], wire: Said) -> None:
    waiting = [0, 1]
    while waiting:
        for side in (0, 1):
            try:
                ends[side].tls.do_handshake()
                waiting = [s for s in waiting if s != side]
            except ssl.SSLWantReadError:
                pass
            _carry(ends, side, wire)


def _carry(ends: tuple[_End, _End], side: int, wire: Said) -> None:
    octets = ends[side].outgoing.read()
    if octets:
        wire.append((side, octets))
        ends[1 - side].incoming.write(octets)


def _read(end: _End, size: int) -> None:
    """Read what came, session tickets before it included."""
    while size:
        size -= len(end.tls.read(size))


@cache
def certificate() -> str:
    """A self-signed certificate with its key, in a file that lives as long as the process."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SERVER_NAME)])
    now = datetime.datetime(2026, 1, 1)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=36500))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    folder = tempfile.mkdtemp(prefix="tls-talk-")
    path = Path(folder) / "server.pem"
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return str(path)


def main() -> None:
    wanted = json.load(sys.stdin)
    said = [(side, bytes.fromhex(octets)) for side, octets in wanted["said"]]
    wire, keylog = _talk(said, Flavour(**wanted["flavour"]))
    json.dump({"wire": [[s, o.hex()] for s, o in wire], "keylog": keylog.decode()}, sys.stdout)


if __name__ == "__main__":
    main()
