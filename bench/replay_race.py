"""How fast and how punctual replay is: against pika's own publishing, on the same broker.

Starts a RabbitMQ of its own, records pika publishing as fast as it can, then replays that capture
at full speed; and records a paced publisher and compares the gaps of its replay, both as tcpdump
saw them on the wire.
"""

from __future__ import annotations

import tempfile
import time
from itertools import pairwise
from pathlib import Path

import pika

from replay.latency import spread
from replay.live import Recording
from replay.plan import Plan, describe
from replay.report import Report, as_text
from replay.run import ClientOptions, replay_client
from replay.safety import Consent
from replay.script import CLIENT, ConversationScript, Script, read_script
from tests.live.rabbitmq import Broker
from tests.live.recording import Recording as Capturing

MESSAGES = 20_000
BODY = b"x" * 200
PACED_MESSAGES = 400
PACED_GAP_S = 0.005
QUEUE = "bench.replay"
# class basic, method publish
PUBLISH = bytes((0, 60, 0, 40))
RECORDED_MESSAGES = 10


def publish(port: int, count: int, gap_s: float = 0.0) -> float:
    """Seconds that pika takes for it, without connecting."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        channel = connection.channel()
        channel.queue_declare(QUEUE)
        began = time.perf_counter()
        for _ in range(count):
            channel.basic_publish("", QUEUE, BODY)
            if gap_s:
                time.sleep(gap_s)
        # An answer on the same channel: the broker has seen them all.
        channel.queue_purge(QUEUE)
        took = time.perf_counter() - began
        channel.queue_delete(QUEUE)
    return took


def lengthen(script: Script, path: Path, count: int) -> Script:
    """The capture with its publishes over and over: tcpdump loses packets at this rate."""
    (conversation,) = script.connections
    with open(path, "wb") as file:
        recorded = Recording(file).connection(("127.0.0.1", 50_000), ("127.0.0.1", 5672), 0)
        is_repeated = False
        for step in conversation.steps:
            is_publish = QUEUE.encode() in step.octets[:64] and PUBLISH in step.octets[:16]
            if is_publish and not is_repeated:
                start = conversation.steps.index(step)
                message = b"".join(s.octets for s in conversation.steps[start : start + 3])
                for number in range(count - conversation_count(conversation)):
                    recorded.data(CLIENT, message, step.ts_ns + number)
                is_repeated = True
            recorded.data(step.side, step.octets, step.ts_ns + count)
        recorded.end(conversation.last_ts_ns + count)
    return read_script(str(path))


def conversation_count(conversation: ConversationScript) -> int:
    return sum(PUBLISH in step.octets[:16] for step in conversation.steps)


def replay(script: Script, port: int, speed: str) -> Report:
    plan = Plan(list(script.captures), target=f"amqp://127.0.0.1:{port}", speed=speed)
    plan.prefix = "again."
    describe(script, plan)
    report = replay_client(plan, script, ClientOptions(consent=Consent(captured_target=True)))
    if report.exit_code:
        raise SystemExit(as_text(report))
    return report


def gap_errors(one: Script, other: Script) -> list[int]:
    """How much each gap between publishes differs on the wire, in ns."""
    times = [
        [s.ts_ns for s in c.steps if s.side == CLIENT and PUBLISH in s.octets[:16]]
        for script in (one, other)
        for c in script.connections
    ]
    gaps = [[b - a for a, b in pairwise(t)] for t in times]
    return [abs(a - b) for a, b in zip(*gaps, strict=True)]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder))
        broker.start()
        try:
            race(broker.port, Path(folder))
        finally:
            broker.stop()


def race(port: int, folder: Path) -> None:
    with Capturing(folder / "short.pcap", port) as capture:
        publish(port, RECORDED_MESSAGES)
    fast = lengthen(read_script(capture.path), folder / "fast.pcap", MESSAGES)
    pika_s = publish(port, MESSAGES)
    report = replay(fast, port, "max")
    rates = MESSAGES / pika_s, MESSAGES / report.elapsed_s
    print(f"publish of {MESSAGES:,} messages of {len(BODY)} bytes")
    print(f"  pika     {rates[0]:>9,.0f} messages/s")
    print(f"  replay   {rates[1]:>9,.0f} messages/s   {rates[1] / rates[0]:.1f} × pika")
    with Capturing(folder / "paced.pcap", port) as recording:
        publish(port, PACED_MESSAGES, PACED_GAP_S)
    paced = read_script(recording.path)
    with Capturing(folder / "again.pcap", port) as recording:
        report = replay(paced, port, "1")
    found = spread(gap_errors(paced, read_script(recording.path)))
    assert found is not None
    print(f"gaps at 1 × on the wire ({found.count} gaps of {PACED_GAP_S * 1e3:g} ms)")
    print(f"  error    p50 {found.p50_ns / 1e6:.2f} p95 {found.p95_ns / 1e6:.2f}"
          f" max {found.max_ns / 1e6:.2f} ms")  # fmt: skip
    late = report.lateness
    assert late is not None
    print(f"  lateness p50 {late.p50_ns / 1e6:.2f} p95 {late.p95_ns / 1e6:.2f}"
          f" max {late.max_ns / 1e6:.2f} ms")  # fmt: skip


if __name__ == "__main__":
    main()
