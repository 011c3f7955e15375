"""Sessions (1.0 §2.5): pairing of channels, windows on both sides, numbers that wrap, ends."""

from __future__ import annotations

from pathlib import Path

from dissectors.amqp10.serial import serial_add, serial_diff
from tests.dissectors.amqp10.dialogue import (
    CLIENT,
    RECEIVER,
    SENDER,
    SERVER,
    Dialogue,
    composite,
    session,
)

LAST = 0xFFFFFFFF


def test_serial_numbers_wrap() -> None:
    """RFC 1982 §3: 32 bits; the distance is the shorter way round."""
    assert serial_add(LAST, 1) == 0
    assert serial_diff(0, LAST) == 1
    assert serial_diff(LAST, 0) == -1
    assert serial_diff(2**31 - 1, 0) == 2**31 - 1
    assert serial_diff(2**31, 0) == -(2**31)


def test_begins_pair_by_remote_channel(tmp_path: Path) -> None:
    """§2.7.2: each direction has its own channel numbers."""
    tables = Dialogue().opened().begun(3, remote=7).begun(7, remote=3).closed().tables(tmp_path)
    found = [(r["channel"], r["remote_channel"], r["begun_by"]) for r in tables["sessions"]]
    assert found == [(3, 7, "client"), (7, 3, "client")]
    assert not tables["problems"]
    frames = [r for r in tables["frames"] if r["name"] == "begin"]
    assert [r["session_id"] for r in frames] == [1, 1, 2, 2]


def test_server_may_begin(tmp_path: Path) -> None:
    windows = {"next_outgoing_id": 0, "incoming_window": 1, "outgoing_window": 1}
    talk = Dialogue().opened().say(SERVER, "begin", 5, **windows)
    talk.say(CLIENT, "begin", 2, remote_channel=5, **windows).closed()
    (row,) = talk.tables(tmp_path)["sessions"]
    assert (row["begun_by"], row["channel"], row["remote_channel"]) == ("server", 5, 2)


def test_a_channel_is_free_again_after_both_ends(tmp_path: Path) -> None:
    talk = session().say(CLIENT, "end").say(SERVER, "end").begun().closed()
    tables = talk.tables(tmp_path)
    assert len(tables["sessions"]) == 2
    assert not tables["problems"]


def test_begin_on_a_channel_in_use_is_named(tmp_path: Path) -> None:
    windows = {"next_outgoing_id": 0, "incoming_window": 1, "outgoing_window": 1}
    tables = session().say(CLIENT, "begin", **windows).closed().tables(tmp_path)
    assert set(tables.problem_codes()) == {"state10.channel_in_use"}


def test_answer_to_no_begin_is_named(tmp_path: Path) -> None:
    windows = {"next_outgoing_id": 0, "incoming_window": 1, "outgoing_window": 1}
    talk = Dialogue().opened().say(SERVER, "begin", 4, remote_channel=9, **windows).closed()
    assert set(talk.tables(tmp_path).problem_codes()) == {"state10.bad_remote_channel"}


def test_end_with_error(tmp_path: Path) -> None:
    """§2.7.8: the condition and its words are the session's."""
    error = composite("error", condition="amqp:session:window-violation", description="too much")
    talk = session().say(SERVER, "end", error=error).say(CLIENT, "end").closed()
    (row,) = talk.tables(tmp_path)["sessions"]
    assert (row["end_condition"], row["end_reason"], row["end_initiator"]) == (
        "amqp:session:window-violation",
        "too much",
        "server",
    )


def test_discarding_what_was_on_its_way(tmp_path: Path) -> None:
    """§2.5.5: after an end with error a side discards what still comes: it stays unsettled, and
    nobody is blamed for it."""
    error = composite("error", condition="amqp:internal-error")
    talk = session().attached().credit(SERVER, 10).transfer(CLIENT, 0)
    talk.say(SERVER, "end", error=error).transfer(CLIENT, 1).say(CLIENT, "end").closed()
    tables = talk.tables(tmp_path)
    rows = {r["delivery_id"]: r for r in tables["transfers"]}
    assert rows[1]["outcome"] is None and rows[1]["settled_ts_ns"] is None
    assert not tables["problems"]


