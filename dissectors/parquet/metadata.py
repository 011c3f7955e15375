"""What Parquet files say about themselves: page headers and the footer, in Thrift's terms.

Ids and numbers are those of parquet.thrift (apache/parquet-format). What the values are comes from
the columns; nothing here sees data.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from dissectors.parquet.thrift import (
    BINARY,
    I32,
    STRUCT,
    Value,
    binary,
    i32,
    i64,
    list_of,
    struct,
    text,
)

FORMAT_VERSION = 2
CREATED_BY = "amqpscope"

# Type
BOOLEAN, INT32, INT64, DOUBLE, BYTE_ARRAY = 0, 1, 2, 5, 6
# FieldRepetitionType
OPTIONAL = 1
# ConvertedType
UTF8 = 0
# Encoding
PLAIN, RLE, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, RLE_DICTIONARY = 0, 3, 5, 6, 8
# CompressionCodec
UNCOMPRESSED, ZSTD = 0, 6
# PageType
DATA_PAGE, DICTIONARY_PAGE = 0, 2
# LogicalType and ColumnOrder are unions whose first member carries nothing.
_FIRST_OF_UNION = struct((1, struct()))


class Leaf(NamedTuple):
    """A column of the schema."""

    name: str
    physical_type: int
    is_text: bool


class ChunkFacts:
    """A column's part of a row group."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf
        self.codec = UNCOMPRESSED
        self.value_count = 0
        self.null_count = 0
        self.raw_bytes = 0
        self.stored_bytes = 0
        self.first_data_page = 0
        self.dictionary_page: int | None = None
        self.encodings = {RLE}
        # Least and greatest value, in PLAIN encoding.
        self.bounds: tuple[bytes, bytes] | None = None


def data_page_header(value_count: int, encoding: int, raw_size: int, stored_size: int) -> bytes:
    return _page_header(DATA_PAGE, raw_size, stored_size, (5, _data_page(value_count, encoding)))


@lru_cache
def _data_page(value_count: int, encoding: int) -> Value:
    """All columns of a batch share it, but for their encodings; so do most batches."""
    return struct((1, i32(value_count)), (2, i32(encoding)), (3, i32(RLE)), (4, i32(RLE)))


def dictionary_page_header(value_count: int, raw_size: int, stored_size: int) -> bytes:
    page = struct((1, i32(value_count)), (2, i32(PLAIN)))
    return _page_header(DICTIONARY_PAGE, raw_size, stored_size, (7, page))


def _page_header(
    kind: int, raw_size: int, stored_size: int, detail: tuple[int, Value | None]
) -> bytes:
    return struct((1, i32(kind)), (2, i32(raw_size)), (3, i32(stored_size)), detail).octets


def row_group(chunks: list[ChunkFacts], row_count: int) -> Value:
    return struct(
        (1, list_of(STRUCT, [_column_chunk(chunk) for chunk in chunks])),
        (2, i64(sum(chunk.raw_bytes for chunk in chunks))),
        (3, i64(row_count)),
    )


def _column_chunk(chunk: ChunkFacts) -> Value:
    first_page = chunk.dictionary_page
    least, greatest = chunk.bounds or (None, None)
    statistics = struct(
        (3, i64(chunk.null_count)),
        (5, None if greatest is None else binary(greatest)),
        (6, None if least is None else binary(least)),
    )
    metadata = struct(
        (1, i32(chunk.leaf.physical_type)),
        (2, list_of(I32, [i32(encoding) for encoding in sorted(chunk.encodings)])),
        (3, list_of(BINARY, [text(chunk.leaf.name)])),
        (4, i32(chunk.codec)),
        (5, i64(chunk.value_count)),
        (6, i64(chunk.raw_bytes)),
        (7, i64(chunk.stored_bytes)),
        (9, i64(chunk.first_data_page)),
        (11, None if first_page is None else i64(first_page)),
        (12, statistics),
    )
    offset = chunk.first_data_page if first_page is None else first_page
    return struct((2, i64(offset)), (3, metadata))


def file_metadata(
    leaves: list[Leaf], row_groups: list[Value], row_count: int, notes: dict[str, str]
) -> bytes:
    schema = [struct((4, text("schema")), (5, i32(len(leaves))))]
    schema += [_schema_element(leaf) for leaf in leaves]
    key_values = [struct((1, text(key)), (2, text(value))) for key, value in notes.items()]
    return struct(
        (1, i32(FORMAT_VERSION)),
        (2, list_of(STRUCT, schema)),
        (3, i64(row_count)),
        (4, list_of(STRUCT, row_groups)),
        (5, list_of(STRUCT, key_values)),
        (6, text(CREATED_BY)),
        # Without an order, readers do not believe the bounds.
        (7, list_of(STRUCT, [_FIRST_OF_UNION] * len(leaves))),
    ).octets


def _schema_element(leaf: Leaf) -> Value:
    return struct(
        (1, i32(leaf.physical_type)),
        (3, i32(OPTIONAL)),
        (4, text(leaf.name)),
        (6, i32(UTF8) if leaf.is_text else None),
        (10, _FIRST_OF_UNION if leaf.is_text else None),
    )
