"""What a manifest's words mean in our tables: one function per word of `truth`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.live.counting import where
from tests.tables import Rows, Tables

Measure = Callable[[Tables], Any]


def transfers(*kinds: str, **wanted: Any) -> Callable[[Tables], Rows]:
    def select(tables: Tables) -> Rows:
        return [row for row in where(tables["transfers"], **wanted) if row["kind"] in kinds]

    return select


def count(rows: Callable[[Tables], Rows]) -> Measure:
    return lambda tables: len(rows(tables))


def frames(*names: str, **wanted: Any) -> Callable[[Tables], Rows]:
    return lambda tables: [r for r in where(tables["frames"], **wanted) if r["name"] in names]


def settled_by_frame(name: str, requeue: bool) -> Measure:
    """Deliveries settled by frames of that name and requeue bit."""
    bit = f'"requeue":{str(requeue).lower()}'
    return lambda tables: sum(bit in row["fields"] for row in frames(name, direction="c2s")(tables))


def acknowledged(*kinds: str) -> Measure:
    """Accepted by the receiver's own act."""
    return count(transfers(*kinds, outcome="accepted", settled_by="receiver"))


def confirmed(outcome: str) -> Measure:
    return count(transfers("publish", outcome=outcome, settled_by="receiver"))


def sizes(tables: Tables) -> list[int]:
    rows = sorted(transfers("publish")(tables), key=lambda r: (r["first_ts_ns"], r["transfer_id"]))
    return [row["body_bytes"] for row in rows]


def body_frames(direction: str) -> Measure:
    return count(frames("body", direction=direction))


def max_unacknowledged(tables: Tables) -> int:
    """Most deliveries that were unsettled at the same time, by their own times."""
    steps = []
    for row in transfers("deliver", "get", is_presettled=False)(tables):
        steps.append((row["first_ts_ns"], 1))
        if row["settled_ts_ns"] is not None:
            steps.append((row["settled_ts_ns"], -1))
    level = highest = 0
    for _, step in sorted(steps):
        level += step
        highest = max(highest, level)
    return highest


def published_per_connection(tables: Tables) -> list[int]:
    ids = [
        c["connection_id"] for c in sorted(tables["connections"], key=lambda c: c["first_ts_ns"])
    ]
    counts = Counter(row["connection_id"] for row in transfers("publish")(tables))
    return [counts[i] for i in ids]


def close_codes(tables: Tables) -> list[int | None]:
    rows = sorted(tables["connections"], key=lambda row: row["first_ts_ns"])
    return [row["close_code"] for row in rows]


def unacknowledged_at_end(tables: Tables) -> int:
    """On the connections that are still open then."""
    alive = {row["connection_id"] for row in where(tables["connections"], tcp_end="open")}
    rows = transfers("deliver", "get", outcome=None)(tables)
    return sum(row["connection_id"] in alive for row in rows)


def only(values: set[Any]) -> Any:
    (value,) = values
    return value


def prefetch(tables: Tables) -> int:
    """The limit that consumers began with, for those that have one."""
    consumers = where(tables["links"], kind="consumer")
    return only({row["prefetch_count"] for row in consumers} - {None})


def queues(tables: Tables) -> list[str]:
    """Queues consumed from, in the order of their numbers."""
    names = {row["queue"] for row in where(tables["links"], kind="consumer")}
    return sorted(names, key=lambda name: int(name.rpartition(".")[2]))


def published_and_received_queue(tables: Tables) -> str:
    """The one queue that messages came from (or, where none came, went to)."""
    rows = transfers("deliver", "get")(tables) or transfers("publish")(tables)
    return only({row["queue"] for row in rows})


def all_tied(tables: Tables, relation: str, kind: str) -> bool:
    """Whether each transfer with this relation names an earlier one of the other kind."""
    by_id = {(r["connection_id"], r["transfer_id"]): r for r in tables["transfers"]}
    tied = where(tables["transfers"], relation=relation)
    return all(
        by_id[row["connection_id"], row["related_transfer_id"]]["kind"] == kind for row in tied
    )


