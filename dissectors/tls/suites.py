"""Cipher suites as data: what protects a record, by the suite's number (IANA TLS registry).

How keys are agreed does not matter here: the key log gives the secret after it. Suites that are
not in the table (RC4, 3DES, Camellia, ARIA, NULL, …) are reported, not opened.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Suite:
    """``cipher``: gcm | ccm | chacha20 | cbc. ``mac`` is the record MAC of cbc suites."""

    cipher: str
    key_bytes: int
    prf: str
    mac: str | None = None
    tag_bytes: int = 16


TLS13: dict[int, Suite] = {
    0x1301: Suite("gcm", 16, "sha256"),
    0x1302: Suite("gcm", 32, "sha384"),
    0x1303: Suite("chacha20", 32, "sha256"),
    0x1304: Suite("ccm", 16, "sha256"),
    0x1305: Suite("ccm", 16, "sha256", tag_bytes=8),
}

# RFC 5246 A.5, 5288, 5289, 5487, 5489, 6655, 7251, 7905, 8442. A suite that names SHA (1) or
# SHA-256 uses the PRF with SHA-256 (RFC 5246 §5).
_ROWS: tuple[tuple[Suite, tuple[int, ...]], ...] = (
    (Suite("gcm", 16, "sha256"),
     (0x009C, 0x009E, 0x00A0, 0x00A2, 0x00A4, 0x00A6, 0x00A8, 0x00AA, 0x00AC, 0xC02B, 0xC02D,
      0xC02F, 0xC031, 0xD001)),
    (Suite("gcm", 32, "sha384"),
     (0x009D, 0x009F, 0x00A1, 0x00A3, 0x00A5, 0x00A7, 0x00A9, 0x00AB, 0x00AD, 0xC02C, 0xC02E,
      0xC030, 0xC032, 0xD002)),
    (Suite("chacha20", 32, "sha256"),
     (0xCCA8, 0xCCA9, 0xCCAA, 0xCCAB, 0xCCAC, 0xCCAD, 0xCCAE)),
    (Suite("ccm", 16, "sha256"),
     (0xC09C, 0xC09E, 0xC0A4, 0xC0A6, 0xC0AC, 0xD005)),
    (Suite("ccm", 32, "sha256"),
     (0xC09D, 0xC09F, 0xC0A5, 0xC0A7, 0xC0AD)),
    (Suite("ccm", 16, "sha256", tag_bytes=8),
     (0xC0A0, 0xC0A2, 0xC0A8, 0xC0AA, 0xC0AE, 0xD003)),
    (Suite("ccm", 32, "sha256", tag_bytes=8),
     (0xC0A1, 0xC0A3, 0xC0A9, 0xC0AB, 0xC0AF)),
    (Suite("cbc", 16, "sha256", "sha1"),
     (0x002F, 0x0030, 0x0031, 0x0032, 0x0033, 0x0034, 0x008C, 0x0090, 0x0094, 0xC004, 0xC009,
      0xC00E, 0xC013, 0xC018, 0xC035)),
    (Suite("cbc", 32, "sha256", "sha1"),
     (0x0035, 0x0036, 0x0037, 0x0038, 0x0039, 0x003A, 0x008D, 0x0091, 0x0095, 0xC005, 0xC00A,
      0xC00F, 0xC014, 0xC019, 0xC036)),
    (Suite("cbc", 16, "sha256", "sha256"),
     (0x003C, 0x003E, 0x003F, 0x0040, 0x0067, 0x006C, 0x00AE, 0x00B2, 0x00B6, 0xC023, 0xC025,
      0xC027, 0xC029, 0xC037)),
    (Suite("cbc", 32, "sha256", "sha256"),
     (0x003D, 0x0068, 0x0069, 0x006A, 0x006B, 0x006D)),
    (Suite("cbc", 32, "sha384", "sha384"),
     (0x00AF, 0x00B3, 0x00B7, 0xC024, 0xC026, 0xC028, 0xC02A, 0xC038)),
)  # fmt: skip
TLS12: dict[int, Suite] = {number: suite for suite, numbers in _ROWS for number in numbers}
