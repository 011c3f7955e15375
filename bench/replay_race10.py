"""How many AMQP 1.0 transfers a second a replay sends at full speed.

The capture is made: one sender, its messages unsettled and accepted in ranges. The live peer is a
process of its own that takes whatever comes and accepts it in ranges, so that what is measured is
the replay: engine, driver and recording. RabbitMQ's 1.0 plugin shows what is left of it with a
broker behind.
"""

from __future__ import annotations

import multiprocessing
import socket
import tempfile
import time
from multiprocessing.synchronize import Event
from pathlib import Path

from dissectors.amqp10.composites import STANDARD
from dissectors.amqp10.frames import AMQP_PROTOCOL, encode_protocol_header
from dissectors.amqp10.message import encode_message
from replay.engine10.frame import Frame, make_frame
from replay.engine10.stream import Cutter
from replay.live import Recording
from replay.plan import Plan, describe
from replay.report import as_text
from replay.run import ClientOptions, replay_client
from replay.safety import Consent
from replay.script import CLIENT, SERVER, read_script
from tests.live.rabbitmq import Broker
from tests.live.waiting import free_ports

TRANSFERS = 30_000
BODY = b"x" * 200
RANGE = 100
ADDRESS = "/queue/bench10"
WINDOW = 0x7FFF_FFFF
HEADER = encode_protocol_header(AMQP_PROTOCOL)
ACCEPTED = STANDARD.encode("accepted", {})
GAP_NS = 10_000


def opening() -> list[tuple[int, bytes]]:
    """Both sides up to the first message, by side."""
    window = {"next-outgoing-id": 0, "incoming-window": WINDOW, "outgoing-window": WINDOW}
    termini = {
        "source": STANDARD.encode("source", {}),
        "target": STANDARD.encode("target", {"address": ADDRESS}),
    }
    link = {"name": "bench", "handle": 0, **termini}
    flow = {**window, "next-incoming-id": 0, "handle": 0, "delivery-count": 0}
    return [
        (CLIENT, HEADER),
        (SERVER, HEADER),
        (CLIENT, make_frame("open", {"container-id": "bench"})),
        (SERVER, make_frame("open", {"container-id": "sink"})),
        (CLIENT, make_frame("begin", window)),
        (SERVER, make_frame("begin", {"remote-channel": 0, **window})),
        (CLIENT, make_frame("attach", {**link, "role": False, "initial-delivery-count": 0})),
        (SERVER, make_frame("attach", {**link, "role": True})),
        (SERVER, make_frame("flow", {**flow, "link-credit": WINDOW})),
    ]


def accept(first: int, last: int) -> bytes:
    fields = {"role": True, "first": first, "last": last, "settled": True, "state": ACCEPTED}
    return make_frame("disposition", fields)


def write_capture(path: Path) -> None:
    payload = encode_message(STANDARD, {"data": BODY})
    with open(path, "wb") as file:
        recorded = Recording(file).connection(("127.0.0.1", 50_000), ("127.0.0.1", 5672), 0)
        now_ns = 0
        for side, octets in opening():
            now_ns += GAP_NS
            recorded.data(side, octets, now_ns)
        for number in range(TRANSFERS):
            now_ns += GAP_NS
            fields = {"handle": 0, "delivery-id": number, "delivery-tag": number.to_bytes(4, "big")}
            recorded.data(CLIENT, make_frame("transfer", fields, payload=payload), now_ns)
            if number % RANGE == RANGE - 1:
                recorded.data(SERVER, accept(number - RANGE + 1, number), now_ns + GAP_NS // 2)
        for side in (CLIENT, SERVER):
            now_ns += GAP_NS
            recorded.data(side, make_frame("close", {}), now_ns)
        recorded.end(now_ns + GAP_NS)


def sink(port: int, is_ready: Event) -> None:
    """One connection: says what the captured server said, and accepts what comes."""
    with socket.create_server(("127.0.0.1", port)) as server:
        is_ready.set()
        peer, _ = server.accept()
    answers = [octets for side, octets in opening() if side == SERVER]
    # Which of them answers which frame.
    said = {"open": answers[1:2], "begin": answers[2:3], "attach": answers[3:]}
    cutter = Cutter()
    count = accepted = 0
    with peer:
        while octets := peer.recv(1 << 18):
            for frame in cutter.feed(octets):
                if frame == HEADER:
                    peer.sendall(HEADER)
                    continue
                name = "transfer" if frame[10] == 0x14 else Frame(frame).name
                for answer in said.get(name, ()):
                    peer.sendall(answer)
                count += name == "transfer"
                if name == "close":
                    peer.sendall(make_frame("close", {}))
            while count - accepted >= RANGE:
                peer.sendall(accept(accepted, accepted + RANGE - 1))
                accepted += RANGE


def replayed(path: Path, port: int, mode: str = "wire") -> tuple[float, float]:
    """Transfers a second, by the clock and by the processor's time (on a busy machine they
    differ)."""
    cpu_s: list[float] = []
    script = read_script(str(path))
    plan = Plan([str(path)], target=f"amqp://127.0.0.1:{port}", speed="max", mode=mode)
    plan.causality = "protocol"
    describe(script, plan)
    options = ClientOptions(consent=Consent(captured_target=True))
    options.on_turn = lambda now_ns: cpu_s.append(time.process_time())
    report = replay_client(plan, script, options)
    if any(c.failure or c.skipped_steps for c in report.connections) or report.stopped:
        raise SystemExit(as_text(report))
    return TRANSFERS / report.elapsed_s, TRANSFERS / (cpu_s[-1] - cpu_s[0])


def to_sink(path: Path, mode: str) -> tuple[float, float]:
    (port,) = free_ports(1)
    is_ready = multiprocessing.Event()
    process = multiprocessing.Process(target=sink, args=(port, is_ready), daemon=True)
    process.start()
    is_ready.wait()
    rates = replayed(path, port, mode)
    process.join()
    return rates


def tell(what: str, rates: tuple[float, float]) -> None:
    print(f"  {what:<20}{rates[0]:>9,.0f} transfers/s  {rates[1]:>9,.0f} per CPU second")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transfers.pcap"
        write_capture(path)
        print(f"{TRANSFERS:,} transfers of {len(BODY)} bytes at full speed")
        for mode in ("wire", "semantic"):
            tell(f"to a sink, {mode}", to_sink(path, mode))
        broker = Broker(Path(folder))
        broker.start()
        try:
            tell("to RabbitMQ, wire", replayed(path, broker.port))
        finally:
            broker.stop()


if __name__ == "__main__":
    main()
