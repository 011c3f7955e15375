"""Makes a large capture from a seed: ``python -m bench.generate out.pcap --megabytes 100``."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import click

from bench import traffic09, traffic10
from bench.packets import Capture, Conversation

CONNECTIONS = 8


def generate(
    path: Path,
    dialect: str,
    megabytes: float,
    seed: int = 1,
    loss: float = 0.0,
    reorder: float = 0.0,
    connections: int = CONNECTIONS,
) -> None:
    """The same arguments give the same file, octet by octet."""
    rng = random.Random(seed)
    with open(path, "wb", buffering=1 << 20) as file:
        capture = Capture(file, random.Random(seed + 1), loss, reorder)
        talks = [Conversation(capture, number, traffic09.PORT) for number in range(connections)]
        makers: list[Iterator[None]] = [
            traffic09.rounds(talk, rng)
            if dialect == "0-9-1"
            else traffic10.rounds(talk, rng, number)
            for number, talk in enumerate(talks)
        ]
        while capture.size < megabytes * 1_000_000:
            for maker in makers:
                next(maker)
        for talk in talks:
            talk.close()
        capture.finish()


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dialect", type=click.Choice(["0-9-1", "1.0"]), default="0-9-1", show_default=True)
@click.option("--megabytes", type=float, default=100, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--loss", type=float, default=0.0, help="Share of packets left out, 0 to 1.")
@click.option("--reorder", type=float, default=0.0, help="Share of packets swapped, 0 to 1.")
@click.option("--connections", type=int, default=CONNECTIONS, show_default=True)
def main(
    path: Path,
    dialect: str,
    megabytes: float,
    seed: int,
    loss: float,
    reorder: float,
    connections: int,
) -> None:
    """Write a capture of busy AMQP connections to PATH."""
    generate(path, dialect, megabytes, seed, loss, reorder, connections)


if __name__ == "__main__":
    main()
