"""The distributed-transaction preview of 0-9: dtx-demarcation, dtx-coordination and the
binding, exchange.query and execution additions that were published with it.
"""

from ..schema import BOTH, CLIENT, SERVER, ClassSpec, MethodSpec, Overlay

OVERLAY = Overlay(
    "dtx-preview",
    classes=(
        ClassSpec(
            40,
            "exchange",
            methods=(
                MethodSpec(30, "query", SERVER, "ticket:short name:shortstr", responses="query-ok"),
                MethodSpec(
                    31,
                    "query-ok",
                    CLIENT,
                    "type:shortstr durable:bit not-found:bit arguments:table",
                ),
            ),
        ),
        ClassSpec(
            101,
            "dtx-demarcation",
            methods=(
                MethodSpec(10, "select", SERVER, responses="select-ok"),
                MethodSpec(11, "select-ok", CLIENT),
                MethodSpec(
                    20,
                    "start",
                    SERVER,
                    "ticket:short xid:longstr join:bit resume:bit",
                    responses="start-ok",
                ),
                MethodSpec(21, "start-ok", CLIENT, "flags:short"),
                MethodSpec(
                    30,
                    "end",
                    SERVER,
                    "ticket:short xid:longstr fail:bit suspend:bit",
                    responses="end-ok",
                ),
                MethodSpec(31, "end-ok", CLIENT, "flags:short"),
            ),
        ),
        ClassSpec(
            105,
            "dtx-coordination",
            methods=(
                MethodSpec(
                    10,
                    "commit",
                    SERVER,
                    "ticket:short xid:longstr one-phase:bit",
                    responses="commit-ok",
                ),
                MethodSpec(11, "commit-ok", CLIENT, "flags:short"),
                MethodSpec(20, "forget", SERVER, "ticket:short xid:longstr", responses="forget-ok"),
                MethodSpec(21, "forget-ok", CLIENT),
                MethodSpec(30, "get-timeout", SERVER, "xid:longstr", responses="get-timeout-ok"),
                MethodSpec(31, "get-timeout-ok", CLIENT, "timeout:long"),
                MethodSpec(
                    40, "prepare", SERVER, "ticket:short xid:longstr", responses="prepare-ok"
                ),
                MethodSpec(41, "prepare-ok", CLIENT, "flags:short"),
                MethodSpec(
                    50,
                    "recover",
                    SERVER,
                    "ticket:short startscan:bit endscan:long",
                    responses="recover-ok",
                ),
                MethodSpec(51, "recover-ok", CLIENT, "xids:table"),
                MethodSpec(
                    60, "rollback", SERVER, "ticket:short xid:longstr", responses="rollback-ok"
                ),
                MethodSpec(61, "rollback-ok", CLIENT, "flags:short"),
                MethodSpec(
                    70,
                    "set-timeout",
                    SERVER,
                    "ticket:short xid:longstr timeout:long",
                    responses="set-timeout-ok",
                ),
                MethodSpec(71, "set-timeout-ok", CLIENT),
            ),
        ),
        ClassSpec(
            130,
            "binding",
            methods=(
                MethodSpec(
                    10,
                    "query",
                    SERVER,
                    "ticket:short exchange:shortstr queue:shortstr routing-key:shortstr"
                    " arguments:table",
                    responses="query-ok",
                ),
                MethodSpec(
                    11,
                    "query-ok",
                    CLIENT,
                    "exchange-not-found:bit queue-not-found:bit queue-not-matched:bit"
                    " key-not-matched:bit args-not-matched:bit",
                ),
            ),
        ),
        ClassSpec(
            140,
            "execution",
            methods=(
                MethodSpec(10, "flush", BOTH),
                MethodSpec(20, "complete", BOTH, "cumulative-execution-mark:long"),
            ),
        ),
    ),
)
