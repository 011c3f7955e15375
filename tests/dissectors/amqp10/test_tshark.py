"""Where tshark 4.0 misreads AMQP 1.0, one test per place: the octets, the clause that says what
they mean, what tshark makes of them and what we do. And the places where it is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissectors.amqp10.frames import encode_frame
from tests.builders.talk import write_pcap
from tests.dissectors.amqp10.dialogue import CLIENT, Dialogue, message, performative, session
from tests.dissectors.amqp10.tshark import tshark_fields, tshark_text
from tests.samples import sample
from tests.tables import Tables, dissect

TRANSFER, ATTACH = "20", "18"
PERFORMATIVE = "amqp.performative"
DELIVERY_ID = "amqp.performative.arguments.deliveryId"
EXPERT = "_ws.expert.message"


def both(talk: Dialogue, folder: Path, *names: str) -> tuple[Tables, list[str]]:
    """Our tables, and what tshark says of the last packet."""
    path = write_pcap(folder / "case.pcap", talk.talk.packets)
    tables = dissect(path)
    assert not tables["problems"]
    rows = tshark_fields(path, *names)
    return tables, rows[-1] if rows else []


def sending(payload: bytes) -> Dialogue:
    return session().attached().transfer(CLIENT, 0, payload=payload)


def test_continuation_transfers_carry_no_sections(tmp_path: Path) -> None:
    """§2.6.14: the payloads of a delivery's transfers are one message, cut anywhere. tshark reads
    sections in each of them, and finds types that are none in the middle of the body."""
    whole = message(bytes(range(256)) * 2)
    talk = session().attached().transfer(CLIENT, 0, more=True, payload=whole[:50])
    tables, (expert,) = both(talk.transfer(CLIENT, None, payload=whole[50:]), tmp_path, EXPERT)
    assert expert.startswith("Unknown AMQP type")
    (row,) = tables["transfers"]
    assert (row["is_complete"], row["body_bytes"], row["frame_count"]) == (True, 512, 2)


def test_full_width_descriptors(tmp_path: Path) -> None:
    """§1.2.2: 00 80 0000000000000014 is the ulong 0x14 as much as 00 53 14. tshark takes the
    octet behind the format code for the whole descriptor."""
    usual = performative("transfer", handle=0, delivery_id=7, delivery_tag=b"t")
    wide = bytes.fromhex("0080 0000000000000014") + usual[3:]
    talk = session().attached().octets(CLIENT, encode_frame(wide + message()))
    tables, (code, expert, number) = both(talk, tmp_path, PERFORMATIVE, EXPERT, DELIVERY_ID)
    assert (code, expert, number) == ("0", "Unknown AMQP performative 0", "")
    assert [row["delivery_id"] for row in tables["transfers"]] == [7]


def test_symbolic_descriptors(tmp_path: Path) -> None:
    """§1.2.2, §2.7.5: 00 a3 12 "amqp:transfer:list" names a transfer. tshark takes the length of
    the symbol, 18, for the descriptor, and calls it an attach."""
    usual = performative("transfer", handle=0, delivery_id=7, delivery_tag=b"t")
    symbol = b"amqp:transfer:list"
    named = b"\x00\xa3" + bytes((len(symbol),)) + symbol + usual[3:]
    talk = session().attached().octets(CLIENT, encode_frame(named + message()))
    tables, (code, number) = both(talk, tmp_path, PERFORMATIVE, DELIVERY_ID)
    assert (code, number) == (ATTACH, "")
    assert [row["delivery_id"] for row in tables["transfers"]] == [7]


def test_ulong_message_ids(tmp_path: Path) -> None:
    """§3.2.4, §1.6.7: a message-id may be a ulong: 80 0000000100000007. tshark fetches it as an
    integer of at most four octets."""
    properties = bytes.fromhex("005373 c00a01 80 0000000100000007")
    names = (EXPERT, "amqp.message.messageId.uint")
    tables, (expert, number) = both(sending(properties + message()), tmp_path, *names)
    assert expert == "Trying to fetch an unsigned integer with length 8"
    assert number != str(0x1_0000_0007)
    assert [row["message_id"] for row in tables["transfers"]] == [str(0x1_0000_0007)]


def test_described_amqp_values(tmp_path: Path) -> None:
    """§3.2.8: an amqp-value holds any value, a described one too: 00 80 … a1 01 64."""
    payload = bytes.fromhex("005377 00 80 0000468c00000001 a10164")
    tables, (expert,) = both(sending(payload), tmp_path, EXPERT)
    assert expert == 'Unknown AMQP type 0 (0x0) of field "AMQP-Value"'
    (row,) = tables["transfers"]
    assert (row["body_kind"], row["body_bytes"]) == ("value", len(payload) - 3)


@pytest.mark.parametrize(
    ("octets", "value"),
    [
        ("74 32800001", "1"),
        ("74 b200000f", "-1.5"),
        ("84 31c0000000000001", "1"),
        ("94 30400000000000000000000000000001", "1"),
    ],
)
def test_decimals(tmp_path: Path, octets: str, value: str) -> None:
    """§1.6.15 to §1.6.17: decimals are sign, exponent and digits. tshark does not read them."""
    pair = b"\xa1\x01d" + bytes.fromhex(octets)
    properties = b"\x00\x53\x74\xc1" + bytes((len(pair) + 1, 2)) + pair
    talk = sending(properties + message())
    tables, _ = both(talk, tmp_path, EXPERT)
    width = {"74": 32, "84": 64, "94": 128}[octets[:2]]
    (row,) = tables["transfers"]
    wanted = f'{{"application-properties":{{"d":{{"$decimal{width}":"{value}"}}}}}}'
    assert row["properties"] == wanted
    assert f"d (decimal{width}): (not supported)" in tshark_text(str(tmp_path / "case.pcap"))


def test_streams_that_begin_inside_a_frame(tmp_path: Path) -> None:
    """A capture may begin anywhere. tshark shows none of the four frames behind the cut one."""
    frame = encode_frame(performative("transfer", handle=0, delivery_id=0) + message(b"y" * 90))
    talk = Dialogue(is_whole=False).octets(CLIENT, frame[37:])
    for delivery_id in range(1, 5):
        talk.transfer(CLIENT, delivery_id)
    tables, theirs = both(talk, tmp_path, PERFORMATIVE)
    assert theirs == []
    assert sorted(row["delivery_id"] for row in tables["transfers"]) == [1, 2, 3, 4]


# Field of tshark → column of ours, on samples that it reads well.
RIGHT = {
    "amqp.performative.arguments.deliveryId": ("transfer", "delivery_id"),
    "amqp.performative.arguments.first": ("disposition", "delivery_id"),
    "amqp.performative.arguments.last": ("disposition", "delivery_last"),
    "amqp.performative.arguments.linkCredit": ("flow", "link_credit"),
}


@pytest.mark.parametrize("name", ["10a", "11b", "12c", "14a", "20b"])
def test_values_where_tshark_is_right(name: str) -> None:
    """Samples on its own port, one message per transfer."""
    path = sample(name)
    tables = dissect(path)
    for field, (frame_name, column) in RIGHT.items():
        shown = [v for (cell,) in tshark_fields(path, field) for v in cell.split(",") if v]
        ours = [r[column] for r in tables["frames"] if r["name"] == frame_name]
        assert sorted(map(int, shown)) == sorted(v for v in ours if v is not None), field
