"""The two hellos of a TLS handshake: server name asked for and version agreed (RFC 8446 §4.1)."""

from __future__ import annotations

_VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", 0x0303: "TLS 1.2",
             0x0304: "TLS 1.3"}  # fmt: skip
_CLIENT_HELLO, _SERVER_HELLO = 1, 2
_SERVER_NAME, _SUPPORTED_VERSIONS = 0, 43


def read_hello(client: bytes, server: bytes) -> dict[str, str]:
    """Columns of the connections row that the hellos tell; what is cut or odd is left out."""
    facts: dict[str, str] = {}
    _, extensions = _hello(client, _CLIENT_HELLO)
    name = extensions.get(_SERVER_NAME, b"")
    if len(name) > 5:
        facts["tls_sni"] = name[5:].decode("ascii", "backslashreplace")
    version, extensions = _hello(server, _SERVER_HELLO)
    chosen = extensions.get(_SUPPORTED_VERSIONS, b"")
    if len(chosen) == 2:
        version = int.from_bytes(chosen, "big")
    if version in _VERSIONS:
        facts["tls_version"] = _VERSIONS[version]
    return facts


def _hello(stream: bytes, kind: int) -> tuple[int, dict[int, bytes]]:
    """Legacy version and extensions of the hello that opens a stream."""
    body = stream[5 : 5 + int.from_bytes(stream[3:5], "big")]
    if len(body) < 38 or stream[0] != 22 or body[0] != kind:
        return 0, {}
    version = int.from_bytes(body[4:6], "big")
    offset = 38
    offset += 1 + _at(body, offset)
    if kind == _CLIENT_HELLO:
        offset += 2 + int.from_bytes(body[offset : offset + 2], "big")
        offset += 1 + _at(body, offset)
    else:
        offset += 3
    extensions: dict[int, bytes] = {}
    offset += 2
    while offset + 4 <= len(body):
        length = int.from_bytes(body[offset + 2 : offset + 4], "big")
        extension = int.from_bytes(body[offset : offset + 2], "big")
        extensions[extension] = body[offset + 4 : offset + 4 + length]
        offset += 4 + length
    return version, extensions


def _at(octets: bytes, offset: int) -> int:
    return octets[offset] if offset < len(octets) else 0
