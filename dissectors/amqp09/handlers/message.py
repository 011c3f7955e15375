"""0-9's message class: a transfer carries its properties and its body as arguments (seed text
"The message class"; work in progress in the published 0-9).

A body is inline, or a reference whose octets message.append brings between open and close.
Transfers are answered by message.ok or message.reject: by request number where the method came in
a request frame, else in the order in which they were sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..channel import Channel
from ..codes import ACCEPTED, DELIVER, GET, PUBLISH, REJECTED
from ..effects import Effect
from ..field_tables import FieldTable
from ..methods import DecodedMethod
from ..properties import Properties, sort_properties
from ..transfers import MAX_PAYLOAD_BYTES, Link, Transfer
from . import basic
from .shape import Handler, Head, answered, queue_named, wait

if TYPE_CHECKING:
    from ..state import ConnectionState

# Requests of each side that wait for an ok, a reject, an offset or an empty.
SENT = ("sent-0", "sent-1")
GETS = "message-get"
MAX_REFERENCES = 1024


@dataclass(slots=True)
class Reference:
    """A body that grows by message.append."""

    octets: bytearray = field(default_factory=bytearray)
    size: int = 0
    transfers: list[Transfer] = field(default_factory=list)

    def append(self, octets: bytes) -> None:
        self.size += len(octets)
        if len(self.octets) + len(octets) <= MAX_PAYLOAD_BYTES:
            self.octets += octets


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that an ok or a reject will answer; other requests than transfers count too."""

    request_id: int | None
    transfer: Transfer | None


def _expect_answer(channel: Channel, side: int, head: Head, transfer: Transfer | None) -> None:
    wait(channel, SENT[side], Sent(head.get("request-id"), transfer))