MEASURES: dict[str, Measure] = {
    "connections": lambda t: len(t["connections"]),
    "channels": lambda t: len(t["sessions"]),
    "queue": published_and_received_queue,
    "queues": queues,
    "exchange": lambda t: only({row["exchange"] for row in transfers("publish")(t)}),
    "published": count(transfers("publish")),
    "published_in_capture": count(transfers("publish")),
    "published_per_connection": published_per_connection,
    "confirms_received": confirmed("accepted"),
    "confirms_in_capture": confirmed("accepted"),
    "broker_confirms": confirmed("accepted"),
    "broker_nacks": confirmed("rejected"),
    "returned": count(transfers("return")),
    "return_reply_code": lambda t: only({row["reply_code"] for row in transfers("return")(t)}),
    "delivered": count(transfers("deliver")),
    "delivered_by_consume": count(transfers("deliver")),
    "delivers_in_capture": count(transfers("deliver")),
    "redelivered": count(transfers("deliver", is_redelivered=True)),
    "acked": acknowledged("deliver", "get"),
    "acked_consume": acknowledged("deliver"),
    "acked_in_capture": lambda t: (
        acknowledged("deliver", "get")(t) + t.problem_codes()["state09.unknown_tag"]
    ),
    "acked_whose_deliver_precedes_capture": lambda t: t.problem_codes()["state09.unknown_tag"],
    "ack_frames": count(frames("basic.ack", direction="c2s")),
    "ack_multiple": lambda t: only({r["is_multiple"] for r in frames("basic.ack")(t)}),
    "nack_requeue": settled_by_frame("basic.nack", True),
    "nack_discard": settled_by_frame("basic.nack", False),
    "reject_requeue": settled_by_frame("basic.reject", True),
    "reject_discard": settled_by_frame("basic.reject", False),
    "recovered": lambda t: sum(
        row["settled_packet_no"] == frames("basic.recover")(t)[0]["packet_no"]
        for row in transfers("deliver", "get", outcome="released")(t)
    ),
    "get_ok": count(transfers("get")),
    "get_empty": count(frames("basic.get-empty")),
    "get_acked": acknowledged("get"),
    "get_auto_ack": count(transfers("get", is_presettled=True, outcome="accepted")),
    "channel_closes_by_broker": lambda t: len(where(t["sessions"], end_initiator="server")),
    "reply_codes": lambda t: [
        row["end_code"]
        for row in sorted(
            where(t["sessions"], end_initiator="server"), key=lambda r: r["end_ts_ns"]
        )
    ],
    "connection_close_codes_in_order": close_codes,
    "connection_closes": lambda t: len([c for c in t["connections"] if c["closed_ts_ns"]]),
    "frame_max": lambda t: only({row["frame_max"] for row in t["connections"]}),
    "body_frames_client_to_broker": body_frames("c2s"),
    "body_frames_broker_to_client": body_frames("s2c"),
    "body_sizes": sizes,
    "total_body_bytes": lambda t: sum(row["body_bytes"] for row in t["transfers"]),
    "body_size": lambda t: only({row["body_bytes"] for row in t["transfers"]}),
    "prefetch_count": prefetch,
    "prefetch_count_of_killed": prefetch,
    "max_unacked": max_unacknowledged,
    "heartbeat_seconds": lambda t: only({c["heartbeat_ms"] for c in t["connections"]}) // 1000,
    "published_committed": count(transfers("publish", transaction_outcome="committed")),
    "published_rolled_back": count(transfers("publish", transaction_outcome="rolled-back")),
    "acked_committed": count(transfers("deliver", transaction_outcome="committed")),
    "ack_rolled_back": count(transfers("deliver", outcome=None)),
    "tx_commits": lambda t: sum(row["commit_count"] for row in t["sessions"]),
    "tx_rollbacks": lambda t: sum(row["rollback_count"] for row in t["sessions"]),
    "queue_depth_at_end": lambda t: (
        count(transfers("publish", transaction_outcome="committed"))(t)
        - acknowledged("deliver", "get")(t)
    ),
    "consumer_cancelled_by_broker": lambda t: len(
        where(t["links"], end_kind="cancelled", end_initiator="server")
    ),
    "connections_reset_by_client": lambda t: len(where(t["connections"], reset_by="client")),
    "tcp_server_port": lambda t: int(only({c["server"] for c in t["connections"]}).split(":")[-1]),
    "client_port": lambda t: int(only({c["client"] for c in t["connections"]}).split(":")[-1]),
    "unacked_at_capture_end": unacknowledged_at_end,
    "queue_purged_messages": lambda t: int(
        only({row["fields"] for row in frames("queue.purge-ok")(t)}).split(":")[1].rstrip("}")
    ),
    "handmade_header_keys": lambda t: max(len(_headers(row)) for row in transfers("deliver")(t)),
    "dead_lettered": lambda t: len([r for r in transfers("get")(t) if "x-death" in _headers(r)]),
    "x_death_reasons": lambda t: [
        _headers(r)["x-death"][0]["reason"] for r in transfers("get")(t) if "x-death" in _headers(r)
    ],
}


def _headers(row: dict[str, Any]) -> dict[str, Any]:
    return json.loads(row["properties"] or "{}").get("headers", {})


# Words about how the capture was made, or that other tests look at.
NOT_ABOUT_MESSAGES = frozenset(
    {
        "note",
        "client_view",
        "consumer_ms_per_message",
        "sizes",
        "idle_seconds",
        "dns_queries",
        "other_tcp_connections",
        "address_family",
        "keylog",
        "vlan",
        "mtu",
        "max_length",
        "resets",
        "delivered_headers_as_pika_decodes",
        "messages_before_capture",
        "derived_from",
        "duplicated",
        "swapped_pairs",
        "partial_overlaps",
        "delivered_to_killed",
        "delivered_to_second",
    }
)
