"""Who settled what: acks, nacks, confirms, transactions, recover, redelivery (0-9-1 §1.8, §1.9)."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.builders.amqp09 import CLIENT, SERVER, Wire09
from tests.live.counting import outcomes, where
from tests.tables import Rows, Tables


def opened(*channels: int) -> Wire09:
    return Wire09().start().open(*channels)


def by_tag(tables: Tables, kind: str) -> dict[int, dict]:
    return {row["delivery_id"]: row for row in where(tables["transfers"], kind=kind)}


def kinds(rows: Rows) -> Counter:
    return Counter((row["outcome"], row["settle_kind"]) for row in rows)


def test_multiple_ack_crosses_consumers_of_a_channel() -> None:
    wire = opened().consume(1, tag="a", queue="qa").consume(1, tag="b", queue="qb")
    for tag, consumer in enumerate("abab", 1):
        wire.deliver(1, tag, b"x%d" % tag, consumer_tag=consumer)
    tables = wire.ack(1, 3, multiple=True).close().tables()
    delivered = by_tag(tables, "deliver")
    assert [delivered[n]["outcome"] for n in (1, 2, 3, 4)] == ["accepted"] * 3 + [None]
    assert [delivered[n]["queue"] for n in (1, 2, 3, 4)] == ["qa", "qb", "qa", "qb"]
    links = {row["name"]: row["unsettled_count"] for row in where(tables["links"], kind="consumer")}
    assert links == {"a": 0, "b": 1}


def test_tag_zero_is_all_that_is_unsettled() -> None:
    wire = opened().consume(1)
    for tag in (1, 2, 3):
        wire.deliver(1, tag, b"x")
    tables = wire.ack(1, 0, multiple=True).deliver(1, 4, b"x").close().tables()
    assert kinds(where(tables["transfers"], kind="deliver")) == {
        ("accepted", "range"): 3, (None, None): 1,
    }  # fmt: skip


def test_acks_do_not_cross_channels() -> None:
    wire = opened(1, 2).consume(1, tag="a").consume(2, tag="b")
    wire.deliver(1, 1, b"x", consumer_tag="a").deliver(2, 1, b"y", consumer_tag="b")
    tables = wire.ack(2, 0, multiple=True).close().tables()
    assert outcomes(where(tables["transfers"], session_id=1)) == {None: 1}
    assert outcomes(where(tables["transfers"], session_id=2)) == {"accepted": 1}


def test_nack_multiple_and_reject() -> None:
    wire = opened().consume(1)
    for tag in range(1, 7):
        wire.deliver(1, tag, b"x")
    wire.client(1, "basic.nack", delivery_tag=2, multiple=True, requeue=True)
    wire.client(1, "basic.nack", delivery_tag=4, multiple=True)
    wire.client(1, "basic.reject", delivery_tag=6, requeue=True)
    wire.client(1, "basic.reject", delivery_tag=5)
    delivered = by_tag(wire.close().tables(), "deliver")
    expected = ["released", "released", "rejected", "rejected", "rejected", "released"]
    assert [delivered[n]["outcome"] for n in range(1, 7)] == expected
    assert [delivered[n]["settle_kind"] for n in range(1, 7)] == ["range"] * 4 + ["single"] * 2


def test_acks_out_of_order_and_below_an_earlier_multiple() -> None:
    wire = opened().consume(1)
    for tag in range(1, 6):
        wire.deliver(1, tag, b"x")
    wire.ack(1, 4).ack(1, 2).ack(1, 3, multiple=True).ack(1, 5, multiple=True)
    tables = wire.close().tables()
    assert tables.problem_codes() == {}
    assert outcomes(where(tables["transfers"], kind="deliver")) == {"accepted": 5}


def test_ack_twice_is_noted() -> None:
    wire = opened().consume(1).deliver(1, 1, b"x").ack(1, 1).ack(1, 1)
    tables = wire.close().tables()
    assert tables.problem_codes() == {"state09.unknown_tag": 1}
    assert outcomes(where(tables["transfers"], kind="deliver")) == {"accepted": 1}


@pytest.mark.parametrize("tag", [1, 9])
def test_rabbitmq_settles_nothing_up_to_a_tag_that_does_not_wait(tag: int) -> None:
    """It answers 406 PRECONDITION_FAILED, unknown delivery tag, and requeues all."""
    wire = opened().consume(1)
    for number in (1, 2, 3):
        wire.deliver(1, number, b"x")
    wire.ack(1, 1).ack(1, tag, multiple=True)
    tables = wire.close().tables()
    assert tables.problem_codes() == {"state09.unknown_tag": 1}
    assert outcomes(where(tables["transfers"], kind="deliver")) == {"accepted": 1, None: 2}


def test_another_broker_may_settle_up_to_a_tag_that_does_not_wait() -> None:
    wire = Wire09().start(product="another").open().consume(1)
    for number in (1, 2, 3):
        wire.deliver(1, number, b"x")
    tables = wire.ack(1, 2).ack(1, 2, multiple=True).close().tables()
    assert outcomes(where(tables["transfers"], kind="deliver")) == {"accepted": 2, None: 1}


def test_no_ack_consumer_takes_messages_as_settled() -> None:
    wire = opened().consume(1, no_ack=True).deliver(1, 1, b"x").deliver(1, 2, b"y")
    tables = wire.close().tables()
    rows = where(tables["transfers"], kind="deliver")
    assert kinds(rows) == {("accepted", "presettled"): 2}
    assert {row["settled_by"] for row in rows} == {"sender"}
    assert all(row["is_presettled"] for row in rows)


def test_confirms_single_multiple_and_out_of_order() -> None:
    wire = opened().publish(1, b"not numbered")
    wire.client(1, "confirm.select").server(1, "confirm.select-ok")
    for n in range(1, 8):
        wire.publish(1, b"m%d" % n)
    wire.ack(1, 2, side=SERVER).ack(1, 4, multiple=True, side=SERVER)
    wire.server(1, "basic.nack", delivery_tag=6).ack(1, 5, side=SERVER)
    tables = wire.close().tables()
    published = where(tables["transfers"], kind="publish")
    unnumbered, *numbered = sorted(published, key=lambda row: row["transfer_id"])
    assert unnumbered["delivery_id"] is None
    assert [row["delivery_id"] for row in numbered] == list(range(1, 8))
    assert [row["outcome"] for row in numbered] == [
        "accepted", "accepted", "accepted", "accepted", "accepted", "rejected", None,
    ]  # fmt: skip
    assert numbered[1]["settle_kind"] == "single"
    assert [numbered[n]["settle_kind"] for n in (0, 2, 3)] == ["range"] * 3
    assert tables["sessions"][0]["is_confirming"]


def test_confirm_select_again_goes_on_counting() -> None:
    wire = opened().client(1, "confirm.select", nowait=True).publish(1, b"a")
    wire.client(1, "confirm.select", nowait=True).publish(1, b"b").ack(1, 2, True, SERVER)
    tables = wire.close().tables()
    assert outcomes(where(tables["transfers"], kind="publish")) == {"accepted": 2}


def test_confirm_before_the_whole_body_was_seen() -> None:
    """The other side's packets may be captured first."""
    wire = opened().client(1, "confirm.select", nowait=True)
    wire.say(CLIENT, wire.make.method(1, "basic.publish", routing_key="q"), wire.make.header(1, 4))
    wire.ack(1, 1, side=SERVER).say(CLIENT, wire.make.body(1, b"late"))
    (row,) = where(wire.close().tables()["transfers"], kind="publish")
    assert (row["outcome"], row["is_complete"], row["body_bytes"]) == ("accepted", True, 4)