def _transfer(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    is_publish = side == state.client_side
    link = _publisher(state, channel, decoded) if is_publish else _receiver(state, channel, decoded)
    kind = PUBLISH if is_publish else GET if link.kind == "getter" else DELIVER
    transfer = channel.begin(side, kind, link, state.dec)
    channel.set_current(side, None)  # no content frames follow it
    transfer.class_id = decoded.method.class_id
    transfer.exchange = decoded["exchange"]
    transfer.routing_key = decoded["routing-key"]
    transfer.queue = link.queue
    transfer.is_redelivered, transfer.has_redelivered = decoded["redelivered"], not is_publish
    transfer.properties = _properties(decoded)
    transfer.has_header = True
    if link.is_no_ack:
        transfer.is_presettled = True
    else:
        channel.hold(transfer)
        if not is_publish:
            link.unsettled_count += 1
            channel.consumer_unsettled += kind == DELIVER
        _expect_answer(channel, side, head, transfer)
    body = decoded["body"]
    if not body.is_reference:
        _fill(state, channel, transfer, body.value)
    else:
        reference = channel.references.get((side, body.value))
        if reference is None:
            state.problem(
                "state09.unknown_reference", f"reference {body.value.hex()} is not open", side
            )
            transfer.is_gapped = True
            _fill(state, channel, transfer, b"")
        else:
            reference.transfers.append(transfer)
    return Effect(transfer=transfer)


def _fill(state: ConnectionState, channel: Channel, transfer: Transfer, octets: bytes) -> None:
    transfer.body_size = len(octets)
    if octets:
        transfer.add_body(octets, 0, len(octets))
    if transfer.link is not None:
        transfer.link.body_bytes += len(octets)
    channel.assembled(transfer.side, transfer, state.dec)


# Arguments of message.transfer that say something about the message, not about its way.
_PROPERTIES = (
    "ttl",
    "priority",
    "timestamp",
    "delivery-mode",
    "expiration",
    "message-id",
    "correlation-id",
    "reply-to",
    "content-type",
    "content-encoding",
    "user-id",
    "app-id",
    "transaction-id",
    "application-headers",
)


def _properties(decoded: DecodedMethod) -> Properties:
    """Arguments cannot be left out: an empty one is absent."""
    values = decoded.fields.as_dict()
    named = [(name, values[name]) for name in _PROPERTIES if name in values]
    properties = sort_properties(
        [(name, v) for name, v in named if (v.raw if isinstance(v, FieldTable) else v)]
    )
    properties.octets = len(decoded.payload) - len(decoded["body"].value)
    return properties


def _publisher(state: ConnectionState, channel: Channel, decoded: DecodedMethod) -> Link:
    exchange = decoded["exchange"] or decoded["destination"]
    return channel.publishers.get(exchange) or state.new_publisher(channel, exchange, state.dec)


def _receiver(state: ConnectionState, channel: Channel, decoded: DecodedMethod) -> Link:
    destination = decoded["destination"]
    asked = next((a for a in channel.pending.get(GETS, []) if a[0] == destination), None)
    if asked is not None:
        channel.pending[GETS].remove(asked)
        return state.getter(channel, *asked[1:])
    known = channel.consumers.get(destination)
    return known or state.infer_consumer(channel, destination, state.dec)


def _get(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect:
    queue = queue_named(channel, decoded["queue"])
    wait(channel, GETS, (decoded["destination"], queue, decoded["no-ack"]))
    return Effect(link=state.getter(channel, queue, decoded["no-ack"]))


def _empty(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    answered(channel, GETS)
    _answered_by(channel, side, head)


# -- references ---------------------------------------------------------------------------


def _open(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    if len(channel.references) >= MAX_REFERENCES:
        state.problem("limit09.references", f"more than {MAX_REFERENCES} open references", side)
        _close_reference(state, channel, next(iter(channel.references)))
    channel.references[side, decoded["reference"]] = Reference()


def _append(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> Effect | None:
    reference = channel.references.get((side, decoded["reference"]))
    if reference is None:
        state.problem("state09.unknown_reference", "append to a reference that is not open", side)
        return None
    reference.append(decoded["bytes"])
    for transfer in reference.transfers:
        transfer.frame_count += 1
        transfer.last_ts, transfer.last_packet = state.dec.ts_ns, state.dec.packet_no
    return Effect(transfer=reference.transfers[0]) if reference.transfers else None


def _close(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    if (side, decoded["reference"]) in channel.references:
        _close_reference(state, channel, (side, decoded["reference"]))


def _close_reference(state: ConnectionState, channel: Channel, key: tuple[int, bytes]) -> None:
    reference = channel.references.pop(key)
    for transfer in reference.transfers:
        transfer.is_gapped = transfer.is_gapped or reference.size != len(reference.octets)
        _fill(state, channel, transfer, bytes(reference.octets))


def _request(handler: Handler | None = None) -> Handler:
    """A request that does what its handler says and is then answered like a transfer."""

    def handle(
        state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
    ) -> Effect | None:
        _expect_answer(channel, side, head, None)
        return handler(state, channel, side, decoded, head) if handler else None

    return handle


# -- answers ------------------------------------------------------------------------------


def _answered_by(channel: Channel, side: int, head: Head) -> list[Sent]:
    """The requests that an answer of this side is for, a batch at once (0-9, "Response frames")."""
    waiting: list[Sent] = channel.pending.get(SENT[1 - side], [])
    first = head.get("request-id")
    if first is None:
        return [waiting.pop(0)] if waiting else []
    numbers = range(first, first + head["batch-offset"] + 1)
    found = [sent for sent in waiting if sent.request_id in numbers]
    for sent in found:
        waiting.remove(sent)
    return found


def _answer(outcome: int) -> Handler:
    def handle(
        state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
    ) -> Effect:
        first = None
        for sent in _answered_by(channel, side, head):
            if sent.transfer is not None:
                first = first or sent.transfer
                is_batch = bool(head.get("batch-offset"))
                if outcome == REJECTED:
                    sent.transfer.reply_code = decoded["code"]
                    sent.transfer.has_reply_code = True
                    sent.transfer.condition = decoded["text"]
                channel.answer(sent.transfer, outcome, is_batch, state.dec)
        return Effect(transfer=first, outcome=outcome if first else None)

    return handle


def _offset(
    state: ConnectionState, channel: Channel, side: int, decoded: DecodedMethod, head: Head
) -> None:
    _answered_by(channel, side, head)


HANDLERS: dict[str, Handler] = {
    "message.transfer": _transfer,
    "message.consume": _request(basic.consume),
    "message.cancel": _request(basic.cancel),
    "message.qos": _request(basic.qos),
    "message.recover": _request(basic.recover),
    "message.get": _request(_get),
    "message.open": _request(_open),
    "message.append": _request(_append),
    "message.close": _request(_close),
    "message.checkpoint": _request(),
    "message.resume": _request(),
    "message.ok": _answer(ACCEPTED),
    "message.reject": _answer(REJECTED),
    "message.empty": _empty,
    "message.offset": _offset,
}
