"""What RabbitMQ adds to 0-9-1 and 0-8: confirms, nack, exchange bindings, blocked notices,
secret rotation, consumer cancel notices, and the credit extension of its own plugins.
"""

from ..schema import BOTH, CLIENT, HARD, SERVER, SOFT, ClassSpec, MethodSpec, Overlay, ReplyCode

_EXCHANGE_BINDING = (
    "ticket:short destination:shortstr source:shortstr routing-key:shortstr nowait:bit"
    " arguments:table"
)

V0_9_1 = Overlay(
    "rabbitmq",
    classes=(
        ClassSpec(
            10,
            "connection",
            methods=(
                MethodSpec(60, "blocked", CLIENT, "reason:shortstr"),
                MethodSpec(61, "unblocked", CLIENT),
                MethodSpec(
                    70,
                    "update-secret",
                    SERVER,
                    "new-secret:longstr reason:shortstr",
                    responses="update-secret-ok",
                ),
                MethodSpec(71, "update-secret-ok", CLIENT),
            ),
        ),
        ClassSpec(
            30,
            "access",
            methods=(
                MethodSpec(
                    10,
                    "request",
                    SERVER,
                    "realm:shortstr exclusive:bit passive:bit active:bit write:bit read:bit",
                    responses="request-ok",
                ),
                MethodSpec(11, "request-ok", CLIENT, "ticket:short"),
            ),
        ),
        ClassSpec(
            40,
            "exchange",
            methods=(
                MethodSpec(30, "bind", SERVER, _EXCHANGE_BINDING, responses="bind-ok"),
                MethodSpec(31, "bind-ok", CLIENT),
                MethodSpec(40, "unbind", SERVER, _EXCHANGE_BINDING, responses="unbind-ok"),
                # 51, not 41: an accident of the first release that clients rely on.
                MethodSpec(51, "unbind-ok", CLIENT),
            ),
        ),
        ClassSpec(
            60,
            "basic",
            methods=(
                # Publisher confirms: the broker acks and nacks, too.
                MethodSpec(80, "ack", CLIENT, "delivery-tag:longlong multiple:bit"),
                MethodSpec(120, "nack", BOTH, "delivery-tag:longlong multiple:bit requeue:bit"),
                # Consumer cancel notification: the broker cancels, too.
                MethodSpec(
                    30, "cancel", CLIENT, "consumer-tag:shortstr nowait:bit", responses="cancel-ok"
                ),
                MethodSpec(31, "cancel-ok", SERVER, "consumer-tag:shortstr"),
                # The credit extension is spoken between the broker and its own plugins.
                MethodSpec(
                    200,
                    "credit",
                    SERVER,
                    "consumer-tag:shortstr credit:long drain:bit",
                    responses="credit-ok",
                ),
                MethodSpec(201, "credit-ok", CLIENT, "available:long"),
                MethodSpec(
                    202, "credit-drained", CLIENT, "consumer-tag:shortstr credit-drained:long"
                ),
            ),
        ),
        ClassSpec(
            85,
            "confirm",
            methods=(
                MethodSpec(10, "select", SERVER, "nowait:bit", responses="select-ok"),
                MethodSpec(11, "select-ok", CLIENT),
            ),
        ),
    ),
    reply_codes=(ReplyCode(312, "no-route", SOFT),),
)

V0_8 = Overlay(
    "rabbitmq",
    renames={"basic.recover": "recover-async"},
    classes=(
        ClassSpec(
            50,
            "queue",
            methods=(
                MethodSpec(
                    50,
                    "unbind",
                    SERVER,
                    "ticket:short queue:shortstr exchange:shortstr routing-key:shortstr"
                    " arguments:table",
                    responses="unbind-ok",
                ),
                MethodSpec(51, "unbind-ok", CLIENT),
            ),
        ),
        ClassSpec(
            60,
            "basic",
            methods=(
                MethodSpec(110, "recover", SERVER, "requeue:bit", responses="recover-ok"),
                MethodSpec(111, "recover-ok", CLIENT),
            ),
        ),
    ),
    reply_codes=(
        ReplyCode(312, "no-route", SOFT),
        ReplyCode(313, "no-consumers", SOFT),
        ReplyCode(406, "precondition-failed", SOFT),
        ReplyCode(505, "unexpected-frame", HARD),
    ),
)
