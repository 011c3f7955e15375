"""How long each side was silent at most (1.0 §2.4.5): while the other side waits for frames, a
peer must send one, if only an empty one, within the idle-time-out that was asked of it."""

import cython


class Silence:
    """The longest pause between two frames of each side, once its peer has opened."""

    def __init__(self) -> None:
        self.last_ts_0 = 0
        self.last_ts_1 = 0
        self.longest_0 = 0
        self.longest_1 = 0
        self.is_watched_0 = False
        self.is_watched_1 = False

    def hear(self, side: cython.int, ts_ns: cython.longlong) -> cython.int:
        """A frame of this side, or the moment at which one was still missing."""
        if side:
            if self.is_watched_1 and ts_ns - self.last_ts_1 > self.longest_1:
                self.longest_1 = ts_ns - self.last_ts_1
            self.last_ts_1 = ts_ns
        else:
            if self.is_watched_0 and ts_ns - self.last_ts_0 > self.longest_0:
                self.longest_0 = ts_ns - self.last_ts_0
            self.last_ts_0 = ts_ns
        return 0

    def watch(self, side: cython.int, ts_ns: cython.longlong) -> cython.int:
        """From here on this side owes frames: its peer's open has told the idle-time-out."""
        if side:
            self.is_watched_1 = True
            self.last_ts_1 = ts_ns
        else:
            self.is_watched_0 = True
            self.last_ts_0 = ts_ns
        return 0

    def excuse(self, side: cython.int) -> cython.int:
        """This side has closed and owes no more frames."""
        if side:
            self.is_watched_1 = False
        else:
            self.is_watched_0 = False
        return 0
