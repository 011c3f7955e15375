"""Table files by way of Arrow: CSV, JSON Lines, and Parquet where our own encoder does not run.

Everything here takes Arrow's batches; ``Converted`` makes them of batches of cells.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Protocol

import pyarrow as pa

from dissectors.core.arrow import arrow_schema, to_arrow
from dissectors.core.rows import Batch
from dissectors.parquet.file import ZSTD_LEVEL
from dissectors.table_files import NOTES
from dissectors.tables import Table

# Texts repeat, so a dictionary shrinks them; strings and hashes are mostly unique.
_DICTIONARY_KINDS = ("word", "text")
# Times, numbers and offsets grow in small steps: their differences are short. So are those of
# strings' lengths.
_NUMBER_KINDS = ("int64", "int32")
_ENCODINGS = {
    **dict.fromkeys(_NUMBER_KINDS, "DELTA_BINARY_PACKED"),
    **dict.fromkeys(("string", "hash", "bytes"), "DELTA_LENGTH_BYTE_ARRAY"),
}


class TableWriter(Protocol):
    """Takes Arrow's."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


class ParquetTable:
    """Arrow's encoder."""

    def __init__(self, table: Table, path: Path | IO[bytes]) -> None:
        import pyarrow.parquet as pq

        # Nullable throughout: one absent value in one row must not cost the whole file.
        self._schema = pa.schema([f.with_nullable(True) for f in arrow_schema(table)])
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            compression_level=ZSTD_LEVEL,
            # Without the Arrow schema, dictionary columns read back as plain strings.
            store_schema=False,
            use_dictionary=[c.name for c in table.columns if c.kind in _DICTIONARY_KINDS],
            column_encoding={
                c.name: _ENCODINGS[c.kind] for c in table.columns if c.kind in _ENCODINGS
            },
            write_statistics=[c.name for c in table.columns if c.kind in _NUMBER_KINDS],
        )
        self._writer.add_key_value_metadata(NOTES)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class CsvTable:
    """RFC 4180 with a header line. An absent value is empty, an empty string is ``""``."""

    def __init__(self, table: Table, path: Path | IO[bytes]) -> None:
        import pyarrow.csv as pc

        self._schema = _plain_schema(table, binary=pa.string())
        self._writer = pc.CSVWriter(path, self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(_plain_batch(batch, self._schema))

    def close(self) -> None:
        self._writer.close()


class JsonLinesTable:
    """One JSON object per line; octets are hex. A file that was open before stays open."""

    def __init__(self, table: Table, path: Path | IO[bytes]) -> None:
        self._is_ours = isinstance(path, Path)
        self._file = path.open("wb") if isinstance(path, Path) else path

    def write(self, batch: pa.RecordBatch) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=bytes.hex)
        self._file.writelines(encode.encode(row).encode() + b"\n" for row in batch.to_pylist())

    def close(self) -> None:
        if self._is_ours:
            self._file.close()
        else:
            self._file.flush()


class Converted:
    """Batches of cells for a writer that takes Arrow's."""

    def __init__(self, writer: TableWriter) -> None:
        self._writer = writer

    def write(self, batch: Batch) -> None:
        self._writer.write(to_arrow(batch))

    def close(self) -> None:
        self._writer.close()


WRITERS: dict[str, Callable[[Table, Path | IO[bytes]], TableWriter]] = {
    "parquet": ParquetTable,
    "csv": CsvTable,
    "jsonl": JsonLinesTable,
}


def _plain_schema(table: Table, binary: pa.DataType) -> pa.Schema:
    fields = []
    for field in arrow_schema(table):
        field = field.with_nullable(True)
        if pa.types.is_dictionary(field.type):
            field = field.with_type(field.type.value_type)
        elif pa.types.is_binary(field.type):
            field = field.with_type(binary)
        fields.append(field)
    return pa.schema(fields)


def _plain_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = []
    for column, field in zip(batch.columns, schema, strict=True):
        if pa.types.is_binary(column.type):
            column = pa.array([None if v is None else v.hex() for v in column.to_pylist()])
        arrays.append(column.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
