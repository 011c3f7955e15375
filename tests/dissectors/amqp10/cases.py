"""(type, data, octets): one table that drives both directions. Octets are written by hand from
the standard's encoding tables (1.0 §1.6), never with the code under test."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

PRIMITIVES = [
    ("null", None, "40"),
    ("boolean", True, "41"),
    ("boolean", False, "42"),
    ("boolean", True, "5601"),
    ("boolean", False, "5600"),
    ("ubyte", 255, "50ff"),
    ("ushort", 65535, "60ffff"),
    ("uint", 0, "43"),
    ("uint", 255, "52ff"),
    ("uint", 0xFFFFFFFF, "70ffffffff"),
    ("ulong", 0, "44"),
    ("ulong", 255, "53ff"),
    ("ulong", 2**64 - 1, "80ffffffffffffffff"),
    ("byte", -128, "5180"),
    ("short", -32768, "618000"),
    ("int", -128, "5480"),
    ("int", -(2**31), "7180000000"),
    ("long", 127, "557f"),
    ("long", -(2**63), "818000000000000000"),
    ("float", 1.5, "723fc00000"),
    ("double", -2.25, "82c002000000000000"),
    ("decimal32", Decimal("1"), "7432800001"),
    ("decimal32", Decimal("-1.5"), "74b200000f"),
    ("decimal32", Decimal("9999999E+90"), "7477f8967f"),
    ("decimal64", Decimal("1"), "8431c0000000000001"),
    ("decimal128", Decimal("1"), "9430400000000000000000000000000001"),
    ("decimal32", Decimal("Infinity"), "7478000000"),
    ("decimal64", Decimal("-Infinity"), "84f800000000000000"),
    ("decimal128", Decimal("NaN"), "947c000000000000000000000000000000"),
    ("decimal32", Decimal("sNaN7"), "747e000007"),
    ("char", "✓", "7300002713"),
    ("char", "\U0001f600", "730001f600"),
    ("timestamp", 1700000000123, "830000018bcfe5687b"),
    ("timestamp", -1, "83ffffffffffffffff"),
    ("uuid", UUID("12345678-1234-5678-1234-567812345678"), "9812345678123456781234567812345678"),
    ("binary", b"\x00\xff", "a00200ff"),
    ("binary", b"\x00\xff", "b00000000200ff"),
    ("string", "é", "a102c3a9"),
    ("string", "é", "b100000002c3a9"),
    ("symbol", "amqp:x", "a306616d71703a78"),
    ("symbol", "amqp:x", "b300000006616d71703a78"),
    ("list", (), "45"),
    ("list", (), "c00100"),
    ("list", (), "d00000000400000000"),
    ("map", (), "c10100"),
    ("map", (), "d10000000400000000"),
]

#: Octets of compounds, arrays and described values with the shape that they must be read as:
#: (type, items) for compounds, ("described", descriptor, value), ("array", element type, items).
NESTED = [
    ("c003024342", ("list", [("uint", 0), ("boolean", False)])),
    ("d000000006000000024342", ("list", [("uint", 0), ("boolean", False)])),
    ("c105025201a100", ("map", [(("uint", 1), ("string", ""))])),
    ("e00803a1016101620163", ("array", "string", [("string", c) for c in "abc"])),
    ("e0020050", ("array", "ubyte", [])),
    ("f0000000070000000250 0102", ("array", "ubyte", [("ubyte", 1), ("ubyte", 2)])),
    ("e0020341", ("array", "boolean", [("boolean", True)] * 3)),
    ("e00402560001", ("array", "boolean", [("boolean", False), ("boolean", True)])),
    ("e0020243", ("array", "uint", [("uint", 0), ("uint", 0)])),
    ("e00402c0 0100", None),
    (
        "e00a02e0 03015001 03015002",
        (
            "array",
            "array",
            [("array", "ubyte", [("ubyte", 1)]), ("array", "ubyte", [("ubyte", 2)])],
        ),
    ),
    (
        "e00802c0 020141 020142",
        ("array", "list", [("list", [("boolean", b)]) for b in (True, False)]),
    ),
    (
        "e00702 005377 50 0102",
        ("array", "ubyte", [("described", ("ulong", 0x77), ("ubyte", n)) for n in (1, 2)]),
    ),
    ("00532445", ("described", ("ulong", 0x24), ("list", []))),
    ("0080000000000000002445", ("described", ("ulong", 0x24), ("list", []))),
    ("00a3016145", ("described", ("symbol", "a"), ("list", []))),
    ("00800000468c00000001a10164", ("described", ("ulong", 0x468C00000001), ("string", "d"))),
    (
        "005301 005302 41",
        ("described", ("ulong", 1), ("described", ("ulong", 2), ("boolean", True))),
    ),
]
NESTED = [(octets.replace(" ", ""), shape) for octets, shape in NESTED if shape is not None]

#: Octets that are no value, the problem that says so, and whether their end is still known.
MALFORMED = [
    ("", "type10.truncated", False),
    ("3f", "type10.unknown_constructor", False),
    ("4f", "type10.unknown_constructor", True),
    ("5f00", "type10.unknown_constructor", True),
    ("a202abcd", "type10.unknown_constructor", True),
    ("a205ab", "type10.unknown_constructor", False),
    ("7000", "type10.truncated", False),
    ("a105616263", "type10.truncated", False),
    ("5602", "type10.bad_boolean", True),
    ("a101ff", "type10.bad_text", True),
    ("a301e9", "type10.bad_text", True),
    ("730000d800", "type10.bad_text", True),
    ("7300110000", "type10.bad_text", True),
    ("c000", "type10.bad_count", True),
    ("c1020141", "type10.odd_map", True),
    ("e0020110", "type10.unknown_constructor", True),
]
