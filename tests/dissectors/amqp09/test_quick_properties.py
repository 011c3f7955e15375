"""The quick reader of basic properties says the same as the tables, for every list it reads."""

from __future__ import annotations

import io
from typing import Any

import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.amqp09.dialects import load_dialect
from dissectors.amqp09.field_types import RABBITMQ, preferred_systems
from dissectors.amqp09.headers import ContentHeader, decode_header, encode_header
from dissectors.amqp09.properties import Properties, make_properties
from dissectors.amqp09.property_memory import BASIC, PropertyMemory
from dissectors.core.arrow import to_arrow
from dissectors.core.reading import read_rows
from dissectors.core.rows import RowBuffer, cell_of
from dissectors.parquet.file import ParquetFile
from dissectors.tables import FRAMES
from tests.builders.amqp09 import Frames, Wire09
from tests.dissectors.amqp09 import strategies

DIALECT = load_dialect("0-9-1")
SYSTEMS = preferred_systems("0-9-1")
COLUMNS = [
    "message_id", "correlation_id", "priority", "ttl_ms", "durable", "created_ms", "rest_json",
    "has_unknown", "table_error", "octets", "systems", "text_columns",
]  # fmt: skip


def columns(properties: Properties) -> dict[str, Any]:
    found = {name: getattr(properties, name) for name in COLUMNS}
    return found | {"json": properties.json_text()}


def by_tables(payload: bytes) -> dict[str, Any]:
    header = decode_header(payload, DIALECT, SYSTEMS)
    assert isinstance(header, ContentHeader)
    result = make_properties(header)
    result.octets = len(payload) - 12
    return columns(result)


def test_order_is_the_dialects() -> None:
    for version in ("0-8", "0-9", "0-9-draft", "0-9-1"):
        assert tuple(a.name for a in load_dialect(version).properties[60]) == BASIC


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_every_list(data: st.DataObject) -> None:
    defined = DIALECT.properties[60]
    chosen = data.draw(st.lists(st.sampled_from(defined), unique_by=lambda a: a.name))
    values = {a.name: data.draw(strategies.argument(a, RABBITMQ)) for a in chosen}
    if data.draw(st.booleans()):
        values["expiration"] = str(data.draw(st.integers(0, 10**19)))
    payload = encode_header(60, 5, values, DIALECT)
    memory = PropertyMemory()
    for _ in range(2):
        found = memory.find(payload, 0, len(payload), DIALECT, SYSTEMS)
        assert columns(found) == by_tables(payload)
        memory.known.clear()  # parts are remembered, the list is read again


def name_variants() -> st.SearchStrategy[dict[str, Any]]:
    """What names messages: plain, empty, in need of escapes, not ASCII, no time any more."""
    text = st.sampled_from(["", "m-1", "m-2", 'quote"', "back\\slash", "\n", "é", "x" * 255])
    time = st.sampled_from([0, 1_700_000_000, (1 << 53) - 1, 1 << 53])
    optional = {"correlation-id": text, "message-id": text, "timestamp": time}
    return st.fixed_dictionaries({}, optional=optional)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_lists_that_differ_in_names(data: st.DataObject) -> None:
    """Some repeat all but what names the message; the result must not depend on the one before."""
    defined = DIALECT.properties[60]
    chosen = data.draw(st.lists(st.sampled_from(defined), unique_by=lambda a: a.name))
    heads = [{a.name: data.draw(strategies.argument(a, RABBITMQ)) for a in chosen}, {}]
    memory = PropertyMemory()
    for names in data.draw(st.lists(name_variants(), max_size=8)):
        values = {**data.draw(st.sampled_from(heads)), **names}
        payload = encode_header(60, 5, values, DIALECT)
        found = memory.find(payload, 0, len(payload), DIALECT, SYSTEMS)
        assert columns(found) == by_tables(payload)


@given(st.lists(st.one_of(st.none(), name_variants()), max_size=8), st.integers(1, 9))
def test_fields_of_frames(names: list[dict[str, Any] | None], size: int) -> None:
    """In the table stands what the list itself says, whichever way the batch is written."""
    memory = PropertyMemory()
    frames = RowBuffer(FRAMES, lambda _buffer: None)
    shown: list[str | None] = []
    out = io.BytesIO()
    file = ParquetFile(out, FRAMES, {})
    by_arrow: list[str | None] = []
    read: list[str | None] = []
    for number, given_names in enumerate(names, 1):
        base = frames.new_row()
        shown.append(None)
        if given_names is not None:
            values = {"app-id": "a", **given_names}
            payload = encode_header(60, 5, values, DIALECT)
            found = memory.find(payload, 0, len(payload), DIALECT, SYSTEMS)
            found.put_json(frames, base, cell_of(FRAMES, "fields"))
            shown[-1] = by_tables(payload)["json"]
        if number % size == 0 or number == len(names):
            batch = frames.take()
            by_arrow += to_arrow(batch).column("fields").to_pylist()
            read += [row["fields"] for row in read_rows(batch, ["fields"])]
            file.write(batch)
            batch.release()
    file.close()
    assert by_arrow == read == shown
    assert pq.read_table(out, columns=["fields"]).column("fields").to_pylist() == shown


def test_a_list_cut_short_after_one_like_it() -> None:
    values = {"message-id": "m-1", "correlation-id": "c-1", "timestamp": 5, "app-id": "a"}
    payload = encode_header(60, 5, values, DIALECT)
    for size in range(14, len(payload)):
        memory = PropertyMemory()
        memory.find(payload, 0, len(payload), DIALECT, SYSTEMS)
        # What follows in the buffer is not the list's.
        found = memory.find(payload, 0, size, DIALECT, SYSTEMS)
        assert columns(found) == by_tables(payload[:size])
        assert found.error is not None


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 0xFFFF), st.binary(max_size=40))
def test_any_octets(flags: int, rest: bytes) -> None:
    payload = b"\0\x3c\0\0" + bytes(8) + flags.to_bytes(2, "big") + rest
    header = decode_header(payload, DIALECT, SYSTEMS)
    found = PropertyMemory().find(payload, 0, len(payload), DIALECT, SYSTEMS)
    if isinstance(header, ContentHeader):
        assert columns(found) == by_tables(payload)
        assert (found.error is None) == (header.error is None)
    else:
        assert found.code == header.code


def test_unread_headers_are_a_problem_of_each_message() -> None:
    make = Frames()
    flags_and_table = b"\x20\0" + b"\0\0\0\x04\x01a?\x07"
    header = make.frame(2, 1, b"\0\x3c\0\0" + bytes(8) + flags_and_table)
    wire = Wire09().start().open()
    for _ in range(2):
        wire.say(0, make.method(1, "basic.publish", routing_key="q"), header)
    tables = wire.close().tables()
    assert tables.problem_codes() == {"type09.field_table": 2}
    assert all('"$hex":"01613f07"' in row["properties"] for row in tables["transfers"])