def test_returns_come_before_their_confirms_in_any_order() -> None:
    wire = opened().client(1, "confirm.select", nowait=True)
    for n in range(4):
        wire.publish(1, b"m%d" % n, exchange="x", key="k", mandatory=True)
    for n in (2, 0):
        method = wire.make.method(
            1, "basic.return", reply_code=312, reply_text="NO_ROUTE", exchange="x", routing_key="k"
        )
        wire.say(SERVER, method, wire.make.content(1, b"m%d" % n))
    wire.ack(1, 4, multiple=True, side=SERVER)
    tables = wire.close().tables()
    published = by_tag(tables, "publish")
    returned = where(tables["transfers"], kind="return")
    assert outcomes(list(published.values())) == {"accepted": 4}
    ids = {row["transfer_id"]: tag for tag, row in published.items()}
    assert sorted(ids[row["related_transfer_id"]] for row in returned) == [1, 3]
    assert {row["relation"] for row in returned} == {"return-of"}
    assert {(row["reply_code"], row["outcome_condition"]) for row in returned} == {
        (312, "NO_ROUTE")
    }


def test_recover_gives_back_and_the_redelivery_is_tied() -> None:
    wire = opened().consume(1).deliver(1, 1, b"a").deliver(1, 2, b"b").ack(1, 1)
    wire.client(1, "basic.recover", requeue=True).server(1, "basic.recover-ok")
    wire.deliver(1, 3, b"b", redelivered=True).ack(1, 3)
    delivered = by_tag(wire.close().tables(), "deliver")
    assert [delivered[n]["outcome"] for n in (1, 2, 3)] == ["accepted", "released", "accepted"]
    assert delivered[3]["relation"] == "redelivery-of"
    assert delivered[3]["related_transfer_id"] == delivered[2]["transfer_id"]


def test_redelivery_after_the_channel_closed() -> None:
    wire = opened(1, 2).consume(1).deliver(1, 1, b"a")
    wire.client(1, "channel.close").server(1, "channel.close-ok")
    wire.consume(2).deliver(2, 1, b"a", redelivered=True).ack(2, 1)
    rows = where(wire.close().tables()["transfers"], kind="deliver")
    assert [row["outcome"] for row in rows] == [None, "accepted"]
    assert rows[1]["related_transfer_id"] == rows[0]["transfer_id"]


