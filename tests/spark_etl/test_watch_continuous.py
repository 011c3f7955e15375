"""A watch that goes on: files come while it runs, and tables and metrics follow."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import spark_etl.watch
from spark_etl.analysis import Request
from spark_etl.load import load
from spark_etl.watch import COMMIT, WATCH, watch
from tests.samples import parts
from tests.spark_etl.comparing import differences, dissected, written

PATIENCE_SECONDS = 300


class Watching(threading.Thread):
    """The watch in a thread of its own; what stopped it, if anything did."""

    def __init__(self, spark, inbox: Path, out: Path) -> None:
        super().__init__(daemon=True)
        self.spark = spark
        self.request = Request([str(inbox)], str(out), partitions=2)
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            watch(self.spark, self.request, quiet_seconds=0)
        except BaseException as failure:  # told by the thread that waits
            self.failure = failure


@contextmanager
def watching(spark, inbox: Path, out: Path) -> Iterator[Watching]:
    thread = Watching(spark, inbox, out)
    thread.start()
    try:
        yield thread
    finally:
        for query in spark.streams.active:
            query.stop()
        thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def bring(path: str, inbox: Path) -> None:
    """A file appears as a whole."""
    aside = shutil.copy(path, inbox.parent)
    os.rename(aside, inbox / Path(path).name)


def wait_for_commit(thread: Watching, out: Path, earlier: bytes) -> bytes:
    """What the commit says once it is another one."""
    path = out / WATCH / COMMIT
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists() or path.read_bytes() == earlier:
        assert thread.failure is None and thread.is_alive(), thread.failure
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return path.read_bytes()


def check(inbox: Path, out: Path) -> None:
    wanted = dissected(str(inbox))
    assert differences(written(out), wanted) == {}
    throughput = load(out)["throughput"]
    assert throughput["message_count"].sum() == wanted["transfers"].total() > 0


@pytest.mark.slow
def test_tables_and_metrics_follow_the_files(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_etl.watch, "POLL_SECONDS", 1)
    inbox, out = tmp_path / "inbox", tmp_path / "out"
    inbox.mkdir()
    first, second, *_ = parts("23g")
    bring(first, inbox)
    with watching(spark, inbox, out) as thread:
        done = wait_for_commit(thread, out, b"")
        check(inbox, out)
        bring(second, inbox)
        wait_for_commit(thread, out, done)
        check(inbox, out)
