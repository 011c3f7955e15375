"""Ctrl-C while Spark is at work: its jobs end, then what they had written can be removed.

PySpark's own handler calls the JVM in the middle of another call, which fails and fills the
terminal with tracebacks.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

END_SECONDS = 30.0
POLL_SECONDS = 0.1


@contextmanager
def interruptible(spark: SparkSession) -> Iterator[None]:
    """KeyboardInterrupt is raised in here, and leaves when nothing runs any more."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    was_heard = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal was_heard
        was_heard = True
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, hear)
    root = logging.getLogger()
    root.addFilter(_is_not_of_py4j)
    try:
        yield
    except (KeyboardInterrupt, Exception) as failure:
        if not was_heard:
            raise
        # A call that was broken off may leave with an error of its own, and the next one too.
        with suppress(Exception):
            end_jobs(spark)
        raise KeyboardInterrupt from failure
    finally:
        root.removeFilter(_is_not_of_py4j)
        signal.signal(signal.SIGINT, before)


def end_jobs(spark: SparkSession) -> None:
    """Cancel all jobs, and wait until no task of them writes."""
    context = spark.sparkContext
    context.cancelAllJobs()
    tracker = context._jsc.sc().statusTracker()
    deadline = time.monotonic() + END_SECONDS
    while any(executor.numRunningTasks() for executor in tracker.getExecutorInfos()):
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """It tells the root logger of every call that was broken off."""
    return f"{os.sep}py4j{os.sep}" not in record.pathname
