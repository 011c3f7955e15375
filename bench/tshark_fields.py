"""What tshark is asked for in the race: its names for what our tables hold of each frame.

Both sides give the same columns. Payloads are in neither; the sizes, hashes, outcomes and joined
messages that our tables have beyond this are not to be had from ``tshark -T fields``.
"""

from __future__ import annotations

_PACKET = (
    *("frame.number", "frame.time_epoch", "tcp.stream", "ip.src", "ip.dst"),
    *("tcp.srcport", "tcp.dstport", "amqp.channel", "amqp.length", "amqp.type"),
)
_ARGUMENTS_09 = (
    *("delivery_tag", "exchange", "routing_key", "consumer_tag", "redelivered", "multiple"),
    *("requeue", "mandatory", "queue", "reply_code"),
)
_PROPERTIES_09 = (
    *("content_type", "content_encoding", "headers", "delivery_mode", "priority"),
    *("correlation_id", "reply_to", "expiration", "message_id", "timestamp", "type"),
    *("user_id", "app_id"),
)
_ARGUMENTS_10 = (
    *("handle", "deliveryId", "deliveryTag", "messageFormat", "settled", "more", "linkCredit"),
    *("deliveryCount", "nextIncomingId", "incomingWindow", "nextOutgoingId", "outgoingWindow"),
    *("first", "last", "role", "state"),
)
_MESSAGE_10 = (
    *("messageId.string", "correlationId.string", "to.string", "replyTo.string", "subject"),
    *("contentType", "contentEncoding", "userId", "creationTime", "expiryTime", "durable"),
    *("priority", "ttl"),
)
_OUTCOMES_10 = ("accepted", "rejected", "released", "modified")

FIELDS = {
    "0-9-1": (
        *_PACKET,
        *("amqp.method.class", "amqp.method.method", "amqp.header.class", "amqp.header.body-size"),
        *(f"amqp.method.arguments.{name}" for name in _ARGUMENTS_09),
        *(f"amqp.method.properties.{name}" for name in _PROPERTIES_09),
    ),
    "1.0": (
        *_PACKET,
        *("amqp.doff", "amqp.performative", "amqp.applicationProperties"),
        *(f"amqp.performative.arguments.{name}" for name in _ARGUMENTS_10),
        *(f"amqp.delivery-state.{name}" for name in _OUTCOMES_10),
        *(f"amqp.message.{name}" for name in _MESSAGE_10),
    ),
}
