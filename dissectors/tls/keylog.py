"""The secrets of TLS sessions, as peers log them (the SSLKEYLOGFILE text format).

One line each: label, client random, secret, in hex. It knows no TLS beyond that, and shows its
content to nobody but the key schedule.
"""

from __future__ import annotations

from collections.abc import Iterable

LABELS = frozenset(
    {
        "CLIENT_RANDOM",
        "CLIENT_EARLY_TRAFFIC_SECRET",
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    }
)
RANDOM_BYTES = 32
# Key logs of long-lived processes grow without end: sessions after this many are not kept.
MAX_SESSIONS = 1_000_000
# No secret of TLS is longer (SHA-384: 48 octets); a longer line is something else.
MAX_LINE_BYTES = 512


class KeyLog:
    """Secrets by client random. ``blocks`` (key logs inside pcapng files) may go on growing."""

    def __init__(self, path: str | None = None, blocks: list[bytes] | None = None) -> None:
        self.path = path
        # Connections for which tshark was asked for help.
        self.tshark_count = 0
        self._sessions: dict[bytes, dict[str, bytes]] = {}
        self._blocks = [] if blocks is None else blocks
        self._read_count = 0
        if path is not None:
            with open(path, "rb") as file:
                self._read(file)

    def __repr__(self) -> str:
        return f"KeyLog({len(self._sessions)} sessions)"

    def __bool__(self) -> bool:
        return bool(self._sessions or self._blocks)

    @property
    def is_full(self) -> bool:
        return len(self._sessions) >= MAX_SESSIONS

    def find(self, client_random: bytes) -> dict[str, bytes]:
        """Secrets of a session by label; empty where the log has none."""
        while self._read_count < len(self._blocks):
            self._read(self._blocks[self._read_count].splitlines())
            self._read_count += 1
        return self._sessions.get(client_random, {})

    def _read(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if len(line) <= MAX_LINE_BYTES:
                self._keep(line.split())

    def _keep(self, words: list[bytes]) -> None:
        """Comments, foreign labels and broken lines are passed over, as every reader does."""
        if len(words) != 3:
            return
        label = words[0].decode("ascii", "replace")
        try:
            random, secret = bytes.fromhex(words[1].decode()), bytes.fromhex(words[2].decode())
        except ValueError:
            return
        if label not in LABELS or len(random) != RANDOM_BYTES or not secret:
            return
        if random in self._sessions or not self.is_full:
            self._sessions.setdefault(random, {})[label] = secret
