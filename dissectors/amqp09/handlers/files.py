"""The file class: a content is staged first and published or delivered by its identifier after
(0-9, "Work with file content"), and the contents of the tunnel and test classes.

    file.open identifier → file.open-ok → file.stage + content → file.publish identifier
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..channel import Channel
from ..codes import DELIVER, PUBLISH, TRANSFER
from ..effects import Effect
from ..methods import DecodedMethod
from ..transfers import Transfer
from .shape import MAX_PENDING, Handler, Head, wait

if TYPE_CHECKING:
    from ..state import ConnectionState

OPENED = ("staging-client", "staging-server")


def _is_client(state: ConnectionState, side: int) -> bool:
    return side == state.client_side


def _open(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    """Contents are staged in the order in which they were opened."""
    wait(channel, OPENED[side], decoded["identifier"])


def _stage(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    kind = PUBLISH if _is_client(state, side) else DELIVER
    transfer = channel.begin(side, kind, None, state.dec)
    transfer.class_id = decoded.method.class_id
    opened = channel.pending.get(OPENED[side])
    if opened:
        # Held until the publish or deliver that says where it goes.
        channel.hold(transfer)
        channel.staged[side, opened.pop(0)] = transfer
        if len(channel.staged) > MAX_PENDING:
            channel.release(channel.staged.pop(next(iter(channel.staged))))
    return Effect(transfer=transfer)


def _staged(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod
) -> Transfer | None:
    identifier = decoded["identifier"]
    transfer = channel.staged.pop((side, identifier), None)
    if transfer is None:
        state.problem("state09.not_staged", f"nothing was staged as {identifier!r}", side)
    else:
        transfer.frame_count += 1
        transfer.last_ts, transfer.last_packet = state.dec.ts_ns, state.dec.packet_no
    return transfer


def _publish(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect | None:
    transfer = _staged(state, channel, side, decoded)
    if transfer is None:
        return None
    exchange = decoded["exchange"]
    link = channel.publishers.get(exchange) or state.new_publisher(channel, exchange, state.dec)
    state.address(transfer, link, exchange, decoded["routing-key"])
    if channel.transaction is not None:
        channel.held.pop(transfer.transfer_id, None)
        state.add_to_transaction(channel, transfer, state.dec)
    else:
        channel.release(transfer)
    return Effect(transfer=transfer)


def _deliver(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect | None:
    transfer = _staged(state, channel, side, decoded)
    if transfer is None:
        return None
    tag = decoded["consumer-tag"]
    link = channel.consumers.get(tag) or state.infer_consumer(channel, tag, state.dec)
    state.address(transfer, link, decoded["exchange"], decoded["routing-key"])
    transfer.queue = link.queue
    transfer.tag, transfer.has_tag = decoded["delivery-tag"], True
    transfer.is_redelivered, transfer.has_redelivered = decoded["redelivered"], True
    if link.is_no_ack:
        channel.presettle(transfer)
        channel.release(transfer)
    else:
        channel.consumer_unsettled += 1
        channel.held.pop(transfer.transfer_id, None)
        channel.expect_settlement(transfer, state.dec)
    return Effect(transfer=transfer)


def _content(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    """A content that is neither published nor delivered: tunnel.request, test.content."""
    transfer = channel.begin(side, TRANSFER, None, state.dec)
    transfer.class_id = decoded.method.class_id
    return Effect(transfer=transfer)


HANDLERS: dict[str, Handler] = {
    "file.open": _open,
    "file.stage": _stage,
    "file.publish": _publish,
    "file.deliver": _deliver,
    "tunnel.request": _content,
    "test.content": _content,
    "test.content-ok": _content,
}
