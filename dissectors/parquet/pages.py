"""From a column's cells to the octets of a page: one encoder for each kind of column.

Cells are compacted first, in their place, because pages hold no absent values; an encoder then
writes what is left behind the page's levels. The only file that knows both cells and Parquet's
encodings.
"""

from __future__ import annotations

import struct
from array import array
from typing import NamedTuple

from dissectors.core.columns import NULL_CELL, fill, is_alike
from dissectors.core.mapped import map_octets
from dissectors.core.rows import CELL_BYTES, MAX_INT64, Batch
from dissectors.core.texts import encode_all
from dissectors.core.words import vocabulary
from dissectors.parquet import cells, codes, packing, plain
from dissectors.parquet.metadata import (
    BOOLEAN,
    BYTE_ARRAY,
    DELTA_BINARY_PACKED,
    DELTA_LENGTH_BYTE_ARRAY,
    DOUBLE,
    INT32,
    INT64,
    PLAIN,
    RLE_DICTIONARY,
)
from dissectors.parquet.thrift import varint

# A batch with more texts than this that are new has texts that hardly repeat: they are written
# as they are.
MAX_NEW_TEXTS = 4096
# A chunk's dictionary does not grow over this; later pages hold their texts themselves.
MAX_DICTIONARY_BYTES = 1 << 20
_LENGTH_BYTES = 4
_DIGEST_DIGITS = 16
MILLION = 1_000_000


def numbers_32(count: int, value: int = 0) -> memoryview:
    """Room for so many, at least one."""
    return memoryview(array("i", (value,)) * max(1, count))


