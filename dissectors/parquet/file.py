"""A Parquet file in the making: batches become pages, pages become row groups.

Pages of a row group are held, compressed, until it is full, because a column's pages lie together
in the file. All columns are nullable.
"""

from __future__ import annotations

from typing import IO

import zstandard

from dissectors.core.rows import Batch
from dissectors.parquet.metadata import (
    ZSTD,
    ChunkFacts,
    Leaf,
    data_page_header,
    dictionary_page_header,
    file_metadata,
    row_group,
)
from dissectors.parquet.pages import ENCODERS, Scratch, put_page
from dissectors.parquet.thrift import Value
from dissectors.tables import Column, Table

MAGIC = b"PAR1"
ROWS_PER_GROUP = 1 << 20
ZSTD_LEVEL = 1
# A column is compressed if its first page says that it is worth it: long enough, and this much
# of it can be saved.
MIN_FIRST_PAGE_BYTES = 128
MIN_SAVING = 0.2
TEXT_KINDS = ("word", "text", "string", "hash")


class Chunk:
    """A column's pages of the row group at hand."""

    def __init__(self, column: Column, squeeze: zstandard.ZstdCompressor, scratch: Scratch) -> None:
        self.encoder = ENCODERS[column.kind]()
        self.leaf = Leaf(column.name, self.encoder.physical_type, column.kind in TEXT_KINDS)
        self._squeeze = squeeze
        self._scratch = scratch
        self._begin()

    def _begin(self) -> None:
        self.facts = ChunkFacts(self.leaf)
        self.pages: list[bytes] = []

    def add(self, batch: Batch, position: int) -> None:
        """One page."""
        page = put_page(self.encoder, batch, position, self._scratch)
        body = self._scratch.octets[: page.size]
        stored = self._store(body) if self.pages else self._store_first(body)
        header = data_page_header(batch.num_rows, page.encoding, page.size, len(stored))
        self.pages += [header, stored]
        self.facts.raw_bytes += len(header) + page.size
        self.facts.stored_bytes += len(header) + len(stored)
        self.facts.encodings.add(page.encoding)
        self.facts.value_count += batch.num_rows
        self.facts.null_count += batch.num_rows - page.value_count

    def _store_first(self, body: memoryview) -> bytes:
        if len(body) < MIN_FIRST_PAGE_BYTES:
            return bytes(body)
        stored = self._squeeze.compress(body)
        if len(stored) > (1 - MIN_SAVING) * len(body):
            return bytes(body)
        self.facts.codec = ZSTD
        return stored

    def _store(self, body: memoryview | bytes) -> bytes:
        return self._squeeze.compress(body) if self.facts.codec == ZSTD else bytes(body)

    def write(self, file: IO[bytes], position: int) -> ChunkFacts:
        """All pages, the dictionary's first; then the next row group may begin."""
        facts = self.facts
        text_count, dictionary = self.encoder.take_dictionary()
        if text_count:
            stored = self._store(dictionary)
            header = dictionary_page_header(text_count, len(dictionary), len(stored))
            facts.dictionary_page = position
            position += len(header) + len(stored)
            facts.raw_bytes += len(header) + len(dictionary)
            facts.stored_bytes += len(header) + len(stored)
            file.writelines((header, stored))
        facts.first_data_page = position
        file.writelines(self.pages)
        facts.bounds = self.encoder.take_bounds()
        self._begin()
        return facts


class ParquetFile:
    """Write batches of a table, then close. The file object given stays open."""

    def __init__(self, file: IO[bytes], table: Table, notes: dict[str, str]) -> None:
        self._file = file
        self._table = table
        self._notes = notes
        squeeze = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
        scratch = Scratch()
        self._chunks = [Chunk(column, squeeze, scratch) for column in table.columns]
        self._row_groups: list[Value] = []
        self._rows_in_group = 0
        self._row_count = 0
        self._position = len(MAGIC)
        file.write(MAGIC)

    def write(self, batch: Batch) -> None:
        if batch.table is not self._table:
            raise ValueError(f"rows of {batch.table.name} are not for {self._table.name}")
        for position, chunk in enumerate(self._chunks):
            chunk.add(batch, position)
        self._rows_in_group += batch.num_rows
        if self._rows_in_group >= ROWS_PER_GROUP:
            self._end_group()

    def _end_group(self) -> None:
        facts = []
        for chunk in self._chunks:
            facts.append(chunk.write(self._file, self._position))
            self._position += facts[-1].stored_bytes
        self._row_groups.append(row_group(facts, self._rows_in_group))
        self._row_count += self._rows_in_group
        self._rows_in_group = 0

    def close(self) -> None:
        if self._rows_in_group:
            self._end_group()
        leaves = [chunk.leaf for chunk in self._chunks]
        footer = file_metadata(leaves, self._row_groups, self._row_count, self._notes)
        self._file.write(footer + len(footer).to_bytes(4, "little") + MAGIC)
