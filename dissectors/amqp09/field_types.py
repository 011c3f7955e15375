"""The type systems of field tables: which type octet means what, per dialect and vendor.

One letter can mean two things (`s` is a short string in the 0-9-1 text and an int16 on every
RabbitMQ wire), so a system is a whole table, never a merge. What a kind looks like in octets is
`field_values`' business; which system a connection uses is `TableReader`'s.
"""

from __future__ import annotations

from collections.abc import Mapping

LETTERS_08 = "0-8"
LETTERS_091 = "0-9-1"
RABBITMQ = "rabbitmq"
QPID = "qpid"
BINARY_09 = "0-9-binary"


def _letters(text: str) -> dict[int, str]:
    pairs = (item.split("=") for item in text.split())
    return {ord(letter): kind for letter, kind in pairs}


# type octet -> kind, per system
TYPE_SYSTEMS: Mapping[str, Mapping[int, str]] = {
    # 0-8 and 0-9 §4.2.5.5, and the 0-9 revision 1 draft
    LETTERS_08: _letters("S=longstr I=int32 D=decimal32 T=timestamp F=table"),
    # 0-9-1 §4.2.1, the grammar
    LETTERS_091: _letters(
        "t=boolean b=int8 B=uint8 U=int16 u=uint16 I=int32 i=uint32 L=int64 l=uint64 f=float"
        " d=double D=decimal32 s=shortstr S=longstr A=array T=timestamp F=table V=void"
    ),
    # What RabbitMQ and its clients send (its errata, and the amqp-0.9.1 errata page)
    RABBITMQ: _letters(
        "t=boolean b=int8 B=uint8 s=int16 u=uint16 I=int32 i=uint32 l=int64 L=int64 f=float"
        " d=double D=decimal32 S=longstr A=array T=timestamp F=table V=void x=bytes"
    ),
    # Qpid's Java broker and client for 0-8, 0-9 and 0-9-1
    QPID: _letters(
        "t=boolean b=int8 B=uint8 s=int16 u=uint16 I=int32 i=uint32 l=int64 f=float d=double"
        " D=decimal32 S=longstr c=longstr C=longstr k=char A=array T=timestamp F=table V=void"
        " x=bytes"
    ),
    # AMQP 0-9, "Field Tables": low nibble = type, high nibble = width. The text prints the last
    # two groups with the octets of the group before (0xC0 for nine-octets and for void); 0-10,
    # which took the system over, has 0xD0, 0xD8 and 0xF0.
    BINARY_09: {
        0x00: "bin1",
        0x01: "int8",
        0x02: "uint8",
        0x04: "char-latin",
        0x08: "boolean",
        0x10: "bin2",
        0x11: "int16",
        0x12: "uint16",
        0x20: "bin4",
        0x21: "int32",
        0x22: "uint32",
        0x23: "float",
        0x27: "char-utf32",
        0x30: "bin8",
        0x31: "int64",
        0x32: "uint64",
        0x33: "double",
        0x38: "datetime",
        0x40: "bin16",
        0x48: "uuid",
        0x50: "bin32",
        0x60: "bin64",
        0x70: "bin128",
        0x80: "vbin8",
        0x84: "str8-latin",
        0x85: "str8-utf8",
        0x86: "str8-utf16",
        0x87: "str8-utf32",
        0x90: "vbin16",
        0x94: "str16-latin",
        0x95: "str16-utf8",
        0x96: "str16-utf16",
        0x97: "str16-utf32",
        0xA0: "vbin32",
        0xA4: "str32-latin",
        0xA5: "str32-utf8",
        0xA6: "str32-utf16",
        0xA7: "str32-utf32",
        0xA8: "table",
        0xA9: "sequence",
        0xAA: "typed-array",
        0xC0: "bin5",
        0xC8: "decimal32",
        0xD0: "bin9",
        0xD8: "decimal64",
        0xF0: "void",
    },
}

# (dialect, vendor) -> systems to try, the likeliest first. A vendor "" has announced nothing.
PREFERENCES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("0-9-1", ""): (RABBITMQ, LETTERS_091, QPID),
    ("0-9-1", "qpid"): (QPID, RABBITMQ, LETTERS_091),
    ("0-9", ""): (LETTERS_08, BINARY_09, QPID, RABBITMQ, LETTERS_091),
    ("0-9", "rabbitmq"): (RABBITMQ, LETTERS_091),
    ("0-9", "qpid"): (QPID, LETTERS_08, BINARY_09),
    ("0-8", ""): (LETTERS_08, RABBITMQ, QPID),
    ("0-8", "rabbitmq"): (RABBITMQ, LETTERS_08),
    ("0-8", "qpid"): (QPID, LETTERS_08),
    ("0-9-draft", ""): (LETTERS_08, QPID, RABBITMQ),
}


def preferred_systems(dialect: str, vendor: str = "") -> tuple[str, ...]:
    """The type systems to try on a connection, in order."""
    return PREFERENCES.get((dialect, vendor)) or PREFERENCES[dialect, ""]
