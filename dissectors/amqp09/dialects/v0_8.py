"""AMQP 0-8 (2006): the classes, methods and reply codes as published.

`connection.close` is 60 here (50 is `redirect`), which readers that know only 0-9-1 take for
`connection.blocked`.
"""

from ..schema import BOTH, CLIENT, HARD, SERVER, SOFT, SUCCESS, ClassSpec, MethodSpec, ReplyCode

CLASSES = (
    ClassSpec(
        10,
        "connection",
        methods=(
            MethodSpec(
                10,
                "start",
                CLIENT,
                "version-major:octet version-minor:octet server-properties:table"
                " mechanisms:longstr locales:longstr",
                responses="start-ok",
            ),
            MethodSpec(
                11,
                "start-ok",
                SERVER,
                "client-properties:table mechanism:shortstr response:longstr locale:shortstr",
            ),
            MethodSpec(20, "secure", CLIENT, "challenge:longstr", responses="secure-ok"),
            MethodSpec(21, "secure-ok", SERVER, "response:longstr"),
            MethodSpec(
                30,
                "tune",
                CLIENT,
                "channel-max:short frame-max:long heartbeat:short",
                responses="tune-ok",
            ),
            MethodSpec(31, "tune-ok", SERVER, "channel-max:short frame-max:long heartbeat:short"),
            MethodSpec(
                40,
                "open",
                SERVER,
                "virtual-host:shortstr capabilities:shortstr insist:bit",
                responses="open-ok redirect",
            ),
            MethodSpec(41, "open-ok", CLIENT, "known-hosts:shortstr"),
            MethodSpec(50, "redirect", CLIENT, "host:shortstr known-hosts:shortstr"),
            MethodSpec(
                60,
                "close",
                BOTH,
                "reply-code:short reply-text:shortstr class-id:short method-id:short",
                responses="close-ok",
            ),
            MethodSpec(61, "close-ok", BOTH),
        ),
    ),
    ClassSpec(
        20,
        "channel",
        methods=(
            MethodSpec(10, "open", SERVER, "out-of-band:shortstr", responses="open-ok"),
            MethodSpec(11, "open-ok", CLIENT),
            MethodSpec(20, "flow", BOTH, "active:bit", responses="flow-ok"),
            MethodSpec(21, "flow-ok", BOTH, "active:bit"),
            MethodSpec(30, "alert", CLIENT, "reply-code:short reply-text:shortstr details:table"),
            MethodSpec(
                40,
                "close",
                BOTH,
                "reply-code:short reply-text:shortstr class-id:short method-id:short",
                responses="close-ok",
            ),
            MethodSpec(41, "close-ok", BOTH),
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
            MethodSpec(
                10,
                "declare",
                SERVER,
                "ticket:short exchange:shortstr type:shortstr passive:bit durable:bit"
                " auto-delete:bit internal:bit nowait:bit arguments:table",
                responses="declare-ok",
            ),
            MethodSpec(11, "declare-ok", CLIENT),
            MethodSpec(
                20,
                "delete",
                SERVER,
                "ticket:short exchange:shortstr if-unused:bit nowait:bit",
                responses="delete-ok",
            ),
            MethodSpec(21, "delete-ok", CLIENT),
        ),
    ),
    ClassSpec(
        50,
        "queue",
        methods=(
            MethodSpec(
                10,
                "declare",
                SERVER,
                "ticket:short queue:shortstr passive:bit durable:bit exclusive:bit"
                " auto-delete:bit nowait:bit arguments:table",
                responses="declare-ok",
            ),
            MethodSpec(
                11,
                "declare-ok",
                CLIENT,
                "queue:shortstr message-count:long consumer-count:long",
            ),
            MethodSpec(
                20,
                "bind",
                SERVER,
                "ticket:short queue:shortstr exchange:shortstr routing-key:shortstr nowait:bit"
                " arguments:table",
                responses="bind-ok",
            ),
            MethodSpec(21, "bind-ok", CLIENT),
            MethodSpec(
                30,
                "purge",
                SERVER,
                "ticket:short queue:shortstr nowait:bit",
                responses="purge-ok",
            ),
            MethodSpec(31, "purge-ok", CLIENT, "message-count:long"),
            MethodSpec(
                40,
                "delete",
                SERVER,
                "ticket:short queue:shortstr if-unused:bit if-empty:bit nowait:bit",
                responses="delete-ok",
            ),
            MethodSpec(41, "delete-ok", CLIENT, "message-count:long"),
        ),
    ),
    ClassSpec(
        60,
        "basic",
        methods=(
            MethodSpec(
                10,
                "qos",
                SERVER,
                "prefetch-size:long prefetch-count:short global:bit",
                responses="qos-ok",
            ),
            MethodSpec(11, "qos-ok", CLIENT),
            MethodSpec(
                20,
                "consume",
                SERVER,
                "ticket:short queue:shortstr consumer-tag:shortstr no-local:bit no-ack:bit"
                " exclusive:bit nowait:bit",
                responses="consume-ok",
            ),
            MethodSpec(21, "consume-ok", CLIENT, "consumer-tag:shortstr"),
            MethodSpec(
                30,
                "cancel",
                SERVER,
                "consumer-tag:shortstr nowait:bit",
                responses="cancel-ok",
            ),
            MethodSpec(31, "cancel-ok", CLIENT, "consumer-tag:shortstr"),
            MethodSpec(
                40,
                "publish",
                SERVER,
                "ticket:short exchange:shortstr routing-key:shortstr mandatory:bit immediate:bit",
                content=True,
            ),
            MethodSpec(
                50,
                "return",
                CLIENT,
                "reply-code:short reply-text:shortstr exchange:shortstr routing-key:shortstr",
                content=True,
            ),
            MethodSpec(
                60,
                "deliver",
                CLIENT,
                "consumer-tag:shortstr delivery-tag:longlong redelivered:bit exchange:shortstr"
                " routing-key:shortstr",
                content=True,
            ),
            MethodSpec(
                70,
                "get",
                SERVER,
                "ticket:short queue:shortstr no-ack:bit",
                responses="get-ok get-empty",
            ),
            MethodSpec(
                71,
                "get-ok",
                CLIENT,
                "delivery-tag:longlong redelivered:bit exchange:shortstr routing-key:shortstr"
                " message-count:long",
                content=True,
            ),
            MethodSpec(72, "get-empty", CLIENT, "cluster-id:shortstr"),
            MethodSpec(80, "ack", SERVER, "delivery-tag:longlong multiple:bit"),
            MethodSpec(90, "reject", SERVER, "delivery-tag:longlong requeue:bit"),
            MethodSpec(100, "recover", SERVER, "requeue:bit"),
        ),
        properties=(
            "content-type:shortstr content-encoding:shortstr headers:table"
            " delivery-mode:octet priority:octet correlation-id:shortstr"
            " reply-to:shortstr expiration:shortstr message-id:shortstr"
            " timestamp:timestamp type:shortstr user-id:shortstr app-id:shortstr"
            " cluster-id:shortstr"
        ),
    ),
    ClassSpec(
        70,
        "file",
        methods=(
            MethodSpec(
                10,
                "qos",
                SERVER,
                "prefetch-size:long prefetch-count:short global:bit",
                responses="qos-ok",
            ),
            MethodSpec(11, "qos-ok", CLIENT),
            MethodSpec(
                20,
                "consume",
                SERVER,
                "ticket:short queue:shortstr consumer-tag:shortstr no-local:bit no-ack:bit"
                " exclusive:bit nowait:bit",
                responses="consume-ok",
            ),
            MethodSpec(21, "consume-ok", CLIENT, "consumer-tag:shortstr"),
            MethodSpec(
                30,
                "cancel",
                SERVER,
                "consumer-tag:shortstr nowait:bit",
                responses="cancel-ok",
            ),
            MethodSpec(31, "cancel-ok", CLIENT, "consumer-tag:shortstr"),
            MethodSpec(
                40,
                "open",
                BOTH,
                "identifier:shortstr content-size:longlong",
                responses="open-ok",
            ),
            MethodSpec(41, "open-ok", BOTH, "staged-size:longlong", responses="stage"),
            MethodSpec(50, "stage", BOTH, content=True),
            MethodSpec(
                60,
                "publish",
                SERVER,
                "ticket:short exchange:shortstr routing-key:shortstr mandatory:bit"
                " immediate:bit identifier:shortstr",
            ),
            MethodSpec(
                70,
                "return",
                CLIENT,
                "reply-code:short reply-text:shortstr exchange:shortstr routing-key:shortstr",
                content=True,
            ),
            MethodSpec(
                80,
                "deliver",
                CLIENT,
                "consumer-tag:shortstr delivery-tag:longlong redelivered:bit exchange:shortstr"
                " routing-key:shortstr identifier:shortstr",
            ),
            MethodSpec(90, "ack", SERVER, "delivery-tag:longlong multiple:bit"),
            MethodSpec(100, "reject", SERVER, "delivery-tag:longlong requeue:bit"),
        ),
        properties=(
            "content-type:shortstr content-encoding:shortstr headers:table"
            " priority:octet reply-to:shortstr message-id:shortstr filename:shortstr"
            " timestamp:timestamp cluster-id:shortstr"
        ),
    ),
    ClassSpec(
        80,
        "stream",
        methods=(
            MethodSpec(
                10,
                "qos",
                SERVER,
                "prefetch-size:long prefetch-count:short consume-rate:long global:bit",
                responses="qos-ok",
            ),
            MethodSpec(11, "qos-ok", CLIENT),
            MethodSpec(
                20,
                "consume",
                SERVER,
                "ticket:short queue:shortstr consumer-tag:shortstr no-local:bit exclusive:bit"
                " nowait:bit",
                responses="consume-ok",
            ),
            MethodSpec(21, "consume-ok", CLIENT, "consumer-tag:shortstr"),
            MethodSpec(
                30,
                "cancel",
                SERVER,
                "consumer-tag:shortstr nowait:bit",
                responses="cancel-ok",
            ),
            MethodSpec(31, "cancel-ok", CLIENT, "consumer-tag:shortstr"),
            MethodSpec(
                40,
                "publish",
                SERVER,
                "ticket:short exchange:shortstr routing-key:shortstr mandatory:bit immediate:bit",
                content=True,
            ),
            MethodSpec(
                50,
                "return",
                CLIENT,
                "reply-code:short reply-text:shortstr exchange:shortstr routing-key:shortstr",
                content=True,
            ),
            MethodSpec(
                60,
                "deliver",
                CLIENT,
                "consumer-tag:shortstr delivery-tag:longlong exchange:shortstr queue:shortstr",
                content=True,
            ),
        ),
        properties=(
            "content-type:shortstr content-encoding:shortstr headers:table"
            " priority:octet timestamp:timestamp"
        ),
    ),
    ClassSpec(
        90,
        "tx",
        methods=(
            MethodSpec(10, "select", SERVER, responses="select-ok"),
            MethodSpec(11, "select-ok", CLIENT),
            MethodSpec(20, "commit", SERVER, responses="commit-ok"),
            MethodSpec(21, "commit-ok", CLIENT),
            MethodSpec(30, "rollback", SERVER, responses="rollback-ok"),
            MethodSpec(31, "rollback-ok", CLIENT),
        ),
    ),
    ClassSpec(
        100,
        "dtx",
        methods=(
            MethodSpec(10, "select", SERVER, responses="select-ok"),
            MethodSpec(11, "select-ok", CLIENT),
            MethodSpec(20, "start", SERVER, "dtx-identifier:shortstr", responses="start-ok"),
            MethodSpec(21, "start-ok", CLIENT),
        ),
    ),
    ClassSpec(
        110,
        "tunnel",
        methods=(MethodSpec(10, "request", SERVER, "meta-data:table", content=True),),
        properties=(
            "headers:table proxy-name:shortstr data-name:shortstr durable:octet broadcast:octet"
        ),
    ),
    ClassSpec(
        120,
        "test",
        methods=(
            MethodSpec(
                10,
                "integer",
                BOTH,
                "integer-1:octet integer-2:short integer-3:long integer-4:longlong operation:octet",
                responses="integer-ok",
            ),
            MethodSpec(11, "integer-ok", BOTH, "result:longlong"),
            MethodSpec(
                20,
                "string",
                BOTH,
                "string-1:shortstr string-2:longstr operation:octet",
                responses="string-ok",
            ),
            MethodSpec(21, "string-ok", BOTH, "result:longstr"),
            MethodSpec(
                30,
                "table",
                BOTH,
                "table:table integer-op:octet string-op:octet",
                responses="table-ok",
            ),
            MethodSpec(31, "table-ok", BOTH, "integer-result:longlong string-result:longstr"),
            MethodSpec(40, "content", BOTH, responses="content-ok", content=True),
            MethodSpec(41, "content-ok", BOTH, "content-checksum:long", content=True),
        ),
    ),
)

REPLY_CODES = (
    ReplyCode(200, "reply-success", SUCCESS),
    ReplyCode(310, "not-delivered", SOFT),
    ReplyCode(311, "content-too-large", SOFT),
    ReplyCode(320, "connection-forced", HARD),
    ReplyCode(402, "invalid-path", HARD),
    ReplyCode(403, "access-refused", SOFT),
    ReplyCode(404, "not-found", SOFT),
    ReplyCode(405, "resource-locked", SOFT),
    ReplyCode(501, "frame-error", HARD),
    ReplyCode(502, "syntax-error", HARD),
    ReplyCode(503, "command-invalid", HARD),
    ReplyCode(504, "channel-error", HARD),
    ReplyCode(506, "resource-error", HARD),
    ReplyCode(530, "not-allowed", HARD),
    ReplyCode(540, "not-implemented", HARD),
    ReplyCode(541, "internal-error", HARD),
)
