"""Small scenes, one connection or two each, whose metrics a person can work out on paper."""

from __future__ import annotations

from tests.spark_etl.metrics.book import Book


def starved(book: Book) -> None:
    """1.0 sender: 2 credits at 10 ms, used at 20 and 30, 2 more at 130, one used at once."""
    book.connection("starved", "1.0", 300)
    book.link("starved", 1, 200, kind="link", role="sender", address="q")
    book.credit("starved", 0, 1, "c2s", "attach", link_id=1, sender_credit=0)
    book.credit("starved", 10, 3, "s2c", "flow", link_id=1, granted=2, sender_credit=2)
    for number, at, packet in ((1, 20, 4), (2, 30, 5)):
        book.message("starved", number, at, packet, "c2s", "transfer", (40, 6, "range"),
                     "transfer", delivery_id=number, settled_by="receiver")  # fmt: skip
    book.credit("starved", 30, 5, "c2s", "credit-exhausted", link_id=1, sender_credit=0)
    book.frame("starved", 40, 6, "s2c", "disposition", session_id=1, link_id=1, is_settled=True,
               outcome="accepted", frame_type="amqp", delivery_id=1, delivery_last=2)  # fmt: skip
    book.credit("starved", 130, 7, "s2c", "flow", link_id=1, granted=2, sender_credit=2)
    book.message("starved", 3, 131, 8, "c2s", "transfer", None, "transfer")


def idle(book: Book) -> None:
    """Credit runs out at 10 ms, comes back at 500, but the sender has nothing until 900."""
    book.connection("idle", "1.0", 1000)
    book.link("idle", 1, 1000, kind="link", role="sender", address="q")
    book.credit("idle", 5, 1, "s2c", "flow", link_id=1, granted=1, sender_credit=1)
    book.message("idle", 1, 10, 2, "c2s", "transfer", (11, 3, "single"), "transfer")
    book.credit("idle", 500, 4, "s2c", "flow", link_id=1, granted=1, sender_credit=1)
    book.message("idle", 2, 900, 5, "c2s", "transfer", (901, 6, "single"), "transfer")


def hoarding(book: Book) -> None:
    """As idle, but the sender says at 50 ms that it has 7 messages waiting."""
    book.connection("hoarding", "1.0", 1000)
    book.link("hoarding", 1, 1000, kind="link", role="sender", address="hoard")
    book.credit("hoarding", 5, 1, "s2c", "flow", link_id=1, granted=1, sender_credit=1)
    book.message("hoarding", 1, 10, 2, "c2s", "transfer", (11, 3, "single"), "transfer")
    book.credit("hoarding", 50, 4, "c2s", "flow", link_id=1, sender_credit=0, available=7)
    book.credit("hoarding", 500, 5, "s2c", "flow", link_id=1, granted=1, sender_credit=1)
    book.message("hoarding", 2, 900, 6, "c2s", "transfer", (901, 7, "single"), "transfer")


def drained(book: Book) -> None:
    """1.0 receiver asks to drain 5 at 10 ms; one message at 12, 4 given up at 15."""
    book.connection("drained", "1.0", 100)
    book.link("drained", 1, 100, kind="link", role="receiver", address="q")
    book.credit("drained", 10, 2, "c2s", "flow", link_id=1, granted=5, sender_credit=5,
                is_drain=True)  # fmt: skip
    book.message("drained", 1, 12, 3, "s2c", "transfer", None, "transfer", is_presettled=True,
                 settle_kind="presettled", outcome="accepted")  # fmt: skip
    book.credit("drained", 15, 4, "s2c", "flow", link_id=1, granted=-4, sender_credit=0,
                is_drain=True)  # fmt: skip


