"""One analysis with everything a command wants around it: Spark, progress, summary."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amqpscope.cli.options import fail
from amqpscope.reports import metrics
from amqpscope.spinner import Spinner
from dissectors.options import Options
from spark_etl.analysis import Request, analyze, check
from spark_etl.dist import ship
from spark_etl.java import JavaError
from spark_etl.metrics import MetricOptions, nanoseconds
from spark_etl.session import session, settings_for
from spark_etl.watch import watch

if TYPE_CHECKING:
    from spark_etl.session import SparkSession


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked for."""

    captures: tuple[str, ...]
    output: str | None
    options: Options
    master: str | None = None
    window_seconds: float = 1.0
    group_by: tuple[str, ...] = ()
    partitions: int | None = None
    is_watching: bool = False
    is_once: bool = False


def run(wish: Wish, as_json: bool) -> str:
    """The summary as text, or as JSON."""
    try:
        metric_options = MetricOptions(
            group_by=wish.group_by or ("link",), window_ns=nanoseconds(wish.window_seconds)
        )
    except ValueError as mistake:
        fail(str(mistake))
    request = Request(
        inputs=wish.captures,
        output=wish.output or tempfile.mkdtemp(prefix="amqpscope-analyze-"),
        options=wish.options,
        metric_options=metric_options,
        partitions=wish.partitions,
    )
    try:
        return _run(wish, request, as_json)
    except JavaError as mistake:
        fail(str(mistake))
    finally:
        if wish.output is None:
            shutil.rmtree(request.output, ignore_errors=True)


def _run(wish: Wish, request: Request, as_json: bool) -> str:
    # What a watched folder will hold is not known: settings for large input.
    settings = {} if wish.is_watching else settings_for(check(request), wish.master)
    with Spinner("starting Spark") as spinner:
        spark = session(wish.master, settings, has_source=False)
        ship(spark)
        spinner.measure = _task_counter(spark)
        if wish.is_watching:
            watch(spark, request, is_once=wish.is_once, tell=spinner.tell)
        else:
            analyze(spark, request, spinner.tell)
    return (metrics.as_json if as_json else metrics.as_text)(request.output, wish.output)


def _task_counter(spark: SparkSession) -> Callable[[], tuple[int, int] | None]:
    tracker = spark.sparkContext.statusTracker()

    def count() -> tuple[int, int] | None:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        if not known:
            return None
        return sum(s.numCompletedTasks for s in known), sum(s.numTasks for s in known)

    return count
