"""Opening protected records: one class per way in which TLS protects them.

Each takes a record and the sequence number it may have, and gives the content type and plaintext,
or None where the record was not made with this key and number: authentication is the judge, so
that a lost place can be found again by trying.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305

from dissectors.tls.suites import Suite

Opened = tuple[int, bytes]
_BLOCK_BYTES = 16
_EXPLICIT_NONCE_BYTES = 8
_APPLICATION_DATA = 23


class Protection(Protocol):
    # Octets that a record is longer than its content; None where that varies.
    overhead_bytes: int | None

    def open(self, sequence: int, header: bytes, body: bytes) -> Opened | None:
        """Content type and plaintext of a record, if it has this sequence number."""

    def successor(self) -> Protection | None:
        """What protects records after the next change of keys."""


def _aead(suite: Suite, key: bytes) -> AESGCM | AESCCM | ChaCha20Poly1305:
    if suite.cipher == "gcm":
        return AESGCM(key)
    if suite.cipher == "ccm":
        return AESCCM(key, suite.tag_bytes)
    return ChaCha20Poly1305(key)


def _mask(iv: bytes, sequence: int) -> bytes:
    """The nonce of RFC 8446 §5.3 and RFC 7905 §2: the IV xor the sequence number."""
    return (int.from_bytes(iv, "big") ^ sequence).to_bytes(len(iv), "big")


class Aead12:
    """TLS 1.2 with an AEAD cipher (RFC 5246 §6.2.3.3, 5288, 6655, 7905)."""

    def __init__(self, suite: Suite, key: bytes, iv: bytes) -> None:
        self._cipher = _aead(suite, key)
        self._iv = iv
        self._explicit_bytes = 0 if suite.cipher == "chacha20" else _EXPLICIT_NONCE_BYTES
        self._shortening = self._explicit_bytes + suite.tag_bytes
        self.overhead_bytes: int | None = 5 + self._shortening

    def open(self, sequence: int, header: bytes, body: bytes) -> Opened | None:
        size = len(body) - self._shortening
        if size < 0:
            return None
        if self._explicit_bytes:
            nonce = self._iv + body[: self._explicit_bytes]
        else:
            nonce = _mask(self._iv, sequence)
        context = struct.pack(">Q3sH", sequence, header[:3], size)
        try:
            plain = self._cipher.decrypt(nonce, body[self._explicit_bytes :], context)
        except InvalidTag:
            return None
        return header[0], plain

    def successor(self) -> None:
        return None


class Aead13:
    """TLS 1.3 (RFC 8446 §5.2): the content type is inside, padded with zeros."""

    def __init__(self, suite: Suite, key: bytes, iv: bytes, make_successor) -> None:
        self._cipher = _aead(suite, key)
        self._iv = iv
        self._tag_bytes = suite.tag_bytes
        self._make_successor = make_successor
        self._successor: Protection | None = None
        # Without padding, which no AMQP peer is known to use.
        self.overhead_bytes: int | None = 5 + suite.tag_bytes + 1

    def open(self, sequence: int, header: bytes, body: bytes) -> Opened | None:
        if header[0] != _APPLICATION_DATA or len(body) <= self._tag_bytes:
            return None
        try:
            plain = self._cipher.decrypt(_mask(self._iv, sequence), body, header)
        except InvalidTag:
            return None
        plain = plain.rstrip(b"\0")
        return (plain[-1], plain[:-1]) if plain else (0, b"")

    def successor(self) -> Protection | None:
        if self._successor is None:
            self._successor = self._make_successor()
        return self._successor


class Cbc12:
    """TLS 1.2 AES-CBC with HMAC (RFC 5246 §6.2.3.2), or encrypt-then-MAC (RFC 7366 §3)."""

    overhead_bytes: int | None = None

    def __init__(self, suite: Suite, key: bytes, mac_key: bytes, is_encrypt_then_mac: bool) -> None:
        self._algorithm = algorithms.AES(key)
        self._mac_key = mac_key
        self._hash = suite.mac or ""
        self._mac_bytes = hashlib.new(self._hash).digest_size
        self._is_encrypt_then_mac = is_encrypt_then_mac

    def open(self, sequence: int, header: bytes, body: bytes) -> Opened | None:
        sealed, mac = body, b""
        if self._is_encrypt_then_mac:
            sealed, mac = body[: -self._mac_bytes], body[-self._mac_bytes :]
            if not self._is_authentic(sequence, header, sealed, mac):
                return None
        if len(sealed) < 2 * _BLOCK_BYTES or len(sealed) % _BLOCK_BYTES:
            return None
        decryptor = Cipher(self._algorithm, modes.CBC(sealed[:_BLOCK_BYTES])).decryptor()
        plain = decryptor.update(sealed[_BLOCK_BYTES:]) + decryptor.finalize()
        plain = plain[: max(0, len(plain) - 1 - plain[-1])]
        if not self._is_encrypt_then_mac:
            plain, mac = plain[: -self._mac_bytes], plain[-self._mac_bytes :]
            if not self._is_authentic(sequence, header, plain, mac):
                return None
        return header[0], plain

    def successor(self) -> None:
        return None

    def _is_authentic(self, sequence: int, header: bytes, content: bytes, mac: bytes) -> bool:
        context = struct.pack(">Q3sH", sequence, header[:3], len(content))
        return hmac.digest(self._mac_key, context + content, self._hash) == mac
