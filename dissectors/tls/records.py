"""One direction's protected records: which key and which sequence number opens each.

TLS numbers records silently (RFC 8446 §5.3), so a gap loses the number and perhaps a change of
keys. Both are found again by trying: the next numbers that the lost bytes allow, then the next
key. Changes of keys need no message to be understood.
"""

from __future__ import annotations

from dissectors.tls.protection import Opened, Protection

HEADER_BYTES = 5
# The smallest protected record that peers send: header, one octet, tag.
_MIN_RECORD_BYTES = HEADER_BYTES + 1 + 16
# After a gap, records up to this many numbers ahead are found again.
MAX_NUMBERS_AHEAD = 65_536
# Work spent on trying, in octets, before a direction is given up; each try counts as at least
# _TRY_BYTES. About half a second.
MAX_TRIED_BYTES = 512 * 1024 * 1024
_TRY_BYTES = 2048

UNKNOWN = -1


class RecordReader:
    """``lost_bytes`` tells what plaintext is missing before the record opened last: 0 nothing,
    UNKNOWN if it cannot be counted. ``is_first`` tells that no record was opened before it."""

    def __init__(self) -> None:
        self.next_offset = 0
        self.lost_bytes = 0
        self.is_first = False
        self.is_given_up = False
        self._current: Protection | None = None
        self._sequence = 0
        self._nexts: list[Protection] = []
        self._tried_bytes = 0

    @property
    def current(self) -> Protection | None:
        """What protects the record opened last."""
        return self._current

    @property
    def is_protected(self) -> bool:
        return self._current is not None or bool(self._nexts)

    def change(self, protection: Protection) -> None:
        """Records from here on are protected by this (TLS 1.2: change cipher spec)."""
        self._current, self._sequence, self._nexts = protection, 0, []

    def expect(self, protections: list[Protection]) -> None:
        """One of these protects the records to come; the one in use may still do so."""
        self._nexts = protections

    def pass_plain(self, offset: int) -> None:
        """The stream was followed up to here without need of keys."""
        self.next_offset = offset

    def open(self, header: bytes, body: bytes, offset: int) -> Opened | None:
        """Content of the record at this stream offset; None where no key and number fits."""
        missed = max(0, offset - self.next_offset)
        reach = 1 + min(MAX_NUMBERS_AHEAD, missed // _MIN_RECORD_BYTES + (missed > 0))
        self.is_first = False
        if self._current is not None:
            expected = self._sequence
            opened = self._try(self._current, expected, reach, header, body)
            if opened is not None:
                self._note_loss(missed, self._sequence - 1 - expected)
                self.next_offset = offset + len(header) + len(body)
                return opened
        for protection in self._nexts:
            opened = self._try(protection, 0, reach, header, body)
            if opened is not None:
                # A first record before which none of its key is missing: what could not be opened
                # was the handshake, whose secrets some logs leave out.
                self.is_first = self._current is None and self._sequence == 1
                self._current = protection
                successor = protection.successor()
                self._nexts = [] if successor is None else [successor]
                self.lost_bytes = UNKNOWN if missed and not self.is_first else 0
                self.next_offset = offset + len(header) + len(body)
                return opened
        return None

    def _try(
        self, protection: Protection, first: int, count: int, header: bytes, body: bytes
    ) -> Opened | None:
        for sequence in range(first, first + count):
            if self._tried_bytes > MAX_TRIED_BYTES:
                self.is_given_up = True
                return None
            opened = protection.open(sequence, header, body)
            if opened is not None:
                self._sequence = sequence + 1
                self._tried_bytes = 0
                return opened
            self._tried_bytes += len(body) + _TRY_BYTES
        return None

    def _note_loss(self, missed_bytes: int, record_count: int) -> None:
        """AEAD records are longer than their content by a fixed number of octets."""
        self.lost_bytes = 0
        if record_count:
            overhead = self._current.overhead_bytes if self._current else None
            content = UNKNOWN if overhead is None else missed_bytes - record_count * overhead
            self.lost_bytes = content if content > 0 else UNKNOWN
