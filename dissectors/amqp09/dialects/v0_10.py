"""AMQP 0-10 (2008): the names of its controls and commands.

0-10 shares only the first four octets of the header with its neighbours: it has segments, tracks
and typed structs (see `frames010`). It is recognised, framed and named here; its arguments are
left as octets.
"""

CONTROL = 0
COMMAND = 1
HEADER = 2
BODY = 3

SEGMENT_TYPES = {CONTROL: "control", COMMAND: "command", HEADER: "header", BODY: "body"}

# (class code, class name) -> {(segment type, code): name}
CLASSES = {
    (1, "connection"): {
        (CONTROL, 0x01): "start",
        (CONTROL, 0x02): "start-ok",
        (CONTROL, 0x03): "secure",
        (CONTROL, 0x04): "secure-ok",
        (CONTROL, 0x05): "tune",
        (CONTROL, 0x06): "tune-ok",
        (CONTROL, 0x07): "open",
        (CONTROL, 0x08): "open-ok",
        (CONTROL, 0x09): "redirect",
        (CONTROL, 0x0A): "heartbeat",
        (CONTROL, 0x0B): "close",
        (CONTROL, 0x0C): "close-ok",
    },
    (2, "session"): {
        (CONTROL, 0x01): "attach",
        (CONTROL, 0x02): "attached",
        (CONTROL, 0x03): "detach",
        (CONTROL, 0x04): "detached",
        (CONTROL, 0x05): "request-timeout",
        (CONTROL, 0x06): "timeout",
        (CONTROL, 0x07): "command-point",
        (CONTROL, 0x08): "expected",
        (CONTROL, 0x09): "confirmed",
        (CONTROL, 0x0A): "completed",
        (CONTROL, 0x0B): "known-completed",
        (CONTROL, 0x0C): "flush",
        (CONTROL, 0x0D): "gap",
    },
    (3, "execution"): {
        (COMMAND, 0x01): "sync",
        (COMMAND, 0x02): "result",
        (COMMAND, 0x03): "exception",
    },
    (4, "message"): {
        (COMMAND, 0x01): "transfer",
        (COMMAND, 0x02): "accept",
        (COMMAND, 0x03): "reject",
        (COMMAND, 0x04): "release",
        (COMMAND, 0x05): "acquire",
        (COMMAND, 0x06): "resume",
        (COMMAND, 0x07): "subscribe",
        (COMMAND, 0x08): "cancel",
        (COMMAND, 0x09): "set-flow-mode",
        (COMMAND, 0x0A): "flow",
        (COMMAND, 0x0B): "flush",
        (COMMAND, 0x0C): "stop",
    },
    (5, "tx"): {
        (COMMAND, 0x01): "select",
        (COMMAND, 0x02): "commit",
        (COMMAND, 0x03): "rollback",
    },
    (6, "dtx"): {
        (COMMAND, 0x01): "select",
        (COMMAND, 0x02): "start",
        (COMMAND, 0x03): "end",
        (COMMAND, 0x04): "commit",
        (COMMAND, 0x05): "forget",
        (COMMAND, 0x06): "get-timeout",
        (COMMAND, 0x07): "prepare",
        (COMMAND, 0x08): "recover",
        (COMMAND, 0x09): "rollback",
        (COMMAND, 0x0A): "set-timeout",
    },
    (7, "exchange"): {
        (COMMAND, 0x01): "declare",
        (COMMAND, 0x02): "delete",
        (COMMAND, 0x03): "query",
        (COMMAND, 0x04): "bind",
        (COMMAND, 0x05): "unbind",
        (COMMAND, 0x06): "bound",
    },
    (8, "queue"): {
        (COMMAND, 0x01): "declare",
        (COMMAND, 0x02): "delete",
        (COMMAND, 0x03): "purge",
        (COMMAND, 0x04): "query",
    },
    (9, "file"): {
        (COMMAND, 0x01): "qos",
        (COMMAND, 0x02): "qos-ok",
        (COMMAND, 0x03): "consume",
        (COMMAND, 0x04): "consume-ok",
        (COMMAND, 0x05): "cancel",
        (COMMAND, 0x06): "open",
        (COMMAND, 0x07): "open-ok",
        (COMMAND, 0x08): "stage",
        (COMMAND, 0x09): "publish",
        (COMMAND, 0x0A): "return",
        (COMMAND, 0x0B): "deliver",
        (COMMAND, 0x0C): "ack",
        (COMMAND, 0x0D): "reject",
    },
    (10, "stream"): {
        (COMMAND, 0x01): "qos",
        (COMMAND, 0x02): "qos-ok",
        (COMMAND, 0x03): "consume",
        (COMMAND, 0x04): "consume-ok",
        (COMMAND, 0x05): "cancel",
        (COMMAND, 0x06): "publish",
        (COMMAND, 0x07): "return",
        (COMMAND, 0x08): "deliver",
    },
}
