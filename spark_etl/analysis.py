"""One analysis from captures to metrics: what the command line and ``job.py`` both run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dissectors.options import Options
from dissectors.tables import CORE_TABLES, TABLES
from spark_etl.flows import Work
from spark_etl.interrupt import end_jobs, interruptible
from spark_etl.parts import SUFFIX, write_empty
from spark_etl.rebuild import Outcome, look_at, partition_count, read_chunks, rebuild
from spark_etl.source.plan import find_files
from spark_etl.storage import Folder, aside_of, move_into_place
from spark_etl.tables import Tables, has_tables, read_table, read_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_etl.metrics import MetricOptions

Tell = Callable[[str], None]
CONCURRENT_WRITES = 2
# Begins the names of frames that several metrics are made from, beside the metrics.
KEPT = "_"
# Octets of a capture for each octet of its tables, which are compressed.
CAPTURE_PER_TABLES = 20


def tell_nobody(_stage: str) -> None:
    """For those who do not ask how far it is."""


@dataclass(frozen=True)
class Request:
    """What is to be done: captures (or a folder of tables) in, tables and metrics out."""

    inputs: Sequence[str]
    output: str
    options: Options = field(default_factory=Options)
    metric_options: MetricOptions | None = None
    partitions: int | None = None
    split_bytes: int | None = None


@dataclass(frozen=True)
class Result:
    output: Folder
    row_counts: dict[str, int]
    other_connection_count: int | None = None
    file_count: int | None = None
    input_bytes: int | None = None


def analyze(spark: SparkSession, request: Request, tell: Tell = tell_nobody) -> Result:
    """Write all tables and metrics to the output; an earlier result is replaced at the end.

    Raises CaptureError and WriteError for mistakes."""
    target = Folder(request.output)
    source = given_tables(request.inputs)
    files = [] if source is not None else find_files(request.inputs)
    secrets = known_secrets(request.options, look_at(files)) if source is None else ()
    aside = aside_of(target)
    try:
        with interruptible(spark):
            if source is None:
                tell("dissecting")
                partitions = request.partitions or partition_count(spark, files)
                chunks = read_chunks(spark, files, request.split_bytes)
                outcome = rebuild(chunks, Work(aside, request.options, secrets), partitions)
                complete(aside, outcome)
                tables = read_tables(spark, aside)
            else:
                outcome = Outcome()
                tables = read_tables(spark, source)
            tell("computing metrics")
            names = write_metrics(tables, aside, request.metric_options)
            if source is None:
                names = [*TABLES, *names]
            move_into_place(aside, target, [f"{name}{SUFFIX}" for name in names])
    finally:
        aside.parent.remove(aside.name)
    if source is not None:
        return Result(target, {})
    return Result(
        target,
        outcome.row_counts(),
        outcome.other_connection_count,
        len(files),
        sum(file.size_bytes for file in files),
    )


def write_metrics(tables: Tables, folder: Folder, options: MetricOptions | None) -> list[str]:
    """Compute and write every metric table; returns their names."""
    from spark_etl.metrics import MetricOptions, compute

    def write(name: str, frame: DataFrame) -> Folder:
        file = folder / f"{name}{SUFFIX}"
        frame.write.mode("overwrite").parquet(file.for_spark)
        return file

    def compute_one(name: str) -> None:
        write(name, frames[name])

    def keep(name: str, frame: DataFrame) -> DataFrame:
        # Read back from files: plans become short, and a lost executor loses nothing.
        return read_table(frame.sparkSession, write(f"{KEPT}{name}", frame), frame.schema)[0]

    options = replace(
        options or MetricOptions(), most_values=max(tables.row_counts.values(), default=0)
    )
    frames = compute(tables, options, keep)
    # Spark plans a query in the thread that asks: the others keep the cores busy.
    with ThreadPoolExecutor(CONCURRENT_WRITES) as pool:
        pending = [pool.submit(compute_one, name) for name in frames]
        try:
            for done in pending:
                done.result()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            end_jobs(tables["frames"].sparkSession)
            raise
        finally:
            for later in pending:
                later.cancel()
    return list(frames)


def complete(folder: Folder, outcome: Outcome) -> None:
    """Tables that no task had a row for are there too."""
    written = outcome.row_counts()
    for name in CORE_TABLES:
        if not written.get(name):
            write_empty(folder, name)


def known_secrets(options: Options, in_files: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """TLS keys: those of the key log come first. Its path means nothing to other machines."""
    if options.keylog is None:
        return in_files
    return (Path(options.keylog).read_bytes(), *in_files)


def check(request: Request) -> int:
    """Find mistakes before Spark is started; returns the octets of the captures.

    Raises CaptureError and WriteError."""
    source = given_tables(request.inputs)
    if source is None:
        files = find_files(request.inputs)
        look_at(files)
        input_bytes = sum(file.size_bytes for file in files)
    else:
        input_bytes = source.size_bytes() * CAPTURE_PER_TABLES
    aside = aside_of(Folder(request.output))
    aside.parent.remove(aside.name)
    return input_bytes


def given_tables(inputs: Sequence[str]) -> Folder | None:
    """The folder of tables that is meant instead of captures."""
    if len(inputs) == 1 and has_tables(Folder(inputs[0])):
        return Folder(inputs[0])
    return None
