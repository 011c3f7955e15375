"""The basic class, and what the file and stream classes share with it (0-9-1 §1.8).

Publish, deliver, get-ok, ack, nack and reject come here only when the compiled path leaves them:
because something about them is odd, or because they belong to another class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..channel import Channel
from ..codes import ACCEPTED, REJECTED, RELEASED, RETURN
from ..effects import Effect
from ..memory import UnplacedConfirms
from ..methods import DecodedMethod
from ..transfers import Link
from .shape import Handler, Head, answered, queue_named, wait

if TYPE_CHECKING:
    from ..state import ConnectionState

CONSUME = "consume"
GET = "get"


# -- consumers ----------------------------------------------------------------------------


def consume(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    # 0-9's message class calls the tag a destination; stream consumers have no acknowledgements.
    tag = decoded.get("consumer-tag") or decoded.get("destination") or None
    queue = queue_named(channel, decoded["queue"])
    link = state.new_link(
        channel,
        "consumer",
        {
            "name": tag,
            "queue": queue,
            "address": queue,
            "role": "receiver",
            "is_no_ack": decoded.get("no-ack", decoded.method.class_name == "stream"),
            "is_exclusive": decoded["exclusive"],
            "is_dynamic": queue in state.server_named if queue is not None else None,
            "prefetch_count": state.prefetch_of(channel),
            "details": state.arguments_of(decoded),
        },
    )
    link.is_no_ack = link.row["is_no_ack"]
    link.prefetch = channel.consumer_prefetch
    if tag is not None:
        channel.consumers[tag] = link
    if not decoded.get("nowait"):
        wait(channel, CONSUME, link)
    return Effect(link=link)


def _consume_ok(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    tag = decoded["consumer-tag"]
    waiting: list[Link] = channel.pending.get(CONSUME, [])
    # After a gap the oldest request may not be the one that is answered.
    link = next((link for link in waiting if link.row["name"] == tag), None) or next(
        (link for link in waiting if link.row["name"] is None), None
    )
    if link is None:
        link = channel.consumers.get(tag) or state.infer_consumer(channel, tag, state.dec)
    else:
        waiting.remove(link)
    link.row["name"] = tag
    link.row["established_ts_ns"] = state.dec.ts_ns
    channel.consumers[tag] = link
    return Effect(link=link)


def cancel(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect | None:
    """Both sides may cancel; a client that does not wait may still get what was on its way."""
    tag = decoded.get("consumer-tag") or decoded.get("destination")
    link = channel.consumers.get(tag)
    if link is None:
        return None
    link.row.update(
        end_ts_ns=state.dec.ts_ns, end_kind="cancelled", end_initiator=state.side_name(side)
    )
    if side != state.client_side:
        _end_consumer(state, channel, tag, link)
    return Effect(link=link)


def _cancel_ok(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect | None:
    tag = decoded["consumer-tag"]
    link = channel.consumers.get(tag)
    if link is None or side == state.client_side:
        return None
    _end_consumer(state, channel, tag, link)
    return Effect(link=link)


def _end_consumer(state: ConnectionState, channel: Channel, tag: str, link: Link) -> None:
    """The server sends nothing more to it; its messages may be settled later."""
    del channel.consumers[tag]
    if link in channel.links:  # else it was forgotten, because there were too many
        channel.links.remove(link)
    state.end_link(link, {"end_ts_ns": state.dec.ts_ns, "end_kind": "cancelled"})


def qos(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    state.set_prefetch(
        channel, side, decoded["prefetch-count"], decoded["prefetch-size"], decoded["global"]
    )


def _credit(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    """RabbitMQ's credit extension."""
    link = channel.consumers.get(decoded["consumer-tag"])
    state.credit(
        "credit", side, channel, link, link_credit=decoded["credit"], is_drain=decoded["drain"]
    )
    return Effect(link=link)


# -- messages -----------------------------------------------------------------------------


