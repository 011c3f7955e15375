"""What Apache Qpid adds to 0-8, 0-9 and 0-9-1: exchange.bound, synchronous recover, an extra
argument of 0-8's basic.consume, and the 0-9 errata's `mandatory` bit of message.transfer.
"""

from ..schema import CLIENT, SERVER, ClassSpec, MethodSpec, Overlay

_EXCHANGE_BOUND = ClassSpec(
    40,
    "exchange",
    methods=(
        MethodSpec(
            22,
            "bound",
            SERVER,
            "exchange:shortstr routing-key:shortstr queue:shortstr",
            responses="bound-ok",
        ),
        MethodSpec(23, "bound-ok", CLIENT, "reply-code:short reply-text:shortstr"),
    ),
)

V0_9_1 = Overlay("qpid", classes=(_EXCHANGE_BOUND,))

V0_9 = Overlay(
    "qpid",
    # The errata add this bit without saying where; appended, as its merge of the files does.
    extends={"message.transfer": "mandatory:bit"},
    classes=(
        _EXCHANGE_BOUND,
        ClassSpec(
            60,
            "basic",
            methods=(
                MethodSpec(102, "recover-sync", SERVER, "requeue:bit", responses="recover-sync-ok"),
                MethodSpec(101, "recover-sync-ok", CLIENT),
            ),
        ),
    ),
)

V0_8 = Overlay(
    "qpid",
    extends={"basic.consume": "arguments:table"},
    classes=(
        _EXCHANGE_BOUND,
        ClassSpec(60, "basic", methods=(MethodSpec(101, "recover-ok", CLIENT),)),
    ),
)
