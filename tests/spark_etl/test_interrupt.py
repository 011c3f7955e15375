"""Ctrl-C inside a call to the JVM, which may leave with an error of its own."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from spark_etl import interrupt

ANSWER = "Answer from Java side is empty"


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Sessions whose jobs were ended."""
    sessions: list[Any] = []
    monkeypatch.setattr(interrupt, "end_jobs", sessions.append)
    return sessions


def broken_off() -> None:
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    finally:
        raise RuntimeError(ANSWER)


def test_an_error_that_an_interruption_led_to_is_an_interruption(ended: list[Any]) -> None:
    with pytest.raises(KeyboardInterrupt), interrupt.interruptible("spark"):  # type: ignore[arg-type]
        broken_off()
    assert ended == ["spark"]


def test_jobs_that_cannot_be_ended_any_more_do_not_hide_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_answer(_spark: object) -> None:
        raise RuntimeError(ANSWER)

    monkeypatch.setattr(interrupt, "end_jobs", no_answer)
    with pytest.raises(KeyboardInterrupt), interrupt.interruptible("spark"):  # type: ignore[arg-type]
        broken_off()


def test_other_errors_stay_what_they_are(ended: list[Any]) -> None:
    with pytest.raises(RuntimeError), interrupt.interruptible("spark"):  # type: ignore[arg-type]
        raise RuntimeError(ANSWER)
    assert ended == []