def test_frames_after_both_ends_are_blamed(tmp_path: Path) -> None:
    talk = session().attached().say(CLIENT, "end").say(SERVER, "end").transfer(CLIENT, 0)
    codes = talk.closed().tables(tmp_path).problem_codes()
    assert set(codes) == {"state10.unknown_channel", "state10.unattached_handle"}


def test_windows_count_transfer_frames(tmp_path: Path) -> None:
    """§2.5.6: every transfer frame uses a place; a flow says what is left, less what is on its
    way."""
    talk = session(incoming_window=3).attached().credit(SERVER, 10, incoming_window=3)
    talk.transfer(CLIENT, 0, more=True).transfer(CLIENT, None).transfer(CLIENT, 1)
    talk.credit(SERVER, 8, 2, next_incoming_id=2, incoming_window=3)
    tables = talk.closed().tables(tmp_path)
    events = [(r["event"], r["server_incoming_window"]) for r in tables["credits"]]
    assert ("window-exhausted", 0) in events
    # The receiver has seen 2 of 3 frames when it opens the window to 3 again.
    assert events[-1] == ("flow", 2)


def test_windows_wrap(tmp_path: Path) -> None:
    talk = session(next_outgoing_id=LAST, incoming_window=10).attached()
    for delivery_id in range(3):
        talk.transfer(CLIENT, delivery_id)
    talk.credit(SERVER, 7, 3, next_incoming_id=1, incoming_window=10, next_outgoing_id=LAST)
    last = talk.closed().tables(tmp_path)["credits"][-1]
    # Frames LAST, 0 and 1 were sent; next-incoming-id 1 means that two of them have come.
    assert last["server_incoming_window"] == 9


def test_begin_rows_state_both_windows(tmp_path: Path) -> None:
    talk = Dialogue().opened()
    talk.say(CLIENT, "begin", next_outgoing_id=5, incoming_window=20, outgoing_window=30,
             handle_max=7)  # fmt: skip
    talk.say(SERVER, "begin", remote_channel=0, next_outgoing_id=9, incoming_window=40,
             outgoing_window=50)  # fmt: skip
    tables = talk.closed().tables(tmp_path)
    first, second = tables["credits"]
    assert (first["event"], first["incoming_window"], first["next_outgoing_id"]) == ("begin", 20, 5)
    assert (second["client_incoming_window"], second["server_incoming_window"]) == (20, 40)
    (row,) = tables["sessions"]
    assert (row["client_handle_max"], row["server_handle_max"]) == (7, LAST)
    assert (row["client_outgoing_window"], row["server_outgoing_window"]) == (30, 50)


def test_session_ends_with_its_connection(tmp_path: Path) -> None:
    (row,) = session().closed().tables(tmp_path)["sessions"]
    assert (row["end_initiator"], row["end_reason"]) == ("client", "connection ended")
    assert row["end_ts_ns"] is not None


def test_session_outlives_the_capture(tmp_path: Path) -> None:
    (row,) = session().tables(tmp_path)["sessions"]
    assert (row["end_ts_ns"], row["end_reason"]) == (None, "capture ended")


def test_two_sessions_number_their_deliveries_apart(tmp_path: Path) -> None:
    """§2.5.1: delivery-ids are of the session, not of the connection."""
    talk = Dialogue().opened().begun(0).begun(1)
    for channel in (0, 1):
        talk.attached(f"link-{channel}", SENDER, channel=channel)
        talk.transfer(CLIENT, 0, channel=channel)
    settled = {"role": RECEIVER, "first": 0, "settled": True}
    talk.say(SERVER, "disposition", 1, **settled, state=composite("released"))
    talk.say(SERVER, "disposition", 0, **settled, state=composite("accepted"))
    rows = talk.closed().tables(tmp_path)["transfers"]
    assert {(r["session_id"], r["outcome"]) for r in rows} == {(1, "accepted"), (2, "released")}
