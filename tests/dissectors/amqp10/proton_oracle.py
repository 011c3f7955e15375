"""qpid-proton's own decoder and encoder, seen as neutral trees that ours can be compared with.

A tree is ("uint", 5), ("list", [...]), ("map", [(k, v), ...]), ("array", element, [...]) or
("described", descriptor, value). Decimals are their raw octets, since proton does not read them.
"""

from __future__ import annotations

import struct
from typing import Any

import proton

from dissectors.amqp10.types import FINAL, Array, Described, Value

_DECIMALS = {"decimal32": 4, "decimal64": 8, "decimal128": 16}


def tree_of_value(value: Value) -> Any:
    """Our value as a neutral tree."""
    if isinstance(value, Described):
        return ("described", tree_of_value(value.descriptor), tree_of_value(value.data))
    if isinstance(value, Array):
        return ("array", value.element.type, [tree_of_value(item) for item in value.data])
    if value.type == "list":
        return ("list", [tree_of_value(item) for item in value.data])
    if value.type == "map":
        return ("map", [(tree_of_value(k), tree_of_value(v)) for k, v in value.data])
    if value.type in _DECIMALS:
        return (value.type, FINAL.encode(value)[1:])
    return (value.type, _bits(value.type, value.data))


def _bits(type_name: str, data: Any) -> Any:
    """Floats by their octets, so that NaN equals itself and -0.0 is not 0.0."""
    if type_name == "float":
        return struct.pack(">f", data)
    if type_name == "double":
        return struct.pack(">d", data)
    return data


def proton_tree(octets: bytes) -> Any:
    """What proton reads from the octets of one value."""
    data = proton.Data()
    taken = data.decode(octets)
    assert taken == len(octets), (taken, octets.hex())
    data.rewind()
    assert data.next() is not None
    return _node(data)


def proton_reencoded(octets: bytes) -> bytes:
    """The octets that proton writes for the value that it reads."""
    data = proton.Data()
    assert data.decode(octets) == len(octets)
    return bytes(data.encode())


def _children(data: proton.Data) -> list[Any]:
    found = []
    data.enter()
    while data.next() is not None:
        found.append(_node(data))
    data.exit()
    return found


def _node(data: proton.Data) -> Any:
    code = data.type()
    name = proton.Data.type_name(code)
    if name == "described":
        descriptor, value = _children(data)
        return ("described", descriptor, value)
    if name == "list":
        return ("list", _children(data))
    if name == "map":
        items = _children(data)
        return ("map", list(zip(items[::2], items[1::2], strict=True)))
    if name == "array":
        return _array(data)
    if name == "null":
        return ("null", None)
    if name == "bool":
        return ("boolean", bool(data.get_bool()))
    return (name, _primitive(name, data))


def _array(data: proton.Data) -> Any:
    _, is_described, element = data.get_array()
    items = _children(data)
    if is_described:
        descriptor, *values = items
        items = [("described", descriptor, value) for value in values]
    name = proton.Data.type_name(element)
    return ("array", "boolean" if name == "bool" else name, items)


def _primitive(name: str, data: proton.Data) -> Any:
    found = getattr(data, f"get_{name}")()
    if name in ("decimal32", "decimal64"):
        return int(found).to_bytes(_DECIMALS[name], "big")
    if name == "decimal128":
        return bytes(found)
    if name == "binary":
        return bytes(found)
    if name in ("string", "symbol", "char"):
        return str(found)
    if name in ("float", "double"):
        return _bits(name, float(found))
    return found if name == "uuid" else int(found)
