"""What tshark says about a capture, for the places where it is right and those where it is not."""

from __future__ import annotations

import subprocess

import pytest

from tests.live.needs import program


def tshark_fields(path: str, *names: str, display: str = "amqp") -> list[list[str]]:
    """One row per packet that passes the display filter."""
    command = [program("tshark", "tshark"), "-n", "-r", path, "-Y", display, "-T", "fields"]
    for name in names:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        pytest.fail(done.stderr)
    return [line.split("\t") for line in done.stdout.splitlines()]


def tshark_text(path: str) -> str:
    """All that it shows of the packets, in words."""
    command = [program("tshark", "tshark"), "-n", "-r", path, "-V", "-O", "amqp"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
