"""Every 1.0 sample against its manifest: what the programs on both ends counted must be what the
tables say, and the frames must be those that a plain cutter finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.samples import SAMPLES, entry, manifest, parts
from tests.tables import Rows, Tables, dissect

WHOLE = [e["file"] for e in manifest() if e["dialect"] == "1.0" and "part" not in e["truth"]]
#: Frames that tshark's counts know by another name.
TSHARK_NAMES = {"header:1-0-0": "protocol-header", "(empty)": "empty"}
TO_BROKER, TO_CLIENT = "c2s", "s2c"


@cache
def tables_of(name: str) -> Tables:
    return dissect(str(SAMPLES / entry(name)["file"]))


def messages(tables: Tables, direction: str, **wanted: Any) -> Rows:
    """Transfers of messages, not those that talk to a transaction coordinator."""
    control = {
        (link["connection_id"], link["link_id"])
        for link in tables["links"]
        if link["kind"] == "coordinator"
    }
    return [
        row
        for row in tables["transfers"]
        if row["direction"] == direction
        and (row["connection_id"], row["link_id"]) not in control
        and all(row[name] == value for name, value in wanted.items())
    ]


def outcomes(rows: Rows) -> Counter[str | None]:
    return Counter(row["outcome"] for row in rows)


def settled_by_range(tables: Tables, direction: str) -> int:
    """Deliveries that the dispositions of one side settle, ranges expanded."""
    return sum(
        (row["delivery_id"] if row["delivery_last"] is None else row["delivery_last"])
        - row["delivery_id"]
        + 1
        for row in tables["frames"]
        if row["name"] == "disposition" and row["direction"] == direction and row["is_settled"]
    )


def grants(tables: Tables) -> list[int]:
    return [
        row["granted"]
        for row in tables["credits"]
        if row["event"] == "flow" and (row["granted"] or 0) > 0 and row["direction"] == TO_BROKER
    ]


def drained(tables: Tables) -> list[int]:
    """Credit that senders gave up."""
    return [-row["granted"] for row in tables["credits"] if (row["granted"] or 0) < 0]


#: One claim of a `truth` and what our tables say about it. Ordinary claims, the same everywhere.
CLAIMS: dict[str, Callable[[Tables], Any]] = {
    "connections": lambda t: len(t["connections"]),
    "sessions": lambda t: len(t["sessions"]),
    "links": lambda t: len(t["links"]),
    "sent": lambda t: len(messages(t, TO_BROKER)),
    "received": lambda t: len(messages(t, TO_CLIENT)),
    "accepted_by_broker": lambda t: len(messages(t, TO_BROKER, outcome="accepted")),
    "accepted_by_client": lambda t: len(messages(t, TO_CLIENT, outcome="accepted")),
    "accepted": lambda t: len(messages(t, TO_BROKER, outcome="accepted")),
    "received_presettled": lambda t: len(messages(t, TO_CLIENT, is_presettled=True)),
    "dispositions": lambda t: t.names()["disposition"],
    "credit_grants": grants,
    "drained_credit": drained,
    "outcomes_received": lambda t: outcomes(messages(t, TO_BROKER)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_counts_are_those_of_the_programs(name: str) -> None:
    truth, tables = entry(name)["truth"], tables_of(name)
    checked = [claim for claim in CLAIMS if claim in truth]
    for claim in checked:
        assert CLAIMS[claim](tables) == truth[claim], claim
    assert checked or "derived_from" in truth


@pytest.mark.parametrize("name", WHOLE)
def test_frames_are_those_that_a_plain_cutter_finds(name: str) -> None:
    deframed, tables = entry(name)["deframed"], tables_of(name)
    if deframed is None:
        pytest.skip("bytes are missing, so nobody can say how many frames there were")
    types = Counter(row["frame_type"] for row in tables["frames"])
    assert types.pop("protocol-header", 0) == deframed["protocol_headers"]
    assert types == {
        {"0": "amqp", "1": "sasl"}[kind]: count for kind, count in deframed["frame_types"].items()
    }
    assert sum(row["size_bytes"] for row in tables["frames"]) == deframed["stream_bytes"]


@pytest.mark.parametrize("name", [n for n in WHOLE if entry(n)["deframed"] is not None])
def test_names_are_those_of_tshark_where_nothing_is_lost(name: str) -> None:
    if "derived_from" in entry(name)["truth"]:
        pytest.skip("tshark loses frames where packets are out of order")
    counts = entry(name)["tshark"]["counts"]
    theirs = {TSHARK_NAMES.get(n, n.replace(".", "-")): count for n, count in counts.items()}
    for wanted in ("sasl-init", "sasl-mechanisms", "sasl-outcome"):
        theirs.setdefault(wanted, 0)
    assert dict(tables_of(name).names()) == {n: c for n, c in theirs.items() if c}


@pytest.mark.parametrize("name", WHOLE)
def test_nothing_is_malformed(name: str) -> None:
    tables = tables_of(name)
    expected = {"16": {"detect.refused_version"}, "23b": {"tcp.gap"}}
    allowed = expected.get(name.partition("_")[0], set())
    if name.startswith("23f"):
        allowed = {"tcp.snaplen", "frame.holed", "frame.cut_by_gap"}
    assert set(tables.problem_codes()) == allowed


def test_10a_body_size_address_and_mechanism() -> None:
    truth, tables = entry("10a")["truth"], tables_of("10a")
    assert {row["body_bytes"] for row in tables["transfers"]} == {truth["body_size"]}
    assert {row["address"] for row in tables["links"]} == {truth["address"]}
    assert {row["mechanism"] for row in tables["connections"]} == {truth["sasl"]}
    (receiver,) = (row for row in tables["links"] if row["role"] == "receiver")
    assert receiver["initial_credit"] == truth["credit_window"]


@pytest.mark.parametrize("name", ["11a", "11c"])
def test_starved_links_have_no_credit_for_as_long_as_the_truth_says(name: str) -> None:
    truth, tables = entry(name)["truth"], tables_of(name)
    pauses = []
    begun: dict[tuple[str, int], int] = {}
    for row in sorted(tables["credits"], key=lambda r: (r["connection_id"], r["ts_ns"])):
        key = (row["connection_id"], row["link_id"])
        if row["event"] == "credit-exhausted":
            assert row["sender_credit"] == 0
            begun[key] = row["ts_ns"]
        elif (row["granted"] or 0) > 0 and key in begun:
            pauses.append((row["ts_ns"] - begun.pop(key)) / 1e9)
    long = [pause for pause in pauses if pause >= 0.9 * truth["starvation_seconds"]]
    assert len(long) == truth["starvation_gaps"]


def test_11b_the_session_that_the_broker_ended_with_an_error() -> None:
    tables = tables_of("11b")
    assert grants(tables) == entry("11b")["truth"]["credit_grants"]
    (ended,) = (row for row in tables["sessions"] if row["end_condition"])
    assert ended["end_condition"] == "amqp:internal-error"
    assert ended["end_initiator"] == "server"
    assert ended["end_reason"].startswith("{function_clause,[{rabbit_classic_queue,handle_event")


def test_12a_outcomes_redelivery_and_order() -> None:
    truth, tables = entry("12a")["truth"], tables_of("12a")
    rows = sorted(messages(tables, TO_CLIENT), key=lambda row: row["delivery_id"])
    wanted = truth["outcomes_sent"]
    assert outcomes(rows) == {
        "accepted": wanted["accepted"],
        "released": wanted["released"],
        "rejected": wanted["rejected"],
        "modified": wanted["modified_failed"] + wanted["modified_undeliverable"],
    }
    ids = [row["message_id"] for row in rows]
    assert [i.rpartition("-")[2] for i in ids] == [name for name, _ in truth["receive_order"]]
    assert sum(ids.count(i) > 1 for i in set(ids)) == truth["redelivered"]
    counted = [bool(row["is_redelivered"]) for row in rows]
    assert counted == [count > 0 for _, count in truth["receive_order"]]


def test_12b_every_outcome_with_its_condition() -> None:
    rows = messages(tables_of("12b"), TO_BROKER)
    conditions = {(row["outcome"], row["outcome_condition"]) for row in rows}
    assert conditions == {
        ("accepted", None),
        ("rejected", "amqp:decode-error"),
        ("released", None),
        ("modified", None),
    }


def test_12c_order_outcomes_and_first_acquirers() -> None:
    rows = sorted(messages(tables_of("12c"), TO_CLIENT), key=lambda row: row["delivery_id"])
    found = [[row["outcome"], not row["is_redelivered"]] for row in rows]
    assert found == [[outcome, first] for _, outcome, _, first in entry("12c")["truth"]["order"]]


@pytest.mark.parametrize("name", ["13a", "23d"])
def test_13a_six_messages_in_74_transfers(name: str) -> None:
    truth, tables = entry("13a")["truth"], tables_of(name)
    assert tables.names()["transfer"] == 74
    assert sum(row["frame_count"] for row in tables["transfers"]) == 74
    for direction in (TO_BROKER, TO_CLIENT):
        rows = sorted(messages(tables, direction), key=lambda row: row["delivery_id"])
        assert [row["body_bytes"] for row in rows] == truth["body_sizes"]
        assert all(row["is_complete"] for row in rows)
    sent, came = messages(tables, TO_BROKER), messages(tables, TO_CLIENT)
    assert sorted(r["body_hash"] for r in sent) == sorted(r["body_hash"] for r in came)
    sizes = [r["message_bytes"] for r in sorted(sent, key=lambda r: r["delivery_id"])]
    assert sizes == truth["encoded_message_sizes"]
    limit = truth["client_max_frame_size"]
    frames = [r for r in tables["frames"] if r["name"] == "transfer" and r["direction"] == "s2c"]
    assert max(r["size_bytes"] for r in frames) <= limit


def test_13b_interleaved_deliveries_and_one_aborted() -> None:
    truth, tables = entry("13b")["truth"], tables_of("13b")
    rows = tables["transfers"]
    assert len(rows) == truth["deliveries_started"]
    assert sum(row["is_complete"] for row in rows) == truth["deliveries_completed"]
    (aborted,) = (row for row in rows if row["is_aborted"])
    tags = {bytes.fromhex(row["delivery_tag"]).decode(): row for row in rows}
    assert set(truth["delivery_tags"]) <= set(tags)
    assert tags["aborted-C"] is aborted
    assert (aborted["outcome"], aborted["settled_by"], aborted["body_hash"]) == (
        None,
        "implicit",
        None,
    )
    pair = [tags["big-A"], tags["big-B"]]
    assert [row["message_bytes"] for row in pair] == truth["encoded_sizes"]
    # Their frames are mixed: each has some between the first and last of the other.
    numbers = [
        [f["frame_no"] for f in tables["frames"] if f["name"] == "transfer"
         and f["transfer_id"] == row["transfer_id"]] for row in pair
    ]  # fmt: skip
    assert numbers[0][0] < numbers[1][0] < numbers[0][-1]
    assert len({row["link_id"] for row in pair}) == 2


def test_14a_presettled_both_ways() -> None:
    rows = tables_of("14a")["transfers"]
    assert {(r["is_presettled"], r["settle_kind"], r["settled_by"]) for r in rows} == {
        (True, "presettled", "sender")
    }
    assert all(r["settled_packet_no"] == r["last_packet_no"] for r in rows)


def test_14b_receiver_settles_second() -> None:
    tables = tables_of("14b")
    assert {row["rcv_settle_mode"] for row in tables["links"]} == {"second"}
    for row in tables["transfers"]:
        # The outcome is the receiver's, the settlement the sender's answer to it.
        assert (row["outcome"], row["settled_by"]) == ("accepted", "sender")
        assert row["outcome_ts_ns"] < row["settled_ts_ns"]


def test_14c_ranges_are_expanded() -> None:
    truth, tables = entry("14c")["truth"], tables_of("14c")
    rows = tables["transfers"]
    assert tables.names()["disposition"] < len(rows) == truth["accepted"]
    assert {row["settle_kind"] for row in rows} == {"range"}
    assert settled_by_range(tables, TO_CLIENT) == truth["accepted"]


def test_15a_errors_of_links_sessions_and_connections() -> None:
    truth, tables = entry("15a")["truth"], tables_of("15a")
    found = Counter(
        [
            *(row["end_condition"] for row in tables["links"] if row["end_condition"]),
            *(row["end_condition"] for row in tables["sessions"] if row["end_condition"]),
            *(row["close_condition"] for row in tables["connections"] if row["close_condition"]),
        ]
    )
    # The peer meant to refuse two attaches, but the clients closed before it did: tshark too
    # sees no detach on those connections.
    assert entry("15a")["tshark"]["counts"]["detach"] == tables.names()["detach"] == 2
    assert Counter(truth["errors"]) - found == {"amqp:not-found": 2}
    assert not found - Counter(truth["errors"])
    after3 = [r for r in tables["links"] if r["end_condition"] == "amqp:resource-limit-exceeded"]
    assert [row["transfer_count"] for row in after3] == [truth["transfers_in_last"]]
    assert after3[0]["end_reason"] == "three is enough"
    assert after3[0]["end_initiator"] == "server"


def test_15b_errors_that_brokers_give() -> None:
    truth, tables = entry("15b")["truth"], tables_of("15b")
    rows = [*tables["links"], *tables["sessions"]]
    found = {(row["end_condition"], row["end_reason"]) for row in rows if row["end_condition"]}
    for condition, reason in found:
        assert any(condition in view for view in truth["client_view"]), condition
        # The client's view is Python's way to write the text, with its quotes escaped.
        plain = [view.replace("\\", "") for view in truth["client_view"]]
        assert any(reason in view for view in plain), reason
    assert len(found) == 5


def test_16_sasl_mechanisms_and_outcomes() -> None:
    rows = sorted(tables_of("16")["connections"], key=lambda row: row["first_ts_ns"])
    found = [(row["mechanism"], row["auth_outcome"], row["close_condition"] is None
              and row["auth_outcome"] in ("ok", None)) for row in rows]  # fmt: skip
    views = entry("16")["truth"]["client_view"]
    assert [is_open for _, _, is_open in found] == [view[1] == "open" for view in views]
    for (mechanism, outcome, is_open), (what, *_) in zip(found, views, strict=True):
        wanted = next((m for m in ("PLAIN", "ANONYMOUS") if m in what), None)
        assert mechanism == wanted
        if wanted is not None:
            assert outcome == ("ok" if is_open else "auth")
        else:
            assert outcome is None
    # The broker that insists on SASL says so by its header, then by an error.
    assert rows[-1]["close_condition"] == "amqp:decode-error"
    (refused,) = tables_of("16")["problems"]
    assert refused["detail"] == "the client asked for amqp 1.0.0, the server offers sasl 1.0.0"


def test_17_transactions() -> None:
    truth, tables = entry("17")["truth"], tables_of("17")
    sent = messages(tables, TO_BROKER)
    fates = Counter(row["transaction_outcome"] for row in sent)
    assert fates["committed"] == truth["sent_committed"]
    assert fates["rolled-back"] == truth["sent_rolled_back"]
    # What was rolled back has no outcome; what was committed has it from the discharge on.
    assert {row["outcome"] for row in sent if row["transaction_outcome"] == "rolled-back"} == {None}
    came = messages(tables, TO_CLIENT, outcome="accepted", transaction_outcome="committed")
    assert len(came) == truth["accepted_in_transactions"]
    ids = {(row["connection_id"], row["transaction_id"]) for row in sent + came}
    assert len(ids) == truth["declares"]
    commits = sum(row["commit_count"] for row in tables["sessions"])
    rollbacks = sum(row["rollback_count"] for row in tables["sessions"])
    assert commits + rollbacks == truth["discharges"]
    assert rollbacks == truth["discharges_fail_true"]
    # The coordinator's answer is a state of the frame; a transfer has only the four outcomes.
    declared = [row for row in tables["frames"] if row["outcome"] == "declared"]
    assert len(declared) == truth["declares"]
    outcomes = {row["outcome"] for row in tables["transfers"]}
    assert outcomes <= {"accepted", "rejected", "released", "modified", None}


def test_18_links_of_two_sessions_and_how_they_ended() -> None:
    tables = tables_of("18")
    by_session = Counter((row["session_id"], row["role"]) for row in tables["links"])
    assert sorted(by_session.values()) == [1, 1, 2, 3]
    kinds = Counter(row["end_kind"] for row in tables["links"])
    assert kinds["detached"] == kinds["closed"] == 1
    assert kinds["session-end"] == 3
    ends = {row["session_id"]: row["end_reason"] for row in tables["sessions"]}
    assert list(ends.values()).count("connection ended") == 1


def test_22b_what_is_inferred_says_so() -> None:
    truth, tables = entry("22b")["truth"], tables_of("22b")
    assert len(messages(tables, TO_CLIENT)) == truth["transfers_in_capture_to_client"]
    assert len(messages(tables, TO_BROKER)) == truth["transfers_in_capture_to_broker"]
    assert settled_by_range(tables, TO_BROKER) == truth["accepted_by_client_in_capture"]
    assert {row["is_inferred"] for row in tables["sessions"] + tables["links"]} == {True}
    (connection,) = tables["connections"]
    assert connection["dialect_known_by"] == "frame-shape"
    assert connection["dialect_confidence"] < 1


def test_23b_lost_packets_cost_only_what_was_in_them() -> None:
    truth, tables = entry("23b")["truth"], tables_of("23b")
    source = tables_of(truth["derived_from"])
    missing, repeated, before = (
        sum(row[column] for row in rows["connections"])
        for rows, column in (
            (tables, "missing_bytes"),
            (tables, "retransmit_bytes"),
            (source, "retransmit_bytes"),
        )
    )
    # One of the dropped packets repeated another: nothing was lost with it.
    assert missing + before - repeated == sum(truth["dropped_tcp_payload_bytes"])
    lost = len(source["frames"]) - len(tables["frames"])
    # Whole packets with few frames each were dropped.
    assert 0 < lost <= 2 * len(truth["dropped_packet_numbers_1based"])


def test_23f_cut_frames_give_what_is_left_of_them() -> None:
    truth, tables = entry("23f")["truth"], tables_of("23f")
    source = tables_of(truth["derived_from"])
    for column in ("role", "name", "is_inferred", "client_handle", "server_handle"):
        assert sorted(map(str, (row[column] for row in tables["links"]))) == sorted(
            map(str, (row[column] for row in source["links"]))
        ), column
    assert {row["client_container"] for row in tables["connections"]} == {
        row["client_container"] for row in source["connections"]
    }
    cut = [row for row in tables["frames"] if row["status"] == "incomplete"]
    assert {"open", "attach"} <= {row["name"] for row in cut}


def test_23h_rotated_files_are_one_capture() -> None:
    truth = entry("23h_10_rotated_00.pcapng")["truth"]
    tables = dissect(parts("23h"))
    assert not tables["problems"]
    for claim in ("connections", "sent", "received", "accepted_by_broker"):
        assert CLAIMS[claim](tables) == truth[claim], claim
    assert {row["body_bytes"] for row in tables["transfers"]} == {truth["body_size"]}
    (receiver,) = (row for row in tables["links"] if row["role"] == "receiver")
    assert receiver["initial_credit"] == truth["credit_window"]


def test_25_idle_timeouts_are_kept_by_empty_frames() -> None:
    truth, tables = entry("25")["truth"], tables_of("25")
    assert tables.names()["empty"] > truth["idle_seconds"]
    for row in tables["connections"]:
        assert '"server_kept_idle_timeout":true' in row["details"]


def test_30_the_session_window_stops_the_sender_not_its_credit() -> None:
    truth, tables = entry("30")["truth"], tables_of("30")
    (session,) = tables["sessions"]
    window = truth["session_incoming_window"]
    assert session["client_incoming_window"] == window
    exhausted = [row for row in tables["credits"] if row["event"] == "window-exhausted"]
    assert len(exhausted) >= truth["pauses"]
    assert {row["client_incoming_window"] for row in exhausted} == {0}
    assert max(r["client_incoming_window"] or 0 for r in tables["credits"]) <= window
    # Credit was there all the time: it ends only with the last message.
    (link,) = tables["links"]
    assert link["initial_credit"] == truth["link_credit"]
    used_up = [row for row in tables["credits"] if row["event"] == "credit-exhausted"]
    assert len(used_up) == 1
    assert used_up[0]["ts_ns"] > exhausted[-2]["ts_ns"]