def _publish(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    may_return = bool(decoded["mandatory"] or decoded["immediate"])
    transfer = channel.publish(
        side, decoded["exchange"], decoded["routing-key"], may_return, state.dec
    )
    transfer.class_id = decoded.method.class_id
    return Effect(transfer=transfer)


def _deliver(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    # A stream's delivery names its queue instead of the key.
    transfer = channel.deliver(
        side,
        decoded["delivery-tag"],
        decoded.get("redelivered", False),
        decoded["consumer-tag"],
        decoded["exchange"],
        decoded.get("routing-key"),
        state.dec,
    )
    transfer.class_id = decoded.method.class_id
    transfer.has_redelivered = "redelivered" in decoded.fields.as_dict()
    transfer.queue = decoded.get("queue") or transfer.queue
    return Effect(transfer=transfer)


def _return(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    """An unroutable message comes back; it is tied to its publish once its body is here."""
    transfer = channel.begin(side, RETURN, None, state.dec)
    transfer.class_id = decoded.method.class_id
    transfer.exchange = decoded["exchange"]
    transfer.routing_key = decoded["routing-key"]
    transfer.reply_code = decoded["reply-code"]
    transfer.has_reply_code = True
    transfer.condition = decoded["reply-text"]
    return Effect(transfer=transfer)


def _get(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    queue = queue_named(channel, decoded["queue"])
    is_no_ack = decoded["no-ack"]
    wait(channel, GET, (queue, is_no_ack))
    return Effect(link=state.getter(channel, queue, is_no_ack))


def _get_ok(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    transfer = state.get_ok(
        channel,
        side,
        decoded["delivery-tag"],
        decoded["redelivered"],
        decoded["exchange"],
        decoded["routing-key"],
    )
    return Effect(transfer=transfer)


def _get_empty(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect | None:
    asked = answered(channel, GET)
    return Effect(link=state.getter(channel, *asked)) if asked else None


# -- settlement ---------------------------------------------------------------------------


def _settle(outcome_without_requeue: int) -> Handler:
    def handle(
        state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
    ) -> Effect:
        tag, is_multiple = decoded["delivery-tag"], decoded.get("multiple", False)
        outcome = outcome_without_requeue
        if side == state.client_side:
            outcome = RELEASED if decoded.get("requeue") else outcome
            transfer = channel.settle(side, tag, is_multiple, outcome, state.dec)
        else:
            transfer = channel.confirm(side, tag, is_multiple, outcome, state.dec)
        return Effect(transfer=transfer, outcome=outcome)

    return handle


def recover(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    channel.recover(state.dec)
    return Effect(outcome=RELEASED)


def _confirm_select(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    """Publishes are numbered from here on, whether or not the client waits for the answer."""
    if channel.is_confirming and channel.unplaced is None:
        return  # selecting again starts no new count
    channel.place_confirms(state.dec)
    channel.unplaced = None
    channel.is_confirming = True
    channel.publish_no = 0
    channel.unconfirmed_low = 1


def _confirm_select_ok(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    """Its request was not seen, so how many publishes came since is not known."""
    if not channel.is_confirming:
        channel.is_confirming = True
        channel.unplaced = channel.unplaced or UnplacedConfirms()


HANDLERS: dict[str, Handler] = {
    "basic.consume": consume,
    "basic.consume-ok": _consume_ok,
    "basic.cancel": cancel,
    "basic.cancel-ok": _cancel_ok,
    "basic.qos": qos,
    "basic.credit": _credit,
    "basic.publish": _publish,
    "basic.deliver": _deliver,
    "basic.return": _return,
    "basic.get": _get,
    "basic.get-ok": _get_ok,
    "basic.get-empty": _get_empty,
    "basic.ack": _settle(ACCEPTED),
    "basic.nack": _settle(REJECTED),
    "basic.reject": _settle(REJECTED),
    "basic.recover": recover,
    "basic.recover-async": recover,
    "basic.recover-sync": recover,
    "confirm.select": _confirm_select,
    "confirm.select-ok": _confirm_select_ok,
    "file.consume": consume,
    "file.consume-ok": _consume_ok,
    "file.cancel": cancel,
    "file.cancel-ok": _cancel_ok,
    "file.qos": qos,
    "file.return": _return,
    "file.ack": _settle(ACCEPTED),
    "file.reject": _settle(REJECTED),
    "stream.consume": consume,
    "stream.consume-ok": _consume_ok,
    "stream.cancel": cancel,
    "stream.cancel-ok": _cancel_ok,
    "stream.qos": qos,
    "stream.publish": _publish,
    "stream.return": _return,
    "stream.deliver": _deliver,
}