def windowed(book: Book) -> None:
    """Credit 10, session window 2: used up at 6 ms, opened at 106."""
    book.connection("windowed", "1.0", 200)
    book.link("windowed", 1, 200, kind="link", role="receiver", address="q")
    book.credit("windowed", 0, 1, "c2s", "begin", client_incoming_window=2)
    book.credit("windowed", 1, 2, "c2s", "flow", link_id=1, granted=10, sender_credit=10,
                client_incoming_window=2)  # fmt: skip
    book.message("windowed", 1, 5, 3, "s2c", "transfer", None, "transfer")
    book.message("windowed", 2, 6, 4, "s2c", "transfer", None, "transfer")
    book.credit("windowed", 6, 4, "s2c", "window-exhausted", client_incoming_window=0)
    book.credit("windowed", 106, 5, "c2s", "flow", link_id=1, granted=0, sender_credit=8,
                client_incoming_window=2)  # fmt: skip
    book.message("windowed", 3, 107, 6, "s2c", "transfer", None, "transfer")


def saturated(book: Book) -> None:
    """0-9 consumer, prefetch 2: full at 11 ms, both acked by one frame at 61, a third at 62."""
    book.connection("saturated", "0-9-1", 100)
    book.link("saturated", 1, 100, kind="consumer", role="receiver", address="q", queue="q",
              prefetch_count=2, is_no_ack=False)  # fmt: skip
    for tag, at, packet in ((1, 10, 2), (2, 11, 3)):
        book.message("saturated", tag, at, packet, "s2c", "deliver", (61, 4, "range"),
                     "basic.deliver", delivery_id=tag, settled_by="receiver")  # fmt: skip
    book.credit("saturated", 11, 3, "s2c", "credit-exhausted", link_id=1, prefetch_count=2,
                sender_credit=0, unsettled_count=2)  # fmt: skip
    book.frame("saturated", 61, 4, "c2s", "basic.ack", session_id=1, link_id=1, outcome="accepted",
               delivery_id=2, is_multiple=True)  # fmt: skip
    book.message("saturated", 3, 62, 5, "s2c", "deliver", None, "basic.deliver", delivery_id=3)


def stopped(book: Book) -> None:
    """0-9 publisher: blocked 10-510 ms, channel.flow off 600-700, TCP window shut 800-850."""
    book.connection("stopped", "0-9-1", 1000)
    book.link("stopped", 1, 1000, kind="publisher", role="sender", address="x", exchange="x")
    book.credit("stopped", 10, 2, "s2c", "blocked", session_id=None, reason="low on disk",
                is_active=False)  # fmt: skip
    book.credit("stopped", 510, 3, "s2c", "unblocked", session_id=None, is_active=True)
    book.message("stopped", 1, 511, 4, "c2s", "publish", None, "basic.publish")
    book.credit("stopped", 600, 5, "s2c", "channel-flow", is_active=False)
    book.credit("stopped", 700, 6, "s2c", "channel-flow", is_active=True)
    book.credit("stopped", 800, 7, "s2c", "tcp-zero-window", session_id=None, is_active=False)
    book.credit("stopped", 850, 8, "s2c", "tcp-window-open", session_id=None, is_active=True)


def silent(book: Book) -> None:
    """A confirm after 2 s, a declare-ok after 1.5 s, an ack after 3 s."""
    book.connection("silent", "0-9-1", 5000)
    book.link("silent", 1, 5000, kind="publisher", role="sender", address="x", exchange="x")
    book.link("silent", 2, 5000, kind="consumer", role="receiver", address="q", queue="q")
    book.message("silent", 1, 0, 1, "c2s", "publish", (2000, 4, "single"), "basic.publish",
                 delivery_id=1)  # fmt: skip
    book.frame("silent", 100, 2, "c2s", "queue.declare", session_id=1, channel=1)
    book.frame("silent", 1600, 3, "s2c", "queue.declare-ok", session_id=1, channel=1)
    book.message("silent", 2, 100, 5, "s2c", "deliver", (3100, 6, "single"), "basic.deliver",
                 delivery_id=1, link_id=2)  # fmt: skip