class Scratch:
    """Memory that all columns of a file use in turn: asking the system anew costs more."""

    def __init__(self) -> None:
        self.octets = memoryview(bytearray())
        self.new = numbers_32(MAX_NEW_TEXTS)
        # Bounds that nobody asks for.
        self.bounds = no_bounds()
        self.resize(0)

    def resize(self, row_count: int) -> None:
        """Room for the cells of so many rows."""
        self.codes = numbers_32(row_count)
        self.lengths = map_octets(CELL_BYTES * max(1, row_count)).cast("q")
        self.bits = memoryview(bytearray((row_count + 7) // 8))

    def room(self, at: int, size: int) -> memoryview:
        """At least so many octets from a place on; what stands before it stays."""
        if len(self.octets) < at + size:
            grown = map_octets(2 * (at + size))
            grown[:at] = self.octets[:at]
            self.octets = grown
        return self.octets[at:]


def no_bounds() -> memoryview:
    """Until there are numbers, the least one is above the greatest."""
    return memoryview(array("q", (MAX_INT64, NULL_CELL)))


class Values(NamedTuple):
    """The cells of a column that hold something, and where the batch keeps what they stand for."""

    numbers: memoryview
    size: int
    batch: Batch
    position: int
    is_alike: bool

    @property
    def distinct_size(self) -> int:
        """So many of the first numbers say it all."""
        return 1 if self.is_alike else self.size


class Page(NamedTuple):
    """How the values are encoded, how many they are, and where in the scratch they end."""

    encoding: int
    value_count: int
    size: int


def put_page(encoder: Encoder, batch: Batch, position: int, scratch: Scratch) -> Page:
    """Encode a column of a batch: its levels, then its values. It is blank afterwards."""
    column = batch.column(position)
    count = row_count = len(column)
    all_alike = is_alike(column)
    if all_alike and column[0] == NULL_CELL:
        batch.leave(position)
        return Page(PLAIN, 0, _put_levels(row_count, 0, scratch))
    if len(scratch.codes) < row_count:
        scratch.resize(row_count)
    if not all_alike:
        count = cells.compact(column, scratch.bits)
    at = _put_levels(row_count, count, scratch)
    values = Values(column, count, batch, position, all_alike)
    encoding, size = encoder.encode(values, scratch, at)
    batch.wipe(position)
    return Page(encoding, count, at + size)


def _put_levels(row_count: int, count: int, scratch: Scratch) -> int:
    """Definition levels, one bit a row: a run where all are alike, else the bits. Their size."""
    octets = (row_count + 7) // 8
    if count in (0, row_count):
        head, octets = varint(row_count << 1) + bytes((1 if count else 0,)), 0
    else:
        head = varint(octets << 1 | 1)
    size = len(head) + octets
    out = scratch.room(0, _LENGTH_BYTES + size)
    start = _LENGTH_BYTES + len(head)
    out[:start] = size.to_bytes(_LENGTH_BYTES, "little") + head
    out[start : start + octets] = scratch.bits[:octets]
    return start + octets


class Encoder:
    """Writes the values of one column, which has no bounds unless the subclass says otherwise."""

    physical_type = BYTE_ARRAY

    def encode(self, values: Values, scratch: Scratch, at: int) -> tuple[int, int]:
        """Put values (at least one) to a place in the scratch: their encoding and size."""
        raise TypeError("a kind of column must say how its values are written")

    def take_bounds(self) -> tuple[bytes, bytes] | None:
        """Least and greatest value of the chunk that ends here."""
        return None

    def take_dictionary(self) -> tuple[int, bytes]:
        """How many texts the dictionary of the chunk that ends here has, and its page."""
        return 0, b""


class NumberEncoder(Encoder):
    """Whole numbers: their differences are short, since times, numbers and offsets grow."""

    physical_type = INT64
    octet_count = 8

    def __init__(self) -> None:
        self._bounds = no_bounds()

    def encode(self, values: Values, scratch: Scratch, at: int) -> tuple[int, int]:
        out = scratch.room(at, packing.room_for_deltas(values.size))
        is_narrow = self.physical_type == INT32
        size = packing.encode_deltas(values.numbers, values.size, is_narrow, self._bounds, out)
        return DELTA_BINARY_PACKED, size

    def take_bounds(self) -> tuple[bytes, bytes] | None:
        (least, greatest), self._bounds = self._bounds, no_bounds()
        return None if least > greatest else (self._plain(least), self._plain(greatest))

    def _plain(self, number: int) -> bytes:
        return number.to_bytes(self.octet_count, "little", signed=True)


class NarrowNumberEncoder(NumberEncoder):
    physical_type = INT32
    octet_count = 4


class BooleanEncoder(Encoder):
    physical_type = BOOLEAN

    def encode(self, values: Values, scratch: Scratch, at: int) -> tuple[int, int]:
        out = scratch.room(at, (values.size + 7) // 8)
        return PLAIN, plain.pack_bits(values.numbers, values.size, out)


class RatioEncoder(Encoder):
    """Cells hold millionths. No large table has any."""

    physical_type = DOUBLE

    def encode(self, values: Values, scratch: Scratch, at: int) -> tuple[int, int]:
        ratios = [number / MILLION for number in values.numbers[: values.size]]
        octets = struct.pack(f"<{len(ratios)}d", *ratios)
        scratch.room(at, len(octets))[: len(octets)] = octets
        return PLAIN, len(octets)


class StringEncoder(Encoder):
    """Strings and octets that hardly repeat: all lengths, then all octets."""

    def encode(self, values: Values, scratch: Scratch, at: int) -> tuple[int, int]:
        heap = memoryview(values.batch.heaps[values.position])
        size = put_lengths(values.numbers, values.size, scratch, at)
        out = scratch.room(at + size, len(heap))
        size += plain.encode_strings(values.numbers, values.size, heap, out)
        return DELTA_LENGTH_BYTE_ARRAY, size


class DigestEncoder(Encoder):
    """Hashes, in hex digits."""

    def encode(self, values: Values, scratch: Scratch, at: int) -> tuple[int, int]:
        fill(scratch.lengths[: values.size], _DIGEST_DIGITS)
        size = put_lengths(scratch.lengths, values.size, scratch, at)
        out = scratch.room(at + size, _DIGEST_DIGITS * values.size)
        size += plain.encode_digests(values.numbers, values.size, out)
        return DELTA_LENGTH_BYTE_ARRAY, size


def put_lengths(lengths: memoryview, count: int, scratch: Scratch, at: int) -> int:
    """The first part of a page of strings; its size."""
    out = scratch.room(at, packing.room_for_deltas(count))
    return packing.encode_deltas(lengths, count, True, scratch.bounds, out)


class WordEncoder(Encoder):
    """Words of our vocabulary: codes into a dictionary, which grows from page to page."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._codes: dict[str, int] = {}
        self._dictionary = bytearray()
        self._known = numbers_32(0, cells.UNKNOWN)

    def encode(self, values: Values, scratch: Scratch, at: int) -> tuple[int, int]:
        texts = vocabulary()
        known = self._numbers_of(texts)
        if not cells.translate(values.numbers, values.distinct_size, known, scratch.codes):
            if not self._learn(values, texts, known, scratch):
                raise RuntimeError("the vocabulary is larger than a dictionary")
            cells.translate(values.numbers, values.distinct_size, known, scratch.codes)
        return self._put_codes(values, scratch, at)

    def _learn(self, values: Values, texts: list[str], known: memoryview, scratch: Scratch) -> bool:
        """Number the batch's codes that have no number yet, unless these are too many."""
        count = cells.find_new(values.numbers, values.distinct_size, known, scratch.new)
        if count < 0:
            return False
        for code in scratch.new[:count].tolist():
            known[code] = self._number(texts[code])
        return True

    def _numbers_of(self, texts: list[str]) -> memoryview:
        """Words keep their codes, so what is known of them stays known."""
        if len(self._known) < len(texts):
            grown = numbers_32(len(texts), cells.UNKNOWN)
            grown[: len(self._known)] = self._known
            self._known = grown
        return self._known

    def _number(self, text: str) -> int:
        number = self._codes.get(text)
        if number is None:
            number = self._codes[text] = len(self._codes)
            octets = text.encode("utf-8", "backslashreplace")
            self._dictionary += len(octets).to_bytes(_LENGTH_BYTES, "little") + octets
        return number

    def _put_codes(self, values: Values, scratch: Scratch, at: int) -> tuple[int, int]:
        """Those in the scratch."""
        width = max(1, (len(self._codes) - 1).bit_length())
        out = scratch.room(at, 1 + codes.room_for_codes(values.size))
        out[0] = width
        if values.is_alike:
            size = codes.encode_run(scratch.codes[0], values.size, width, out[1:])
        else:
            size = codes.encode_codes(scratch.codes, values.size, width, out[1:])
        return RLE_DICTIONARY, 1 + size

    def take_dictionary(self) -> tuple[int, bytes]:
        taken = len(self._codes), bytes(self._dictionary)
        self._begin()
        return taken


class TextEncoder(WordEncoder):
    """Texts that repeat: the same, but each batch has codes of its own, and there may be many."""

    def encode(self, values: Values, scratch: Scratch, at: int) -> tuple[int, int]:
        texts = values.batch.texts
        if len(self._dictionary) >= MAX_DICTIONARY_BYTES:
            return self._put_texts(values, scratch, at)
        known = numbers_32(len(texts), cells.UNKNOWN)
        if not self._learn(values, texts, known, scratch):
            return self._put_texts(values, scratch, at)
        cells.translate(values.numbers, values.distinct_size, known, scratch.codes)
        return self._put_codes(values, scratch, at)

    def _put_texts(self, values: Values, scratch: Scratch, at: int) -> tuple[int, int]:
        octets, offsets = encode_all(values.batch.texts)
        texts = memoryview(bytearray(octets))  # the loops want it writable
        loose = memoryview(values.batch.heaps[values.position])
        chosen = (values.numbers, values.size, offsets)
        total = plain.measure_chosen(*chosen, scratch.lengths)
        size = put_lengths(scratch.lengths, values.size, scratch, at)
        out = scratch.room(at + size, total)
        size += plain.encode_chosen(*chosen, texts, loose, out)
        return DELTA_LENGTH_BYTE_ARRAY, size


ENCODERS: dict[str, type[Encoder]] = {
    "int64": NumberEncoder,
    "int32": NarrowNumberEncoder,
    "bool": BooleanEncoder,
    "ratio": RatioEncoder,
    "word": WordEncoder,
    "text": TextEncoder,
    "string": StringEncoder,
    "hash": DigestEncoder,
    "bytes": StringEncoder,
}
