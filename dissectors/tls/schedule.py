"""From logged secrets to record protection: the key schedules of TLS 1.2 and 1.3."""

from __future__ import annotations

import hashlib
import hmac
import struct

from dissectors.tls.hello import Hello
from dissectors.tls.protection import Aead12, Aead13, Cbc12, Protection
from dissectors.tls.suites import TLS13, Suite

_IV_BYTES = 12
_SIDES = ("CLIENT", "SERVER")


def prf(hash_name: str, secret: bytes, label: bytes, seed: bytes, size: int) -> bytes:
    """P_hash of RFC 5246 §5."""
    seed = label + seed
    block, out = seed, b""
    while len(out) < size:
        block = hmac.digest(secret, block, hash_name)
        out += hmac.digest(secret, block + seed, hash_name)
    return out[:size]


def expand_label(hash_name: str, secret: bytes, label: bytes, size: int) -> bytes:
    """HKDF-Expand-Label of RFC 8446 §7.1 with an empty context; never over one block here."""
    name = b"tls13 " + label
    info = struct.pack(">HB", size, len(name)) + name + b"\0"
    return hmac.digest(secret, info + b"\x01", hash_name)[:size]


def protections_12(
    suite: Suite, master: bytes, client_random: bytes, server: Hello
) -> tuple[Protection, Protection]:
    """What protects the client's and the server's records (RFC 5246 §6.3)."""
    mac_bytes = hashlib.new(suite.mac).digest_size if suite.mac else 0
    iv_bytes = {"cbc": 0, "chacha20": _IV_BYTES}.get(suite.cipher, 4)
    sizes = (mac_bytes, mac_bytes, suite.key_bytes, suite.key_bytes, iv_bytes, iv_bytes)
    seed = server.random + client_random
    block = prf(suite.prf, master, b"key expansion", seed, sum(sizes))
    parts = []
    for size in sizes:
        parts.append(block[:size])
        block = block[size:]

    def protection(side: int) -> Protection:
        mac_key, key, iv = parts[side], parts[2 + side], parts[4 + side]
        if suite.cipher == "cbc":
            return Cbc12(suite, key, mac_key, server.is_encrypt_then_mac)
        return Aead12(suite, key, iv)

    return protection(0), protection(1)


def protection_13(suite: Suite, secrets: dict[str, bytes], role: int) -> Protection | None:
    """What protects a role's (0 client, 1 server) records after the hellos: first its handshake
    secret, then its traffic secrets. A log without handshake secrets begins at the latter."""
    first = secrets.get(f"{_SIDES[role]}_TRAFFIC_SECRET_0")
    handshake = secrets.get(f"{_SIDES[role]}_HANDSHAKE_TRAFFIC_SECRET")
    traffic = None if first is None else _traffic(suite, first)
    if handshake is None:
        return traffic
    return _with_secret(suite, handshake, lambda: traffic)


def early_protections(secrets: dict[str, bytes]) -> list[Protection]:
    """What may protect a client's early data: the suite is not known before the server's hello,
    but its hash must fit the secret's length."""
    secret = secrets.get("CLIENT_EARLY_TRAFFIC_SECRET")
    if secret is None:
        return []
    fitting = [s for s in TLS13.values() if hashlib.new(s.prf).digest_size == len(secret)]
    return [_with_secret(suite, secret, lambda: None) for suite in fitting]


def _traffic(suite: Suite, secret: bytes) -> Protection:
    """A generation of application traffic keys; key updates derive the next (§7.2)."""

    def make_next() -> Protection:
        size = hashlib.new(suite.prf).digest_size
        return _traffic(suite, expand_label(suite.prf, secret, b"traffic upd", size))

    return _with_secret(suite, secret, make_next)


def _with_secret(suite: Suite, secret: bytes, make_successor) -> Protection:
    key = expand_label(suite.prf, secret, b"key", suite.key_bytes)
    iv = expand_label(suite.prf, secret, b"iv", _IV_BYTES)
    return Aead13(suite, key, iv, make_successor)