def travelled(book: Book) -> None:
    """Over 0-9 into q9, out by 1.0; "a" is delivered twice and passed on to q10 from there."""
    book.connection("from", "0-9-1", 1000)
    book.connection("mid", "1.0", 1000)
    book.connection("to", "0-9-1", 1000)
    book.link("from", 1, 1000, kind="publisher", role="sender", address="")
    book.link("mid", 1, 1000, kind="link", role="receiver", address="/queue/q9")
    book.link("mid", 2, 1000, kind="link", role="sender", address="/queue/q10")
    book.link("to", 1, 1000, kind="consumer", role="receiver", address="q10", queue="q10")
    to_q9 = {"exchange": "", "routing_key": "q9", "address": "q9"}
    book.message("from", 1, 10, 1, "c2s", "publish", message_id="a", body_hash="aa", **to_q9)
    book.message("from", 2, 20, 2, "c2s", "publish", body_hash="bb", **to_q9)
    book.message("from", 3, 30, 3, "c2s", "publish", body_hash="bb", **to_q9)
    book.message("from", 4, 40, 4, "c2s", "publish", (41, 5, "single"), body_hash="cc",
                 delivery_id=1, **to_q9)  # fmt: skip
    book.rows["transfers"][-1]["outcome"] = "rejected"
    at_q9 = {"address": "/queue/q9"}
    book.message("mid", 1, 110, 10, "s2c", "transfer", message_id="a", body_hash="aa", **at_q9)
    book.message("mid", 2, 120, 11, "s2c", "transfer", body_hash="bb", **at_q9)
    book.message("mid", 3, 130, 12, "s2c", "transfer", body_hash="bb", **at_q9)
    book.message("mid", 4, 150, 13, "s2c", "transfer", (160, 14, "single"), message_id="a",
                 body_hash="aa", **at_q9)  # fmt: skip
    book.message("mid", 5, 200, 15, "c2s", "transfer", message_id="a", body_hash="aa", link_id=2,
                 address="/queue/q10")  # fmt: skip
    book.message("to", 1, 250, 20, "s2c", "deliver", message_id="a", body_hash="aa", exchange="",
                 routing_key="q10", queue="q10", address="q10")  # fmt: skip


def asked(book: Book) -> None:
    """Opened in phases, heartbeats 2 s apart, one request answered after 30 ms by correlation."""
    book.connection("asked", "0-9-1", 9000, handshake_rtt_ns=1_000_000, opened_ts_ns=20_000_000,
                    rtt_min_ns=1, rtt_mean_ns=3, rtt_max_ns=9)  # fmt: skip
    for at, packet, direction, name in (
        (2, 1, "c2s", "protocol-header"), (5, 2, "s2c", "connection.start"),
        (6, 3, "c2s", "connection.start-ok"), (10, 4, "s2c", "connection.tune"),
        (12, 5, "c2s", "connection.open"), (20, 6, "s2c", "connection.open-ok"),
        (3000, 7, "c2s", "heartbeat"), (5000, 8, "c2s", "heartbeat"), (7500, 9, "c2s", "heartbeat"),
    ):  # fmt: skip
        book.frame("asked", at, packet, direction, name, channel=0)
    book.link("asked", 1, 9000, kind="publisher", role="sender", address="rpc")
    book.link("asked", 2, 9000, kind="consumer", role="receiver", address="back", is_no_ack=True)
    book.message("asked", 1, 100, 10, "c2s", "publish", reply_to="back", correlation_id="7")
    book.message("asked", 2, 130, 11, "s2c", "deliver", correlation_id="7", link_id=2,
                 is_presettled=True)  # fmt: skip


def pipelined(book: Book) -> None:
    """Two declares before the first answer; a reply whose request was not captured; a no-wait."""
    book.connection("pipelined", "0-9-1", 100)
    for at, packet, direction, name, fields in (
        (1, 1, "s2c", "queue.declare-ok", None),
        (10, 2, "c2s", "queue.declare", None),
        (11, 3, "c2s", "queue.declare", '{"nowait":true}'),
        (12, 4, "c2s", "queue.declare", None),
        (15, 5, "s2c", "queue.declare-ok", None),
        (19, 6, "s2c", "queue.declare-ok", None),
    ):
        book.frame("pipelined", at, packet, direction, name, channel=1, session_id=1, fields=fields)


SCENES = (
    starved, idle, hoarding, drained, windowed, saturated, stopped, silent, travelled,
    asked, pipelined,
)  # fmt: skip
