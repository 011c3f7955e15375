"""Numbers as people read them."""

from __future__ import annotations

import pytest

from amqpscope.progress import progress_text
from amqpscope.reports.terminal import printable
from amqpscope.reports.units import bytes_text, count_text, duration_text, time_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (14_460, "14.5 kB"),
        (99_940, "99.9 kB"),
        (99_960, "100 kB"),
        (999_600, "1.0 MB"),
        (5_300_000_000, "5.3 GB"),
        (10**17, "100000 TB"),
    ],
)
def test_bytes(count: int, text: str) -> None:
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 µs"),
        (850_000, "850 µs"),
        (12_340_000, "12.3 ms"),
        (1_254_000_000, "1.25 s"),
        (200 * 10**9, "3 min 20 s"),
        (7500 * 10**9, "2 h 5 min"),
    ],
)
def test_durations(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text


def test_counts() -> None:
    assert count_text(1, "frame") == "1 frame"
    assert count_text(1204, "frame") == "1,204 frames"


def test_progress_says_share_rate_and_time_left() -> None:
    assert progress_text(50_000_000, 200_000_000, 2.0) == (
        "██████··················  25% 50.0 MB, 25.0 MB/s, 6 s left"
    )
    assert progress_text(50_000_000, None, 2.0) == "50.0 MB, 25.0 MB/s"
    assert progress_text(0, 100, 0.0).endswith("0 s left")


def test_times() -> None:
    assert time_text(1_700_000_000_123_456_789) == "2023-11-14 22:13:20.123 UTC"
    assert time_text((1 << 63) - 1) == "2262-04-11 23:47:16.854 UTC"


def test_what_peers_write_does_not_reach_the_terminal_as_commands() -> None:
    assert printable("closed: \x1b[2Jgone\nnext\u202e") == "closed: \\x1b[2Jgone\\nnext\\u202e"
    assert printable("→ 20 × grün") == "→ 20 × grün"
