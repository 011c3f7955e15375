"""What a task does with its share of the flows: chunks in, files of tables out.

Runs in Spark's Python workers. Chunks come sorted by flow and by their place on the timeline, so
the state of one flow is held at a time, and a flow of any length passes in bounded memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from dissectors.collecting import rare_collections, spare_what_is_loaded
from dissectors.options import Options
from dissectors.pipeline import FlowDissection
from dissectors.sink import Sink
from dissectors.tls.keylog import KeyLog
from dissectors.tracker import MAX_BAD_PACKET_ROWS
from spark_etl.columns import make_batch
from spark_etl.parts import Part
from spark_etl.routing import AllTogether, OpenApart
from spark_etl.source.chunks import (
    BAD_PACKETS,
    NO_FLOW,
    PROBLEMS,
    SECRETS,
    Row,
    read_problem,
    unpack,
)
from spark_etl.storage import Folder

# A task's answer: one row for each file that it wrote, and for other things worth knowing.
ANSWER_SCHEMA = pa.schema(
    [("kind", pa.string()), ("table", pa.string()), ("name", pa.string()),
     ("count", pa.int64()), ("detail", pa.binary())]
)  # fmt: skip
ANSWER_DDL = "kind STRING, `table` STRING, name STRING, count BIGINT, detail BINARY"

Answer = tuple[str, str, str, int, bytes]


@dataclass(frozen=True)
class Work:
    """What every task is told."""

    folder: Folder
    options: Options
    secrets: tuple[bytes, ...] = ()
    # Flows whose last connection may still go on at this place of the timeline are put apart.
    now_ns: int | None = None


@dataclass
class BadPackets:
    """Packets with broken headers, of all files: the first ones of the timeline are told."""

    bad: list[tuple[int, str, int, int, int, str]] = field(default_factory=list)
    count: int = 0
    last: tuple[int, str, int] = (-1, "", 0)

    def add(self, capture: str, text: bytes) -> None:
        bad, count, (order_ns, packet_no) = json.loads(text)
        self.bad += [(order, capture, number, *rest) for order, number, *rest in bad]
        self.count += count
        self.last = max(self.last, (order_ns, capture, packet_no))

    def tell(self, sink: Sink) -> None:
        for _, capture, packet_no, ts_ns, size, first_bytes in sorted(self.bad)[
            :MAX_BAD_PACKET_ROWS
        ]:
            sink.problem(
                "capture.bad_packet",
                "headers do not fit the packet",
                capture=capture,
                ts_ns=ts_ns,
                packet_no=packet_no,
                bytes_affected=size,
                first_bytes=bytes.fromhex(first_bytes),
            )
        if self.count > MAX_BAD_PACKET_ROWS:
            more = self.count - MAX_BAD_PACKET_ROWS
            sink.problem(
                "capture.bad_packet",
                f"{more} more packets with broken headers",
                capture=self.last[1],
            )


def dissect_flows(batches: Iterable[pa.RecordBatch], work: Work) -> Iterator[pa.RecordBatch]:
    """The body of ``mapInArrow``."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    label = f"part-{context.partitionId():05d}-{context.taskAttemptId()}"
    spare_what_is_loaded()
    with rare_collections():
        answers = _dissect(_iter_rows(batches), work, label)
    yield make_batch(answers, ANSWER_SCHEMA)


def _dissect(rows: Iterator[Row], work: Work, label: str) -> list[Answer]:
    dissection = FlowDissection(work.options, KeyLog(None, list(work.secrets)))
    output = (AllTogether if work.now_ns is None else OpenApart)(work.folder, label)
    answers: list[Answer] = []
    bad_packets = BadPackets()
    flow: bytes | None = None
    for key, _, capture, _, _, numbers, octets in rows:
        if key != flow:
            if flow is not None:
                _end(flow, dissection, output, work, answers)
            flow = key
        if key not in NO_FLOW:
            dissection.push(capture, numbers, unpack(numbers, octets))
        elif key == PROBLEMS:
            code, detail, where = read_problem(numbers)
            dissection.sink.problem(code, detail, **where)
        elif key == BAD_PACKETS:
            bad_packets.add(capture, numbers)
        else:
            answers.append((key.decode(), "", "", 1, numbers if key == SECRETS else b""))
        output.write(dissection.take_ready())
    if flow is not None:
        _end(flow, dissection, output, work, answers)
    bad_packets.tell(dissection.sink)
    output.write(dissection.finish())
    output.end_flow(is_open=False)
    tracker = dissection.tracker
    answers.append(("foreign", "", "", tracker.foreign_count, b""))
    answers.append(("packets", "", "", tracker.packet_count, b""))
    answers += [_answer("part", part) for part in output.close()]
    answers += [_answer("open-part", part) for part in output.open_parts()]
    return answers


def _end(
    flow: bytes,
    dissection: FlowDissection,
    output: AllTogether | OpenApart,
    work: Work,
    answers: list[Answer],
) -> None:
    """All rows of a flow are there; words in the place of a flow never go on."""
    is_open = flow not in NO_FLOW and dissection.end_flow(work.now_ns)
    output.write(dissection.finish() if output.is_by_flow else dissection.take_ready())
    output.end_flow(is_open)
    if is_open:
        answers.append(("open", "", "", 1, flow))


def _answer(kind: str, part: Part) -> Answer:
    return (kind, part.table, part.name, part.row_count, b"")


def _iter_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        yield from zip(*columns, strict=True)