def test_a_redelivery_of_something_else_is_not_tied() -> None:
    wire = opened().consume(1).deliver(1, 1, b"a")
    wire.client(1, "basic.reject", delivery_tag=1, requeue=True)
    wire.deliver(1, 2, b"other", redelivered=True)
    delivered = by_tag(wire.close().tables(), "deliver")
    assert delivered[2]["is_redelivered"]
    assert delivered[2]["relation"] is None


def test_transaction_takes_effect_at_commit() -> None:
    wire = opened().consume(1).client(1, "tx.select").server(1, "tx.select-ok")
    wire.deliver(1, 1, b"a").deliver(1, 2, b"b").publish(1, b"kept").ack(1, 1)
    wire.client(1, "tx.commit")
    # Said before the commit is answered: the next transaction's.
    wire.publish(1, b"undone").ack(1, 2).server(1, "tx.commit-ok")
    wire.client(1, "tx.rollback").server(1, "tx.rollback-ok")
    # §1.9: a rollback makes the acknowledged deliveries unacknowledged again.
    wire.ack(1, 2).publish(1, b"third").client(1, "tx.commit").server(1, "tx.commit-ok")
    wire.publish(1, b"never")
    tables = wire.close().tables()
    assert tables.problem_codes() == {}
    delivered = by_tag(tables, "deliver")
    assert [delivered[n]["outcome"] for n in (1, 2)] == ["accepted"] * 2
    assert [delivered[n]["transaction_id"] for n in (1, 2)] == ["1", "3"]
    ends = [
        row["transaction_outcome"]
        for row in sorted(
            where(tables["transfers"], kind="publish"), key=lambda r: r["transfer_id"]
        )
    ]
    assert ends == ["committed", "rolled-back", "committed", "open"]
    (session,) = tables["sessions"]
    assert (session["commit_count"], session["rollback_count"]) == (2, 1)
    # It is settled when the commit is answered, not when the ack is sent.
    assert delivered[1]["settled_ts_ns"] > delivered[1]["outcome_ts_ns"]


def test_uncommitted_acks_are_no_outcome() -> None:
    wire = opened().consume(1).client(1, "tx.select").server(1, "tx.select-ok")
    tables = wire.deliver(1, 1, b"a").ack(1, 1).close().tables()
    (row,) = where(tables["transfers"], kind="deliver")
    assert (row["outcome"], row["settled_ts_ns"], row["transaction_outcome"]) == (
        None,
        None,
        "open",
    )


def test_get_with_and_without_ack() -> None:
    wire = opened()
    for tag, no_ack in ((1, False), (2, True)):
        wire.client(1, "basic.get", queue="q", no_ack=no_ack)
        method = wire.make.method(1, "basic.get-ok", delivery_tag=tag, routing_key="q")
        wire.say(SERVER, method, wire.make.content(1, b"x"))
    wire.client(1, "basic.get", queue="empty").server(1, "basic.get-empty").ack(1, 1)
    tables = wire.close().tables()
    got = by_tag(tables, "get")
    assert (got[1]["outcome"], got[1]["settle_kind"]) == ("accepted", "single")
    assert (got[2]["outcome"], got[2]["settle_kind"]) == ("accepted", "presettled")
    assert {row["queue"] for row in got.values()} == {"q"}
    getters = where(tables["links"], kind="getter")
    assert Counter((r["queue"], r["transfer_count"]) for r in getters) == {
        ("q", 1): 2, ("empty", 0): 1,
    }  # fmt: skip


def test_a_tag_that_is_used_again() -> None:
    wire = opened().consume(1).deliver(1, 1, b"a").deliver(1, 1, b"b").ack(1, 1)
    tables = wire.close().tables()
    assert tables.problem_codes() == {"state09.tag_reused": 1}
    assert outcomes(where(tables["transfers"], kind="deliver")) == {None: 1, "accepted": 1}


def test_largest_tag() -> None:
    top = (1 << 64) - 1
    wire = opened().consume(1).deliver(1, top, b"a").ack(1, top, multiple=True)
    (row,) = where(wire.close().tables()["transfers"], kind="deliver")
    assert (row["delivery_tag"], row["outcome"]) == (str(top), "accepted")


def test_an_ack_in_a_transaction_is_stated_before_it_settles() -> None:
    wire = opened().client(1, "tx.select").server(1, "tx.select-ok").consume(1)
    wire.deliver(1, 1, b"x").ack(1, 1).client(1, "tx.commit").server(1, "tx.commit-ok")
    tables = wire.close().tables()
    (row,) = where(tables["transfers"], kind="deliver")
    when = {frame["name"]: frame["ts_ns"] for frame in tables["frames"]}
    assert row["outcome_ts_ns"] == when["basic.ack"]
    assert row["settled_ts_ns"] == when["tx.commit-ok"]
