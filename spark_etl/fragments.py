"""IP fragments before their flow is known: one task joins them, for all files together.

Only the first fragment of a datagram has ports, so fragments cannot be sent to their flow. They
are rare; one task takes all of them in the order of the timeline, with the very table of
fragments and limits that a dissection in one process has, and gives whole packets back.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from dissectors.capture.chunks import ChunkSource
from dissectors.capture.decap import PacketView
from dissectors.capture.links import RAW
from dissectors.tracker import MAX_BAD_PACKET_ROWS
from spark_etl.source.chunks import Row, bad_packets_row, batches, pack, problem_row, unpack

TCP = 6
# With a length of 0 the length of the packet counts: a datagram may be too long for the field.
_IPV4_HEADER = bytes([0x45, 0, 0, 0, 0, 0, 0, 0, 64, TCP, 0, 0])
_IPV6_HEADER = bytes([0x60, 0, 0, 0, 0, 0, TCP, 64])


def join_fragments(chunks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The body of ``mapInArrow``: chunks of fragments, in order, to chunks of whole packets."""
    return batches(_rows(chunks))


def _rows(chunks: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    source = ChunkSource()
    rows: list[Row] = []

    def report(code: str, detail: str, **where: Any) -> None:
        rows.append(problem_row("", (code, detail, where)))

    view = PacketView(report)
    bad: dict[str, list[tuple[Any, ...]]] = {}
    for batch in chunks:
        for row in batch.to_pylist():
            numbers = row["numbers"]
            source.push(row["capture"], numbers, unpack(numbers, row["octets"]))
            _walk(source, view, rows, bad)
            yield from rows
            rows.clear()
    source.release()
    _walk(source, view, rows, bad)
    view.finish()
    yield from rows
    for capture, found in bad.items():
        last = found[-1]
        yield bad_packets_row(capture, found[:MAX_BAD_PACKET_ROWS], len(found), last[:2])


def _walk(
    source: ChunkSource, view: PacketView, rows: list[Row], bad: dict[str, list[tuple[Any, ...]]]
) -> None:
    while source.advance():
        capture = str(source.capture)
        view.fragments.capture = capture
        found = view.locate(
            source.buf, source.start, source.end, source.wire_length, source.link_type, source.ts_ns
        )
        if found > 0:
            rows.append(_packet(source, view))
        elif found < 0:
            first_bytes = source.buf[source.start : source.start + 16]
            size = source.end - source.start
            bad.setdefault(capture, []).append(
                (source.order_ns, source.packet_no, source.ts_ns, size, first_bytes)
            )


def _packet(source: ChunkSource, view: PacketView) -> Row:
    """A chunk with one packet: the TCP segment in an IP header of its own."""
    header = _IPV4_HEADER if view.address_size == 4 else _IPV6_HEADER
    addresses = view.address_buf[view.address_pos : view.address_pos + 2 * view.address_size]
    octets = header + addresses + view.buf[view.pos : view.end]
    wire_bytes = len(header) + len(addresses) + view.wire_end - view.pos
    place = (source.ts_ns, source.order_ns, source.packet_no)
    numbers = array("q", [*place, len(octets), wire_bytes, RAW])
    flow = min(view.key(), view.reverse_key())
    capture, order_ns = str(source.capture), source.order_ns
    return (flow, order_ns, capture, source.packet_no, order_ns, numbers.tobytes(), pack(octets))
