"""New files of a folder taken into the tables as they come.

Spark's stream says which files are new and remembers it in its checkpoint; each batch of them is
added to the tables, and the metrics are computed again.

**Connections that are still open.** A connection's rows can change as long as packets may still
come for it. So the packets of open connections are carried over in ``_watch/state-N``, and are
dissected again together with the new ones; the rows of such connections are in files of their own
(``open-…``), which every batch replaces. Once a connection is over (closed, and so long ago that
no packet could belong to it any more) its rows are final and its packets are forgotten. Since the
rows of a connection always come from all of its packets at once, in the order of the timeline,
the tables are at all times those of one run over all files taken so far.

**Late files.** Packets may come up to ``LATENESS_NS`` out of order between files. A file with
older ones may belong to connections that were finished: then everything is done again from the
files, if all of them are still there. If not, it is read by itself, with a row in problems.

**Restart.** A batch is first written aside, then moved into place, then ``_watch/commit.json``
names it as done. A batch that was interrupted is done again from the state of the one before.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dissectors.tables import CORE_TABLES, TABLES
from spark_etl.analysis import (
    Request,
    Tell,
    known_secrets,
    tell_nobody,
    write_metrics,
)
from spark_etl.flows import Work
from spark_etl.parts import SUFFIX, Part, write_empty
from spark_etl.rebuild import Outcome, read_chunks, rebuild
from spark_etl.session import register
from spark_etl.source.chunks import DDL, NO_FLOW, problem_row
from spark_etl.source.plan import CaptureFile
from spark_etl.source.stream import QUIET_SECONDS, FileLog
from spark_etl.storage import Folder, move_into_place
from spark_etl.tables import read_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WATCH = "_watch"
COMMIT = "commit.json"
LATENESS_NS = 60 * 1_000_000_000
POLL_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Commit:
    """The last batch that was done, and how far the timeline has come."""

    batch: int = -1
    latest_ns: int = -1
    has_state: bool = False


def watch(
    spark: SparkSession,
    request: Request,
    is_once: bool = False,
    quiet_seconds: float = QUIET_SECONDS,
    tell: Tell = tell_nobody,
) -> None:
    """Take new files into the output until interrupted; with ``is_once``, those that are there."""
    home = (Folder(request.output) / WATCH).make()
    home.check_writable()
    register(spark)
    stream = (
        spark.readStream.format("amqp_pcap")
        .option("layout", "chunks")
        .option("paths", json.dumps(list(request.inputs)))
        .option("log", (home / "log").address)
        .option("quiet_seconds", str(quiet_seconds))
    )
    if request.split_bytes is not None:
        stream = stream.option("split_bytes", str(request.split_bytes))
    batches = Batches(request, home, tell)
    writer = stream.load().writeStream.foreachBatch(batches.take)
    writer = writer.option("checkpointLocation", (home / "checkpoint").for_spark)
    if is_once:
        query = writer.trigger(availableNow=True).start()
    else:
        query = writer.trigger(processingTime=f"{POLL_SECONDS} seconds").start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


class Batches:
    """Takes one batch of new files after the other into the output."""

    def __init__(self, request: Request, home: Folder, tell: Tell) -> None:
        self.request = request
        self.output = Folder(request.output)
        self.home = home
        self.tell = tell

    def take(self, fresh: DataFrame, batch: int) -> None:
        done = self.last_commit()
        if batch <= done.batch:
            return  # interrupted between our commit and Spark's
        spark = fresh.sparkSession
        names, first_ns, latest_ns = _extent(fresh)
        self.tell(f"batch {batch}: {len(names)} files")
        latest_ns = max(done.latest_ns, latest_ns)
        chunks, is_anew = fresh, False
        if 0 <= first_ns < done.latest_ns - LATENESS_NS:
            log = FileLog((self.home / "log").address)
            taken = [f for f in log.files() if f.name in names or self._is_taken(f, done)]
            if all(_is_as_it_was(file) for file in taken):
                chunks, is_anew = read_chunks(spark, taken, self.request.split_bytes), True
            else:
                chunks = fresh.unionByName(_late_rows(spark, names))
        if done.has_state and not is_anew:
            chunks = chunks.unionByName(spark.read.schema(DDL).parquet(self._state(done.batch)))
        aside = self.home / f"aside-{batch}"
        self.home.remove(aside.name)
        outcome = self._dissect(chunks, aside.make(), latest_ns)
        self._keep_state(chunks, outcome, batch)
        self._swap(aside, outcome, batch, is_anew)
        self.tell(f"batch {batch}: metrics")
        metrics = self.home / f"metrics-{batch}"
        found = write_metrics(
            read_tables(spark, self.output), metrics.make(), self.request.metric_options
        )
        move_into_place(metrics, self.output, [f"{name}{SUFFIX}" for name in found])
        self._commit(Commit(batch, latest_ns, bool(outcome.open_flows)))

    def last_commit(self) -> Commit:
        if COMMIT not in self.home.names():
            return Commit()
        return Commit(**json.loads(self.home.read(COMMIT)))

    # -- inside ---------------------------------------------------------------------------

    def _dissect(self, chunks: DataFrame, folder: Folder, latest_ns: int) -> Outcome:
        from pyspark.sql import functions as sf

        spark = chunks.sparkSession
        is_secret = sf.col("flow") == sf.lit(b"secrets")
        in_files = tuple(
            bytes(row[0]) for row in chunks.where(is_secret).select("numbers").collect()
        )
        work = Work(
            folder,
            self.request.options,
            known_secrets(self.request.options, in_files),
            now_ns=latest_ns - LATENESS_NS,
        )
        partitions = self.request.partitions or spark.sparkContext.defaultParallelism
        return rebuild(chunks, work, partitions)

    def _keep_state(self, chunks: DataFrame, outcome: Outcome, batch: int) -> None:
        """The packets of open flows, and TLS keys, for the next batch."""
        from pyspark.sql import functions as sf

        self.home.remove(f"state-{batch}")
        if not outcome.open_flows:
            return
        spark = chunks.sparkSession
        flows = spark.createDataFrame(
            [(flow,) for flow in (*outcome.open_flows, b"secrets")], "flow BINARY"
        )
        kept = chunks.join(sf.broadcast(flows), "flow", "left_semi")
        kept.select(*[name.split()[0] for name in DDL.split(", ")]).write.mode("overwrite").parquet(
            self._state(batch)
        )

    def _swap(self, aside: Folder, outcome: Outcome, batch: int, is_anew: bool) -> None:
        """Final rows are added, those of open flows replaced; done anew, everything is."""
        for name in TABLES:
            folder = self.output / f"{name}{SUFFIX}"
            own = f"batch-{batch:06d}"
            for old in folder.names():
                is_final = old.startswith("batch-") and not old.startswith(own)
                if is_anew or not is_final:
                    folder.remove(old)
            for part, label in (
                *((part, own) for part in outcome.parts),
                *((part, f"open-{own}") for part in outcome.open_parts),
            ):
                if part.table == name:
                    _move(aside, part, folder.make(), f"{label}-{part.name}")
            if name in CORE_TABLES and not folder.names():
                write_empty(self.output, name)

    def _commit(self, done: Commit) -> None:
        values = {"batch": done.batch, "latest_ns": done.latest_ns, "has_state": done.has_state}
        self.home.write(COMMIT, json.dumps(values).encode())
        for name in self.home.names():
            number = name.rpartition("-")[2]
            if number.isdecimal() and (int(number) < done.batch or not name.startswith("state-")):
                self.home.remove(name)

    def _state(self, batch: int) -> str:
        return (self.home / f"state-{batch}").for_spark

    def _is_taken(self, file: CaptureFile, done: Commit) -> bool:
        """Whether a file of the log was part of the batches that are done."""
        return file.path in self._taken_paths(done)

    def _taken_paths(self, done: Commit) -> set[str]:
        offsets = self.home / "checkpoint" / "offsets"
        if str(done.batch) not in offsets.names():
            return set()
        count = json.loads(offsets.read(str(done.batch)).splitlines()[-1])["files"]
        log = FileLog((self.home / "log").address)
        return {file.path for file in log.files(0, count)}


def _extent(fresh: DataFrame) -> tuple[list[str], int, int]:
    """Names of the files in a batch, and the first and last place of their packets."""
    from pyspark.sql import functions as sf

    is_packets = ~sf.col("flow").isin([sf.lit(word) for word in NO_FLOW])
    rows = (
        fresh.groupBy("capture")
        .agg(
            sf.min(sf.when(is_packets, sf.col("order_ns"))).alias("first_ns"),
            sf.max(sf.when(is_packets, sf.col("last_order_ns"))).alias("latest_ns"),
        )
        .collect()
    )
    firsts: list[Any] = [row["first_ns"] for row in rows if row["first_ns"] is not None]
    latest: list[Any] = [row["latest_ns"] for row in rows if row["latest_ns"] is not None]
    return [row["capture"] for row in rows], min(firsts, default=-1), max(latest, default=-1)


def _late_rows(spark: SparkSession, names: list[str]) -> DataFrame:
    detail = "earlier files are gone: its connections may be told apart from their beginnings"
    rows = [problem_row(name, ("capture.late", detail, {"capture": name})) for name in names]
    return spark.createDataFrame(rows, DDL)


def _is_as_it_was(file: CaptureFile) -> bool:
    return os.path.exists(file.path) and os.path.getsize(file.path) == file.size_bytes


def _move(aside: Folder, part: Part, folder: Folder, name: str) -> None:
    (aside / f"{part.table}{SUFFIX}").move(part.name, folder, name)
