"""Numbers as people read them."""

from __future__ import annotations

from datetime import datetime, timezone

# The end of the year 9999, which is as far as dates go.
_MAX_SECONDS = 253_402_300_800
_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")


def bytes_text(count: float) -> str:
    """``14.5 kB``: decimal units, three digits at most."""
    for unit in _BYTE_UNITS:
        if abs(count) < 999.5 or unit == _BYTE_UNITS[-1]:
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "B" or count >= 99.95 else f"{count:.1f} {unit}"


def duration_text(nanoseconds: float) -> str:
    """``1.25 s``, ``3 min 20 s``, ``2 h 5 min``: the two units that matter."""
    if nanoseconds < 1_000_000:
        return f"{nanoseconds / 1000:.0f} µs"
    if nanoseconds < 1_000_000_000:
        return f"{nanoseconds / 1_000_000:.3g} ms"
    seconds = nanoseconds / 1_000_000_000
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def time_text(ns_since_1970: int) -> str:
    """``2023-11-14 22:13:20.123 UTC``."""
    seconds, nanoseconds = divmod(ns_since_1970, 1_000_000_000)
    if seconds >= _MAX_SECONDS:
        return "a time beyond the calendar"
    date = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{date:%Y-%m-%d %H:%M:%S}.{nanoseconds // 1_000_000:03} UTC"


def count_text(count: int, noun: str, plural: str | None = None) -> str:
    """``1 frame``, ``1,204 frames``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
