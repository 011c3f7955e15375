"""Reading a piece of a capture as chunks of flows: what the rebuild is fed with.

One row is a chunk (``dissectors.capture.chunks``), so that Spark moves few large rows instead of
one for each packet. Rows that belong to no flow have a word in the place of its key:

    problems      what is wrong with the file, JSON
    bad-packets   packets with broken headers: the first ones, and how many more, JSON
    fragments     a chunk of IP fragments
    secrets       TLS keys that the file holds

The octets of a chunk are packed: Spark copies a row about ten times on its way, so that half the
octets are worth more than a fast compression costs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from dissectors.capture.chunks import FRAGMENTS, ChunkWriter
from dissectors.capture.decap import PacketView
from dissectors.capture.splits import resume
from dissectors.collecting import spare_what_is_loaded
from dissectors.tracker import MAX_BAD_PACKET_ROWS
from spark_etl.columns import make_batch
from spark_etl.source.plan import Problem, Split, open_file

PROBLEMS = b"problems"
BAD_PACKETS = b"bad-packets"
SECRETS = b"secrets"
NO_FLOW = (PROBLEMS, BAD_PACKETS, FRAGMENTS, SECRETS)

SCHEMA = pa.schema(
    [
        ("flow", pa.binary()),
        ("order_ns", pa.int64()),
        ("capture", pa.string()),
        ("packet_no", pa.int64()),
        ("last_order_ns", pa.int64()),
        ("numbers", pa.binary()),
        ("octets", pa.binary()),
    ]
)
DDL = (
    "flow BINARY, order_ns BIGINT, capture STRING, packet_no BIGINT, last_order_ns BIGINT, "
    "numbers BINARY, octets BINARY"
)
# The order of packets on the timeline.
ORDER = ("flow", "order_ns", "capture", "packet_no")
BATCH_BYTES = 4 * 1024 * 1024
# The fastest of Arrow's by far, also on octets that cannot be compressed.
_CODEC = "snappy"
_CAPTURED_BYTES = slice(3, None, 6)

Row = tuple[bytes, int, str, int, int, bytes, bytes]


def read_chunks(splits: Iterable[Split]) -> Iterator[pa.RecordBatch]:
    """The rows of pieces of captures, in batches of some megabytes."""
    spare_what_is_loaded()
    return batches(row for split in splits for row in _rows(split))


def batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    waiting: list[Row] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row[5]) + len(row[6])
        if size >= BATCH_BYTES:
            yield make_batch(waiting, SCHEMA)
            waiting, size = [], 0
    if waiting:
        yield make_batch(waiting, SCHEMA)


def pack(octets: bytes) -> bytes:
    return bytes(pa.compress(octets, _CODEC, asbytes=True))


def unpack(numbers: bytes, octets: bytes) -> bytes:
    """The packets of a chunk; their lengths are among its numbers."""
    size = int(np.frombuffer(numbers, dtype=np.int64)[_CAPTURED_BYTES].sum())
    return bytes(pa.decompress(octets, size, _CODEC, asbytes=True))


def problem_row(file_name: str, problem: Problem) -> Row:
    code, detail, where = problem
    text = json.dumps([code, detail, where], default=bytes.hex)
    return (PROBLEMS, 0, where.get("capture") or file_name, 0, 0, text.encode(), b"")


def read_problem(numbers: bytes) -> Problem:
    code, detail, where = json.loads(numbers)
    if "first_bytes" in where:
        where["first_bytes"] = bytes.fromhex(where["first_bytes"])
    return code, detail, where


def bad_packets_row(
    name: str, bad: list[tuple[Any, ...]], bad_count: int, last_bad: tuple[int, int]
) -> Row:
    """``bad``: (order_ns, packet_no, ts_ns, size, first bytes) each."""
    text = json.dumps([bad, bad_count, last_bad], default=bytes.hex)
    return (BAD_PACKETS, bad[0][0], name, bad[0][1], last_bad[0], text.encode(), b"")


def _rows(split: Split) -> Iterator[Row]:
    name = split.file.name
    found: list[Problem] = list(split.problems or [])
    secrets: list[bytes] = list(split.secrets)

    def report(code: str, detail: str, **where: Any) -> None:
        if not split.is_piece:
            found.append((code, detail, where))

    reader = open_file(split.file, report, secrets)
    if reader is not None:
        if split.mark is not None:
            resume(reader, split.mark)
        writer = ChunkWriter(reader, PacketView(report), split.last_packet_no, MAX_BAD_PACKET_ROWS)
        is_more = True
        while is_more:
            is_more = bool(writer.pump())
            for flow, order_ns, packet_no, last_order_ns, numbers, octets in writer.take_ready():
                yield (flow, order_ns, name, packet_no, last_order_ns, numbers, pack(octets))
        reader.close()
        if writer.bad_count:
            yield bad_packets_row(name, writer.bad, writer.bad_count, writer.last_bad)
    yield from (problem_row(name, problem) for problem in found)
    yield from ((SECRETS, 0, name, 0, 0, block, b"") for block in secrets)
