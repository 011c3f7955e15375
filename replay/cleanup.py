"""Takes away what a replay has made: queues and exchanges whose names carry its prefix.

Deletes by a small conversation of its own, played by the same engine, each name on a channel of
its own so that one that cannot be deleted does not stop the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from dissectors.amqp09.dialects import load_dialect
from dissectors.amqp09.frames import METHOD
from dissectors.amqp09.methods import encode_method
from replay.driver import Driver
from replay.engine import Credentials, Settings
from replay.engine09.client import ClientEngine09
from replay.engine09.parts import encode_part
from replay.pacing import Pacer
from replay.rewrite import Rewriter
from replay.script import CLIENT, SERVER, ConversationScript, Script, Step
from replay.session import Limits, Session
from replay.transport import Transport

# method that declares → (argument with the name, method that deletes, its arguments)
MAKERS = {
    "queue.declare": ("queue", "queue.delete", {"if-unused": False, "if-empty": False}),
    "exchange.declare": ("exchange", "exchange.delete", {"if-unused": False}),
}
CLEAN_UP_S = 20.0
MAX_CHANNELS = 1000


def own_names(script: Script, rewriter: Rewriter) -> dict[str, list[str]]:
    """Live names that the replay has declared and that carry its prefix, by deleting method."""
    found: dict[str, dict[str, None]] = {}
    for row in script.tables.get("frames", []):
        maker = MAKERS.get(row["name"])
        if maker is None or row["direction"] != "c2s":
            continue
        name = json.loads(row["fields"] or "{}").get(maker[0])
        live = rewriter.name(name) if name else None
        if live and rewriter.prefix and live.startswith(rewriter.prefix):
            found.setdefault(maker[1], {})[live] = None
    return {method: list(names) for method, names in found.items()}


def clean_up(
    script: Script,
    rewriter: Rewriter,
    open_transport: Callable[[], Transport],
    credentials: Credentials,
) -> list[str]:
    """Delete them; what stands in the way, if anything does."""
    names = own_names(script, rewriter)
    if not names:
        return []
    conversation = _conversation(names)
    settings = Settings(Rewriter(vhost=rewriter.vhost), credentials, "protocol")
    engine = ClientEngine09(conversation, "client", settings)
    session = Session(engine, open_transport)
    limits = Limits(step_timeout_s=5.0, max_time_s=CLEAN_UP_S)
    result = Driver([session], Pacer(None), limits, is_ordered=False).run()
    return [*result.failures, *([result.stopped] if result.stopped else [])]


def _conversation(names: dict[str, list[str]]) -> ConversationScript:
    dialect = load_dialect("0-9-1", "rabbitmq")
    deletes = [(method, name) for method, found in names.items() for name in found]
    steps: list[Step] = []

    def say(side: int, channel: int, name: str, values: dict[str, object]) -> None:
        payload = encode_method(dialect.by_name[name], values)
        octets = encode_part(METHOD, channel, payload)
        steps.append(Step(len(steps), side, len(steps), 0, octets))

    for channel, (method, name) in enumerate(deletes[:MAX_CHANNELS], 1):
        argument = method.partition(".")[0]
        extra = next(m[2] for m in MAKERS.values() if m[1] == method)
        say(CLIENT, channel, "channel.open", {"out-of-band": ""})
        say(SERVER, channel, "channel.open-ok", {"channel-id": b""})
        say(CLIENT, channel, method, {"ticket": 0, argument: name, "nowait": False, **extra})
        reply = {"message-count": 0} if method == "queue.delete" else {}
        say(SERVER, channel, f"{method}-ok", dict(reply))
    return ConversationScript("clean-up", "0-9-1", steps=steps)
