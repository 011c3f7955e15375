"""Packets to tables: chunks brought together by flow, dissected, written as Parquet.

``repartition(flow)`` brings both directions of a connection together, the sort within partitions
puts its packets on the timeline, and ``mapInArrow`` dissects with state across batches. The rows
are those of ``amqpscope dissect``, whatever the number of partitions, files and splits.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from dissectors.capture.chunks import FRAGMENTS
from dissectors.capture.paths import CaptureError
from spark_etl.flows import ANSWER_DDL, Work, dissect_flows
from spark_etl.fragments import join_fragments
from spark_etl.parts import SUFFIX, Part
from spark_etl.source.chunks import DDL, ORDER
from spark_etl.source.chunks import read_chunks as read_pieces
from spark_etl.source.plan import SPLIT_BYTES, CaptureFile, open_file, plan_splits, share_out

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Bytes of captures for each task after the shuffle: at most, and to be worth a process.
BYTES_PER_PARTITION = 128 * 1024 * 1024
MIN_BYTES_PER_PARTITION = 1024 * 1024
# Chunks are large: this many of them at a time go to a Python worker.
CHUNKS_PER_BATCH = 16
_RECORDS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@dataclass
class Outcome:
    """What the tasks have written, and what they met."""

    parts: list[Part] = field(default_factory=list)
    open_parts: list[Part] = field(default_factory=list)
    open_flows: list[bytes] = field(default_factory=list)
    secrets: set[bytes] = field(default_factory=set)
    has_fragments: bool = False
    other_connection_count: int = 0
    packet_count: int = 0

    def row_counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for part in (*self.parts, *self.open_parts):
            counts[part.table] = counts.get(part.table, 0) + part.row_count
        return counts


def read_chunks(
    spark: SparkSession, files: list[CaptureFile], split_bytes: int | None = None
) -> DataFrame:
    """The rows of ``amqp_pcap`` in its layout ``chunks``, each share of the files in a task.

    The pieces are planned here and now: to plan a read of a data source written in Python, Spark
    starts four more processes, one after the other, which takes longer than to read most files."""
    split_bytes = split_bytes or SPLIT_BYTES
    shares = share_out(plan_splits(files, split_bytes), split_bytes)
    table = pa.table({"place": range(len(shares)), "share": map(pickle.dumps, shares)})
    frame = spark.createDataFrame(table)
    placed = frame.repartitionById(len(shares), frame["place"].cast("int"))
    return placed.mapInArrow(_read_shares, DDL)


def _read_shares(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The body of ``mapInArrow``."""
    for batch in batches:
        for share in batch.column("share").to_pylist():
            yield from read_pieces(pickle.loads(share).splits)


def look_at(files: list[CaptureFile]) -> tuple[bytes, ...]:
    """TLS keys that stand before the first packet of a file.

    Raises CaptureError where no file at all is a capture; that and nothing else stops a run."""
    secrets: list[bytes] = []
    reasons: list[str] = []
    readable_count = 0
    for file in files:

        def report(_code: str, detail: str, file: CaptureFile = file, **_where: object) -> None:
            reasons.append(f"{file.name}: {detail}")

        reader = open_file(file, report, secrets)
        if reader is not None:
            readable_count += 1
            reader.advance()
            reader.stream.close()
    if not readable_count:
        more = f" (and {len(reasons) - 1} more that cannot be read)" if len(reasons) > 1 else ""
        raise CaptureError(f"{reasons[0]}{more}")
    return tuple(dict.fromkeys(secrets))


def rebuild(chunks: DataFrame, work: Work, partitions: int) -> Outcome:
    """Dissect all flows into files under ``work.folder``.

    Two rare things are only known once all was read: IP fragments, and TLS keys in the middle of
    a file. Then the work is done again with them."""
    outcome = _run(chunks, work, partitions)
    unknown = outcome.secrets.difference(work.secrets)
    if not outcome.has_fragments and not unknown:
        return outcome
    _discard(outcome, work)
    if outcome.has_fragments:
        chunks = with_whole_packets(chunks)
    work = replace(work, secrets=(*work.secrets, *sorted(unknown)))
    return _run(chunks, work, partitions)


def with_whole_packets(chunks: DataFrame) -> DataFrame:
    """Fragments replaced by the packets that they were."""
    from pyspark.sql import functions as sf

    is_fragment = sf.col("flow") == sf.lit(FRAGMENTS)
    pieces = chunks.where(is_fragment).repartition(1).sortWithinPartitions(*ORDER)
    return chunks.where(~is_fragment).unionByName(pieces.mapInArrow(join_fragments, DDL))


def partition_count(spark: SparkSession, files: list[CaptureFile]) -> int:
    total = sum(file.size_bytes for file in files)
    worth = min(spark.sparkContext.defaultParallelism, -(-total // MIN_BYTES_PER_PARTITION))
    return max(1, worth, -(-total // BYTES_PER_PARTITION))


def _run(chunks: DataFrame, work: Work, partitions: int) -> Outcome:
    with _setting(chunks.sparkSession, _RECORDS_PER_BATCH, str(CHUNKS_PER_BATCH)):
        answers = (
            chunks.repartition(partitions, "flow")
            .sortWithinPartitions(*ORDER)
            .mapInArrow(partial(dissect_flows, work=work), ANSWER_DDL)
            .collect()
        )
    outcome = Outcome()
    for kind, table, name, count, detail in answers:
        if kind == "part":
            outcome.parts.append(Part(table, name, count))
        elif kind == "open-part":
            outcome.open_parts.append(Part(table, name, count))
        elif kind == "open":
            outcome.open_flows.append(bytes(detail))
        elif kind == "secrets":
            outcome.secrets.add(bytes(detail))
        elif kind == "fragments":
            outcome.has_fragments = True
        elif kind == "foreign":
            outcome.other_connection_count += count
        elif kind == "packets":
            outcome.packet_count += count
    _keep_only(outcome, work)
    return outcome


def _keep_only(outcome: Outcome, work: Work) -> None:
    """Remove files of attempts that did not count."""
    accepted = {(part.table, part.name) for part in (*outcome.parts, *outcome.open_parts)}
    for folder_name in work.folder.names():
        folder = work.folder / folder_name
        for name in folder.names():
            if (folder_name.removesuffix(SUFFIX), name) not in accepted:
                folder.remove(name)


def _discard(outcome: Outcome, work: Work) -> None:
    for part in (*outcome.parts, *outcome.open_parts):
        (work.folder / f"{part.table}{SUFFIX}").remove(part.name)


@contextmanager
def _setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = str(spark.conf.get(name))
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)
