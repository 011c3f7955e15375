"""Reading a piece of a capture as one row per TCP segment: for people and their queries.

The filters that Spark pushes down are applied before a row is made. Payloads are read only where
they were asked for (option ``payload``).
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from dissectors.capture.decap import PacketView
from dissectors.capture.splits import resume
from spark_etl.source.plan import Split, open_file

ROWS_PER_BATCH = 8192
COLUMNS: dict[str, tuple[str, pa.DataType]] = {
    "capture": ("STRING", pa.string()),
    "packet_no": ("BIGINT", pa.int64()),
    "ts_ns": ("BIGINT", pa.int64()),
    "src": ("STRING", pa.string()),
    "src_port": ("INT", pa.int32()),
    "dst": ("STRING", pa.string()),
    "dst_port": ("INT", pa.int32()),
    "seq": ("BIGINT", pa.int64()),
    "ack": ("BIGINT", pa.int64()),
    "flags": ("INT", pa.int32()),
    "window": ("INT", pa.int32()),
    "payload_bytes": ("INT", pa.int32()),
    "payload": ("BINARY", pa.binary()),
}
PAYLOAD = "payload"

Test = Callable[[Any], bool]


def columns(with_payload: bool) -> list[str]:
    return [name for name in COLUMNS if with_payload or name != PAYLOAD]


def ddl(with_payload: bool) -> str:
    return ", ".join(f"`{name}` {COLUMNS[name][0]}" for name in columns(with_payload))


def read_packets(
    splits: Iterable[Split], with_payload: bool, tests: dict[str, list[Test]]
) -> Iterator[pa.RecordBatch]:
    """Batches of the segments that pass every test of every column."""
    names = columns(with_payload)
    schema = pa.schema([(name, COLUMNS[name][1]) for name in names])
    rows: list[tuple[Any, ...]] = []
    for split in splits:
        for row in _segments(split, with_payload, tests):
            rows.append(row)
            if len(rows) >= ROWS_PER_BATCH:
                yield _batch(rows, schema)
                rows = []
    if rows:
        yield _batch(rows, schema)


def _segments(
    split: Split, with_payload: bool, tests: dict[str, list[Test]]
) -> Iterator[tuple[Any, ...]]:
    reader = open_file(split.file, _tell_nobody, [])
    if reader is None:
        return
    if split.mark is not None:
        resume(reader, split.mark)
    view = PacketView(_tell_nobody)
    name = split.file.name
    names = columns(with_payload)
    checks = [(names.index(column), test) for column, found in tests.items() for test in found]
    times = tests.get("ts_ns", [])
    addresses: dict[bytes, str] = {}
    while split.last_packet_no is None or reader.packet_no < split.last_packet_no:
        if not reader.advance():
            break
        # A packet outside of the time asked for still counts where it is a fragment.
        found = view.locate(
            reader.buf, reader.start, reader.end, reader.wire_length, reader.link_type, reader.ts_ns
        )
        if found <= 0 or not all(test(reader.ts_ns) for test in times):
            continue
        key = view.key()
        size = view.address_size
        payload = view.buf[view.payload_start : view.payload_end] if with_payload else None
        row = (
            name,
            reader.packet_no,
            reader.ts_ns,
            _address(key[:size], addresses),
            view.src_port,
            _address(key[size:-4], addresses),
            view.dst_port,
            view.seq,
            view.ack,
            view.flags,
            view.window,
            view.payload_end - view.payload_start + view.missing,
            payload,
        )
        if all(test(row[column]) for column, test in checks):
            yield row if with_payload else row[:-1]
    reader.stream.close()


def _address(packed: bytes, known: dict[bytes, str]) -> str:
    text = known.get(packed)
    if text is None:
        family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
        text = known[packed] = socket.inet_ntop(family, packed)
    return text


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _tell_nobody(*_problem: Any, **_where: Any) -> None:
    """Problems are rows of the rebuild; a table of packets has no place for them."""
