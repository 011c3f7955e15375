"""IP datagrams from their fragments (RFC 791 §3.2, RFC 8200 §4.5).

Fragments wait in bounded memory for at most a minute. Where fragments overlap the first one wins.
A fragment that the capture cut short does not spoil the datagram: it is given up to the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

MAX_DATAGRAMS = 4096
MAX_WAITING_BYTES = 16 * 1024 * 1024
# RFC 1122 §3.3.2: between 60 and 120 seconds.
MAX_AGE_NS = 60 * 1_000_000_000
# The least MTU of IPv4, 68, cuts 64 KiB into some 1400 fragments.
MAX_PARTS = 2048
MAX_DATAGRAM_BYTES = 65_535
# Lost datagrams told one by one; the rest is told as a sum by ``finish``.
MAX_REPORTS = 100


class _Datagram:
    def __init__(self, first_ts_ns: int, capture: str | None) -> None:
        self.first_ts_ns = first_ts_ns
        self.capture = capture
        # offset → (size on the wire, captured bytes)
        self.parts: dict[int, tuple[int, bytes]] = {}
        self.wire_bytes = 0
        self.waiting_bytes = 0
        self.total = -1
        self.protocol = -1


class FragmentTable:
    """``add`` returns a datagram's payload once its last missing fragment has come."""

    def __init__(self, report: Callable[..., None]) -> None:
        self.report = report
        self.waiting_bytes = 0
        self.lost_count = 0
        # The file that fragments come from just now.
        self.capture: str | None = None
        self._datagrams: dict[Hashable, _Datagram] = {}

    def add(
        self,
        key: Hashable,
        offset: int,
        has_more: bool,
        wire_size: int,
        data: bytes,
        protocol: int,
        ts_ns: int,
    ) -> tuple[bytes, int, int] | None:
        """(captured payload, its size on the wire, protocol) when the datagram is whole."""
        self._drop_old(ts_ns)
        datagram = self._datagrams.get(key)
        if datagram is None:
            datagram = self._datagrams[key] = _Datagram(ts_ns, self.capture)
        if offset not in datagram.parts:
            datagram.parts[offset] = (wire_size, data)
            datagram.wire_bytes += wire_size
            datagram.waiting_bytes += len(data)
            self.waiting_bytes += len(data)
        if offset == 0:
            datagram.protocol = protocol
        if not has_more:
            datagram.total = offset + wire_size
        if 0 <= datagram.total <= datagram.wire_bytes and datagram.protocol >= 0:
            payload = _join(datagram)
            if payload is not None:
                self._remove(key)
                return payload, datagram.total, datagram.protocol
        self._keep_limits(key, datagram)
        return None

    def finish(self) -> None:
        """Tell what was still waiting and what was not told one by one."""
        for key in list(self._datagrams):
            self._lose(key, "capture.fragment_lost")
        if self.lost_count > MAX_REPORTS:
            extra = self.lost_count - MAX_REPORTS
            self.report(
                "capture.fragment_lost",
                f"{extra} more datagrams miss fragments",
                capture=self.capture,
            )
        self.lost_count = 0

    def _drop_old(self, ts_ns: int) -> None:
        while self._datagrams:
            key = next(iter(self._datagrams))
            if ts_ns - self._datagrams[key].first_ts_ns <= MAX_AGE_NS:
                return
            self._lose(key, "capture.fragment_lost")

    def _keep_limits(self, key: Hashable, datagram: _Datagram) -> None:
        too_long = datagram.wire_bytes > 2 * MAX_DATAGRAM_BYTES
        if too_long or len(datagram.parts) > MAX_PARTS:
            self._lose(key, "capture.fragment_limit")
        while len(self._datagrams) > MAX_DATAGRAMS or self.waiting_bytes > MAX_WAITING_BYTES:
            self._lose(next(iter(self._datagrams)), "capture.fragment_limit")

    def _lose(self, key: Hashable, code: str) -> None:
        datagram = self._remove(key)
        self.lost_count += 1
        if self.lost_count <= MAX_REPORTS:
            total = "an unknown number of" if datagram.total < 0 else datagram.total
            self.report(
                code,
                f"{datagram.wire_bytes} of {total} bytes seen",
                capture=datagram.capture,
                ts_ns=datagram.first_ts_ns,
                bytes_affected=datagram.waiting_bytes,
            )

    def _remove(self, key: Hashable) -> _Datagram:
        datagram = self._datagrams.pop(key)
        self.waiting_bytes -= datagram.waiting_bytes
        return datagram


def _join(datagram: _Datagram) -> bytes | None:
    """The payload up to the first cut; None while bytes of the wire are missing."""
    pieces: list[bytes] = []
    reached = 0
    is_cut = False
    for offset in sorted(datagram.parts):
        wire_size, data = datagram.parts[offset]
        if offset > reached:
            return None
        skip = reached - offset
        if skip >= wire_size:
            continue
        if not is_cut:
            pieces.append(data[skip:])
            is_cut = len(data) < wire_size
        reached = offset + wire_size
    return b"".join(pieces)[: datagram.total] if reached >= datagram.total else None
