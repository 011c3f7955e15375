"""A progress line on stderr: only on a terminal, and only for work that takes a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from amqpscope.reports.units import bytes_text, duration_text

if TYPE_CHECKING:
    from dissectors.core.rows import Batch
    from dissectors.pipeline import Dissection

QUIET_SECONDS = 1.0
REFRESH_SECONDS = 0.2
_WIDTH = 24
_ERASE_LINE = "\r\x1b[K"


class Progress:
    """Passes a dissection's batches on and says how far it is.

    ``is_quiet``: the caller prints on the same terminal, and the two would overwrite each other.
    """

    def __init__(self, dissection: Dissection, is_quiet: bool = False) -> None:
        self._dissection = dissection
        self._is_shown = sys.stderr.isatty() and not is_quiet
        self._begun = time.monotonic()
        self._last = self._begun + QUIET_SECONDS - REFRESH_SECONDS
        self._has_drawn = False

    def __enter__(self) -> Iterator[tuple[str, Batch]]:
        return self._batches()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._has_drawn:
            sys.stderr.write(_ERASE_LINE)
            sys.stderr.flush()

    def _batches(self) -> Iterator[tuple[str, Batch]]:
        for item in self._dissection.batches():
            if self._is_shown:
                self._draw()
            yield item

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._last < REFRESH_SECONDS:
            return
        self._last = now
        self._has_drawn = True
        done, total = self._dissection.bytes_read, self._dissection.total_bytes
        sys.stderr.write(_ERASE_LINE + progress_text(done, total, now - self._begun))
        sys.stderr.flush()


def progress_text(done: int, total: int | None, seconds: float) -> str:
    """Bytes, rate and time left; without a total (a pipe) only bytes and rate."""
    rate = done / seconds if seconds > 0 else 0.0
    text = f"{bytes_text(done)}, {bytes_text(rate)}/s"
    if not total:
        return text
    share = min(1.0, done / total)
    bar = "█" * round(share * _WIDTH)
    left = duration_text((total - done) / rate * 1e9) if rate and done < total else "0 s"
    return f"{bar:·<{_WIDTH}} {share:4.0%} {text}, {left} left"
