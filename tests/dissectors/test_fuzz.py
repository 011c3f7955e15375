"""Random and mutated captures: never an exception, never a hang, never much memory."""

from __future__ import annotations

import random
import resource
import struct
from pathlib import Path

import pytest

import dissectors
from dissectors.capture import CaptureError
from dissectors.detect import PROTOCOL_HEADERS
from tests.builders.talk import Talk, pcap_bytes
from tests.dissectors.test_samples_ledger import assert_ledger
from tests.samples import SAMPLES, manifest
from tests.tables import Tables

MEMORY_LIMIT_KB = 300 * 1024
SMALL = [e["file"] for e in manifest() if e["bytes"] < 40_000]


def digest(path: Path) -> Tables | None:
    tables = Tables()
    try:
        for name, batch in dissectors.open(str(path)):
            batch.validate(full=True)
            tables.setdefault(name, []).extend(batch.to_pylist())
    except CaptureError:
        return None
    return tables


def mutate(data: bytes, rng: random.Random) -> bytes:
    """A few hurts of the kinds that happen: flipped, cut, repeated, zeroed bytes."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 12)):
        at = rng.randrange(len(out))
        kind = rng.randrange(6)
        if kind <= 2:
            out[at] = rng.randrange(256)
        elif kind == 3:
            del out[at : at + rng.randint(1, 40)]
        elif kind == 4:
            out[at:at] = out[at : at + rng.randint(1, 200)]
        else:
            out[at : at + 8] = rng.choice([bytes(8), b"\xff" * 8, struct.pack(">Q", 1 << 31)])
        if not out:
            return b""
    return bytes(out)


def mutate_payloads(path: Path, rng: random.Random) -> bytes:
    """Whole packets, hurt only behind the TCP header, so that the decoders get to see it."""
    data = path.read_bytes()
    out, at = [data[:24]], 24
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        record = bytearray(data[at : at + 16 + length])
        if length > 70 and rng.random() < 0.2:
            for _ in range(rng.randint(1, 4)):
                record[rng.randrange(16 + 66, len(record))] = rng.randrange(256)
        out.append(bytes(record))
        at += 16 + length
    return b"".join(out)


@pytest.mark.parametrize("name", SMALL)
def test_mutated_captures(name, tmp_path):
    rng = random.Random(name)
    copy = tmp_path / "mutated"
    for _ in range(25):
        copy.write_bytes(mutate((SAMPLES / name).read_bytes(), rng))
        tables = digest(copy)
        if tables is not None:
            assert_ledger(tables)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 * MEMORY_LIMIT_KB


@pytest.mark.parametrize("name", [n for n in SMALL if n.endswith(".pcap")])
def test_mutated_payloads(name, tmp_path):
    rng = random.Random(name)
    copy = tmp_path / "mutated"
    for _ in range(25):
        copy.write_bytes(mutate_payloads(SAMPLES / name, rng))
        tables = digest(copy)
        assert tables is not None
        assert_ledger(tables)
        assert not tables.problem_codes()["frame.bug"], [
            p["detail"] for p in tables["problems"] if p["code"] == "frame.bug"
        ]


def test_random_bytes_after_every_header(tmp_path):
    rng = random.Random(5)
    copy = tmp_path / "random.pcap"
    headers = list(PROTOCOL_HEADERS)
    for number in range(200):
        talk = Talk().open().say(0, b"AMQP" + headers[number % len(headers)])
        for _ in range(6):
            talk.say(rng.randrange(2), rng.randbytes(rng.randint(1, 3000)))
        copy.write_bytes(pcap_bytes(talk.close().packets))
        tables = digest(copy)
        assert tables is not None
        assert_ledger(tables)
        assert not tables.problem_codes()["frame.bug"], tables["problems"]
