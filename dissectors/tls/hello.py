"""The two hellos of a TLS handshake: randoms, version, suite and server name; and of the server's
encrypted extensions whether it takes early data.

The only handshake messages that are read; all others are stepped over without being kept
(RFC 8446 §4.1, §4.3.1, RFC 5246 §7.4.1). What is cut or odd is left out, never guessed.
"""

from __future__ import annotations

from typing import NamedTuple

CLIENT_HELLO, SERVER_HELLO, ENCRYPTED_EXTENSIONS = 1, 2, 8
_READ = (CLIENT_HELLO, SERVER_HELLO, ENCRYPTED_EXTENSIONS)
TLS_1_2, TLS_1_3 = 0x0303, 0x0304
VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", TLS_1_2: "TLS 1.2",
            TLS_1_3: "TLS 1.3"}  # fmt: skip
# Hellos with post-quantum key shares have a few kilobytes.
MAX_HELLO_BYTES = 64 * 1024
_SERVER_NAME, _ENCRYPT_THEN_MAC, _EARLY_DATA, _SUPPORTED_VERSIONS = 0, 22, 42, 43
# RFC 8446 §4.1.3: a hello retry request is a server hello with this random.
_RETRY_RANDOM = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
_HEADER_BYTES = 4
_RECORD_HEADER_BYTES = 5


class Hello(NamedTuple):
    """What a hello says; ``suite`` and ``compression`` are the server's choice."""

    kind: int
    random: bytes
    version: int
    server_name: str | None = None
    suite: int = 0
    compression: int = 0
    is_encrypt_then_mac: bool = False
    is_early_data: bool = False


class HandshakeReader:
    """Joins handshake messages out of one side's records and gives the hellos among them."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._passing = 0

    def feed(self, fragment: bytes) -> list[Hello]:
        hellos = []
        passed = min(self._passing, len(fragment))
        self._passing -= passed
        self._held += fragment[passed:]
        while len(self._held) >= _HEADER_BYTES:
            size = _HEADER_BYTES + int.from_bytes(self._held[1:4], "big")
            if self._held[0] not in _READ or size > MAX_HELLO_BYTES:
                self._passing = max(0, size - len(self._held))
                del self._held[:size]
                continue
            if len(self._held) < size:
                break
            hello = read_hello(bytes(self._held[:size]))
            del self._held[:size]
            if hello is not None:
                hellos.append(hello)
        return hellos


def opening_random(stream: bytes) -> bytes:
    """The random of the client hello that opens a stream's first record, as far as it is there."""
    return stream[_RECORD_HEADER_BYTES + 6 : _RECORD_HEADER_BYTES + 38]


def read_hello(message: bytes) -> Hello | None:
    """A whole client or server hello; None where it is broken or a retry request."""
    try:
        hello = _read(message)
    except IndexError:
        return None
    return None if hello.random == _RETRY_RANDOM else hello


def _read(message: bytes) -> Hello:
    kind = message[0]
    if kind == ENCRYPTED_EXTENSIONS:
        return Hello(kind, b"", 0, is_early_data=_EARLY_DATA in _extensions(message, 4))
    version = _number(message, 4)
    random = message[6:38]
    offset = 39 + message[38]
    if kind == CLIENT_HELLO:
        offset += 2 + _number(message, offset)
        offset += 1 + message[offset]
        name = _extensions(message, offset).get(_SERVER_NAME, b"")
        return Hello(kind, random, version, _server_name(name))
    suite, compression = _number(message, offset), message[offset + 2]
    extensions = _extensions(message, offset + 3)
    chosen = extensions.get(_SUPPORTED_VERSIONS, b"")
    if len(chosen) == 2:
        version = int.from_bytes(chosen, "big")
    is_encrypt_then_mac = _ENCRYPT_THEN_MAC in extensions
    return Hello(kind, random, version, None, suite, compression, is_encrypt_then_mac)


def _extensions(message: bytes, offset: int) -> dict[int, bytes]:
    """Extensions by number; older hellos end before them."""
    found: dict[int, bytes] = {}
    offset += 2
    while offset + 4 <= len(message):
        end = offset + 4 + _number(message, offset + 2)
        found[_number(message, offset)] = message[offset + 4 : end]
        offset = end
    return found


def _server_name(extension: bytes) -> str | None:
    """RFC 6066 §3: a list of (type, name); type 0 is the only one there is."""
    if len(extension) < 6 or extension[2] != 0:
        return None
    return extension[5 : 5 + _number(extension, 3)].decode("ascii", "backslashreplace")


def _number(octets: bytes, offset: int) -> int:
    return octets[offset] << 8 | octets[offset + 1]
