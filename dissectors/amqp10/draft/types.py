"""The draft's type system (AMQP 1.0 draft of 2010-05-19, Book II §2.5) as rows over the final's.

UTF-16 strings exist, arrays are one more encoding of lists, and the compact forms that came
later do not. They are still read, since reading more than a peer may send does no harm; only
what the draft lists is written. What descriptors mean is not known here.
"""

from __future__ import annotations

from ..types import ARRAY, FINAL, VARIABLE, Encoding, TypeSystem


def _read_utf16(raw: bytes) -> str:
    return raw.decode("utf-16-be")


def _write_utf16(data: str) -> bytes:
    return data.encode("utf-16-be")


#: Book II §2.5: what the final version dropped or calls otherwise.
DRAFT_ENCODINGS = (
    Encoding(0xA2, "string", "str8-utf16", VARIABLE, 1, _read_utf16, _write_utf16),
    Encoding(0xB2, "string", "str32-utf16", VARIABLE, 4, _read_utf16, _write_utf16),
    Encoding(0xE0, "list", "array8", ARRAY, 1),
    Encoding(0xF0, "list", "array32", ARRAY, 4),
)

#: Format codes of the final version that Book II §2.5 does not list: uint0, ulong0, list0,
#: smalluint, smallulong, smallint, smalllong, boolean, decimal128.
LATER_CODES = (0x43, 0x44, 0x45, 0x52, 0x53, 0x54, 0x55, 0x56, 0x94)


class DraftTypes(TypeSystem):
    """Writes by the draft's table; reads by the union of both versions' tables."""

    def __init__(self) -> None:
        readable = FINAL.extended(DRAFT_ENCODINGS)
        super().__init__(
            row for rows in readable.without(LATER_CODES).by_type.values() for row in rows
        )
        self.by_code = readable.by_code
        # `make_array` asks for the array rows by this name; here they are rows of list as well.
        self.by_type["array"] = tuple(row for row in DRAFT_ENCODINGS if row.category == ARRAY)


DRAFT_TYPES = DraftTypes()
