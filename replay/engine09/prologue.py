"""The beginning that a capture begun in mid-connection does not have.

Channels that are in use are opened, and put into confirm mode where the server confirms. Consumers
that began before the capture cannot be made again, nobody knows of which queue: the plan refuses
such connections.
"""

from __future__ import annotations

from dissectors.amqp09.frames import METHOD
from dissectors.amqp09.methods import encode_method
from replay.engine09.parts import Part, encode_part
from replay.engine09.vocabulary import SETTLEMENTS, Vocabulary
from replay.script import CLIENT, SERVER, Step


def with_prologue(parts: list[Part], vocabulary: Vocabulary) -> list[Part]:
    """The parts behind a made-up beginning."""
    ts_ns = parts[0].ts_ns if parts else 0
    prologue: list[Part] = []
    for channel in dict.fromkeys(p.channel for p in parts if p.channel):
        own = [p for p in parts if p.channel == channel]
        if own[0].name == "channel.open":
            continue
        _say(prologue, vocabulary, ts_ns, channel, "channel.open", {"out-of-band": ""},
             {"channel-id": b""})  # fmt: skip
        is_confirmed = any(p.side == SERVER and p.name in SETTLEMENTS for p in own)
        if is_confirmed and not any(p.name == "confirm.select" for p in own):
            _say(prologue, vocabulary, ts_ns, channel, "confirm.select", {"nowait": False}, {})
    return prologue + parts


def _say(
    parts: list[Part],
    vocabulary: Vocabulary,
    ts_ns: int,
    channel: int,
    name: str,
    values: dict[str, object],
    reply_values: dict[str, object],
) -> None:
    pair = []
    for side, method, arguments in ((CLIENT, name, values), (SERVER, f"{name}-ok", reply_values)):
        payload = encode_method(vocabulary.dialect.by_name[method], arguments)
        step = Step(-1, side, ts_ns, 0, encode_part(METHOD, channel, payload))
        pair.append(Part(vocabulary, side, METHOD, channel, payload, step))
    pair[0].reply, pair[1].request = pair[1], pair[0]
    parts += pair
