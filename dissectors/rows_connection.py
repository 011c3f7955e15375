"""The row of a finished connection: what TCP, detection and the decoder know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dissectors.flow import Flow


def connection_row(flow: Flow, how: str) -> dict[str, Any]:
    """Columns by name; the decoder's facts come last and win."""
    talk, conn = flow.conversation, flow.conn
    # A decoder may find in the middle that the sides are the other way round.
    is_turned = conn.facts.get("client", conn.client) != conn.client
    swap = flow.swap ^ is_turned
    client_half = talk.half_1 if swap else talk.half_0
    server_half = talk.half_0 if swap else talk.half_1
    halves = (client_half, server_half)
    row: dict[str, Any] = {
        "connection_id": conn.connection_id,
        "capture": flow.capture,
        "client": conn.client,
        "server": conn.server,
        "client_known_by": flow.client_known_by,
        "transport": "tls" if flow.verdict.dialect == "tls" else "tcp",
        "dialect": flow.verdict.dialect,
        "dialect_confidence": flow.verdict.confidence,
        "dialect_known_by": flow.verdict.known_by,
        "first_ts_ns": talk.first_ts_ns,
        "last_ts_ns": talk.last_ts_ns,
        "first_packet_no": talk.first_packet_no,
        "last_packet_no": talk.last_packet_no,
        "bytes_c2s": client_half.delivered,
        "bytes_s2c": server_half.delivered,
        "decoded_bytes": conn.decoded_bytes,
        "skipped_bytes": conn.skipped_bytes,
        "missing_bytes": conn.missing_bytes,
        "leftover_bytes": conn.leftover_bytes,
        "frame_count": conn.frame_no,
        "tcp_end": how,
        "reset_by": _side(talk.reset_by, swap),
        "handshake_rtt_ns": talk.handshake_rtt_ns if talk.handshake_rtt_ns >= 0 else None,
        "retransmit_count": sum(h.retransmit_count for h in halves),
        "retransmit_bytes": sum(h.retransmit_bytes for h in halves),
        "out_of_order_count": sum(h.out_of_order_count for h in halves),
        "keepalive_count": sum(h.keepalive_count for h in halves),
        "zero_window_count": sum(h.zero_window_count for h in halves),
        "zero_window_ns": sum(h.zero_window_ns for h in halves),
        "reset_count": talk.reset_count,
        "gap_count": talk.gap_count,
        "close_reason": _tcp_reason(how, _side(talk.reset_by, swap)),
    }
    if talk.rtt_count:
        row["rtt_min_ns"] = talk.rtt_min_ns
        row["rtt_mean_ns"] = talk.rtt_total_ns // talk.rtt_count
        row["rtt_max_ns"] = talk.rtt_max_ns
    row.update(conn.facts)
    return row


def _side(raw: int, swap: int) -> str | None:
    return None if raw < 0 else ("client", "server")[raw ^ swap]


def _tcp_reason(how: str, reset_by: str | None) -> str | None:
    """Why it ended when AMQP did not say."""
    if how == "rst":
        return f"TCP reset by {reset_by}"
    return {"fin": "TCP closed without an AMQP close", "reused": "port reused"}.get(how)
