"""pamqp reads the same values out of 0-9-1 frames, captured and generated, as far as it can."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import dpkt
import pamqp.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pamqp.header import ContentHeader as PamqpHeader

from dissectors.amqp09.dialects import load_dialect
from dissectors.amqp09.field_tables import FieldArray, FieldTable, make_table
from dissectors.amqp09.field_types import RABBITMQ
from dissectors.amqp09.frames import BODY, HEADER, HEARTBEAT, METHOD, cut_frame, encode_frame
from dissectors.amqp09.headers import ContentHeader, decode_header, encode_header
from dissectors.amqp09.methods import decode_method, encode_method
from dissectors.amqp09.schema import Method
from tests.dissectors.amqp09 import strategies
from tests.samples import sample

DIALECT = load_dialect("0-9-1", "rabbitmq")
SYSTEMS = (RABBITMQ,)
# In-order captures on loopback: payloads of a side in packet order are its stream.
CAPTURES = ["01", "03", "04a", "05", "06", "07", "08", "09", "31"]
# pamqp reads as text what is text; these octets are not (its own note: it guesses).
TABLE_KINDS = {
    "t": st.booleans(), "I": strategies.signed(32), "l": strategies.signed(64),
    "S": st.text(st.characters(codec="ascii"), max_size=20).map(str.encode),
    "T": st.integers(0, 4_000_000_000), "V": st.none(), "s": strategies.signed(16),
    "D": st.builds(lambda n, scale: Decimal((0, tuple(map(int, str(n))), -scale)),
                   st.integers(0, 1 << 30), st.integers(0, 20)),
}  # fmt: skip
# Extensions that pamqp does not know.
UNKNOWN_TO_PAMQP = ("access.", "basic.credit", "exchange.bound", "connection.update-secret")


def plain(value: Any, wire_type: str = "") -> Any:
    """Our value as pamqp gives it."""
    if isinstance(value, FieldTable):
        result: dict[str, Any] = {}
        for entry in value.entries:
            # pamqp keeps the last of duplicates; there are none here.
            result[entry.name] = plain(entry.value, "timestamp" if entry.tag == ord("T") else "")
        return result
    if isinstance(value, FieldArray):
        return [plain(item, "timestamp" if tag == ord("T") else "") for tag, item in value.items]
    if wire_type == "timestamp":
        return datetime.fromtimestamp(value, timezone.utc)
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value
    return value


def theirs(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return plain(bytes(value))
    if isinstance(value, dict):
        return {key: theirs(item) for key, item in value.items()}
    if isinstance(value, list):
        return [theirs(item) for item in value]
    return value


def streams(path: str) -> list[bytes]:
    """Both sides of every connection, by the sequence numbers of its segments."""
    sides: dict[tuple[Any, ...], bytearray] = {}
    starts: dict[tuple[Any, ...], int] = {}
    with open(path, "rb") as file:
        for _, data in dpkt.pcap.Reader(file):
            ip = dpkt.ethernet.Ethernet(data).data
            tcp = ip.data
            key = (ip.src, tcp.sport, ip.dst, tcp.dport)
            if tcp.flags & dpkt.tcp.TH_SYN:
                starts[key] = tcp.seq + 1
                sides[key] = bytearray()
            elif tcp.data:
                at = (tcp.seq - starts[key]) & 0xFFFFFFFF
                sides[key][at : at + len(tcp.data)] = tcp.data
    return [bytes(side) for side in sides.values()]


def frames_of(stream: bytes) -> Iterator[bytes]:
    at = 8 if stream.startswith(b"AMQP") else 0
    while (frame := cut_frame(stream, at, len(stream))) is not None:
        yield stream[at : frame.end]
        at = frame.end


def assert_same_method(octets: bytes) -> None:
    ours = decode_method(octets[7:-1], DIALECT, SYSTEMS)
    assert ours is not None
    _, channel, other = pamqp.frame.unmarshal(octets)
    assert channel == struct.unpack_from(">H", octets, 1)[0]
    assert other.name.lower() == ours.method.full_name.replace("-", "").lower()
    values = [theirs(getattr(other, name)) for name in other.attributes()]
    mine = [
        plain(value, argument.type)
        for argument, value in zip(ours.fields.arguments, ours.fields.values, strict=True)
    ]
    assert mine == values, ours.method.full_name


def assert_same_header(octets: bytes) -> None:
    ours = decode_header(octets[7:-1], DIALECT, SYSTEMS)
    assert isinstance(ours, ContentHeader)
    _, _, other = pamqp.frame.unmarshal(octets)
    assert isinstance(other, PamqpHeader)
    assert other.body_size == ours.body_size
    said = {name: theirs(getattr(other.properties, name)) for name in other.properties.attributes()}
    mine = {
        argument.name.replace("-", "_"): plain(ours.as_dict()[argument.name], argument.type)
        for argument in ours.properties.arguments
    }
    said = {name.replace("message_type", "type"): v for name, v in said.items() if v is not None}
    # pamqp gives the reserved cluster-id a value where there is none on the wire.
    assert {"cluster_id": "", **mine} == said


@pytest.mark.parametrize("name", CAPTURES)
def test_captured_frames(name: str) -> None:
    seen = 0
    for stream in streams(sample(name)):
        for octets in frames_of(stream):
            if octets[0] == METHOD:
                assert_same_method(octets)
            elif octets[0] == HEADER and name != "07":
                # 07 has floats and unsigned numbers, which pamqp reads as other numbers.
                assert_same_header(octets)
            elif octets[0] == BODY:
                _, _, body = pamqp.frame.unmarshal(octets)
                assert body.value == octets[7:-1]
            elif octets[0] == HEARTBEAT:
                assert pamqp.frame.unmarshal(octets)[2].name == "Heartbeat"
            seen += 1
    assert seen > 10


METHODS = [
    method
    for method in DIALECT.methods.values()
    if not method.full_name.startswith(UNKNOWN_TO_PAMQP)
]


def agreed(wire_type: str) -> st.SearchStrategy[Any]:
    """Values that pamqp's own checks allow."""
    types: dict[str, st.SearchStrategy[Any]] = {
        "bit": st.booleans(), "octet": strategies.unsigned(8), "short": strategies.unsigned(16),
        "long": strategies.unsigned(32), "longlong": strategies.unsigned(64),
        "timestamp": st.integers(0, 4_000_000_000),
        "shortstr": st.from_regex(r"[a-zA-Z0-9\-_.:@#, ]{0,20}", fullmatch=True),
        "longstr": st.text(st.characters(codec="ascii"), max_size=20).map(str.encode),
        "table": st.dictionaries(
            st.from_regex(r"[a-z]{1,8}", fullmatch=True),
            st.sampled_from(sorted(TABLE_KINDS)).flatmap(
                lambda tag: st.tuples(st.just(tag), TABLE_KINDS[tag])
            ),
            max_size=4,
        ).map(lambda d: make_table([(n, tag, v) for n, (tag, v) in d.items()], RABBITMQ)),
    }  # fmt: skip
    return types[wire_type]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.full_name)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_generated_methods(method: Method, data: st.DataObject) -> None:
    values = {a.name: data.draw(agreed(a.type)) for a in method.arguments}
    assert_same_method(encode_frame(METHOD, 1, encode_method(method, values)))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_generated_properties(data: st.DataObject) -> None:
    # pamqp refuses values of these two that the wire may carry.
    defined = [a for a in DIALECT.properties[60] if a.name not in ("delivery-mode", "cluster-id")]
    chosen = data.draw(st.lists(st.sampled_from(defined), unique_by=lambda a: a.name))
    values = {a.name: data.draw(agreed(a.type)) for a in chosen}
    payload = encode_header(60, data.draw(st.integers(0, 1 << 40)), values, DIALECT)
    assert_same_header(encode_frame(HEADER, 1, payload))
