"""``amqp_pcap``: the data source that Spark sees, batch and streaming.

Options: ``path`` (a file, a folder or a glob), or ``paths`` (a JSON list of such); ``layout`` is
``packets`` (one row per TCP segment, the default) or ``chunks`` (what the rebuild takes);
``payload`` adds the payload column to packets; ``split_bytes`` is the size of the pieces that
large files are read in. A stream takes files once they are whole, see ``stream.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.types import StructType

from spark_etl.source import chunks, packets
from spark_etl.source.filters import Spec, make_tests, take_filters
from spark_etl.source.plan import SPLIT_BYTES, Share, find_files, plan_splits, share_out

LAYOUTS = ("packets", "chunks")


class CaptureSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "amqp_pcap"

    def schema(self) -> str:
        layout = Layout(self.options)
        return chunks.DDL if layout.is_chunks else packets.ddl(layout.with_payload)

    def reader(self, schema: StructType) -> DataSourceReader:
        return CaptureReader(self.options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's)
        from spark_etl.source.stream import CaptureStreamReader

        return CaptureStreamReader(self.options)


class Layout:
    """What the options say."""

    def __init__(self, options: Mapping[str, str]) -> None:
        layout = options.get("layout", "packets")
        if layout not in LAYOUTS:
            raise ValueError(f"layout {layout!r} is not one of {', '.join(LAYOUTS)}")
        self.is_chunks = layout == "chunks"
        self.with_payload = options.get("payload", "false").lower() == "true"
        self.split_bytes = int(options.get("split_bytes", SPLIT_BYTES))

    def read(self, share: InputPartition, specs: list[Spec]) -> Iterator[pa.RecordBatch]:
        assert isinstance(share, Share)
        if self.is_chunks:
            return chunks.read_chunks(share.splits)
        return packets.read_packets(share.splits, self.with_payload, make_tests(specs))


def paths_option(options: Mapping[str, str]) -> list[str]:
    if "paths" in options:
        return list(json.loads(options["paths"]))
    if "path" not in options:
        raise ValueError("amqp_pcap needs a path: a capture file, a folder or a glob")
    return [options["path"]]


class CaptureReader(DataSourceReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        self.layout = Layout(options)
        self.paths = paths_option(options)
        self.specs: list[Spec] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 (Spark's)
        if self.layout.is_chunks:
            return filters
        return list(take_filters(filters, self.specs))

    def partitions(self) -> Sequence[InputPartition]:
        splits = plan_splits(find_files(self.paths), self.layout.split_bytes)
        return share_out(splits, self.layout.split_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.layout.read(partition, self.specs)
