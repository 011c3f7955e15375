"""When a captured step is due on the live clock. Knows times, nothing else.

``absolute``: at its captured distance from the beginning, so that a late step does not move the
others. ``gaps``: at its captured distance from the step before, so that no gap is ever shorter.
"""

from __future__ import annotations

from array import array

PACES = ("absolute", "gaps")
# Fewer than this many ns late is on time; it is also where the driver stops sleeping and spins.
SPIN_NS = 1_500_000


class Pacer:
    """``speed`` None: as fast as causality allows."""

    def __init__(self, speed: float | None, pace: str = "absolute") -> None:
        self.speed = speed
        self._has_gaps = pace == "gaps"
        self._origin_ts_ns: int | None = None
        self._origin_ns = 0
        self.lateness_ns = array("q")

    def start(self, ts_ns: int, now_ns: int) -> None:
        """This capture time is now."""
        self._origin_ts_ns, self._origin_ns = ts_ns, now_ns

    def due_ns(self, ts_ns: int, now_ns: int) -> int:
        """0 = at once. The clock starts with the first step: how long the live peer takes to let
        us in is not the capture's business."""
        if self.speed is None or self._origin_ts_ns is None:
            return 0
        return self._origin_ns + int((ts_ns - self._origin_ts_ns) / self.speed)

    def sent(self, ts_ns: int, now_ns: int) -> None:
        """The step of that capture time has gone out."""
        if self.speed is None:
            return
        if self._origin_ts_ns is None:
            self.start(ts_ns, now_ns)
        due = self.due_ns(ts_ns, now_ns)
        self.lateness_ns.append(max(0, now_ns - due))
        if self._has_gaps and now_ns > due:
            self.start(ts_ns, now_ns)


def parse_speed(text: str) -> float | None:
    """``max`` or a factor; ValueError otherwise."""
    if text == "max":
        return None
    factor = float(text.rstrip("x×"))
    if not factor > 0:
        raise ValueError(text)
    return factor
