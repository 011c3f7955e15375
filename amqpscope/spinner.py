"""A line on stderr while something without a known length runs: only on a terminal."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType

from amqpscope.reports.units import duration_text

REFRESH_SECONDS = 0.2
_SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ERASE_LINE = "\r\x1b[K"


class Spinner:
    """``with Spinner("starting Spark") as spinner``; ``tell`` changes the text, ``measure`` gives
    (done, total) where that is known."""

    def __init__(self, text: str, measure: Callable[[], tuple[int, int] | None] | None = None):
        self._text = text
        self.measure = measure
        self._is_shown = sys.stderr.isatty()
        self._begun = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spinner", daemon=True)

    def tell(self, text: str) -> None:
        self._text = text
        self._begun = time.monotonic()

    def __enter__(self) -> Spinner:
        if self._is_shown:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._is_shown:
            self._thread.join()
            sys.stderr.write(_ERASE_LINE)
            sys.stderr.flush()

    def _run(self) -> None:
        terminal = sys.stderr
        for sign in itertools.cycle(_SIGNS):
            passed = duration_text((time.monotonic() - self._begun) * 1e9)
            terminal.write(f"{_ERASE_LINE}{sign} {self._text}{self._share()}, {passed}")
            terminal.flush()
            if self._stop.wait(REFRESH_SECONDS):
                return

    def _share(self) -> str:
        measured = self.measure() if self.measure is not None else None
        return "" if measured is None else f": {measured[0]} of {measured[1]} tasks"
