"""Blocks of a file: what was read is given again in one piece with what follows, or not at all."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from dissectors.capture.streams import BLOCK_BYTES, FIRST_BLOCK_BYTES, ByteStream, open_stream

OCTETS = bytes(range(251)) * 3000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "octets"
    found.write_bytes(OCTETS)
    return found


@pytest.mark.parametrize("kept", [0, 1, 1000, FIRST_BLOCK_BYTES])
def test_the_end_of_a_block_comes_again_with_the_next(path: Path, kept: int) -> None:
    with open_stream(str(path)) as stream:
        first = stream.read()
        assert stream.read_on(kept) == OCTETS[len(first) - kept : len(first) + BLOCK_BYTES]
        assert stream.raw_bytes == len(first) + BLOCK_BYTES
        assert stream.read() == OCTETS[len(first) + BLOCK_BYTES : len(first) + 2 * BLOCK_BYTES]


def test_at_the_end_nothing_comes_and_nothing_is_counted(path: Path) -> None:
    with open_stream(str(path)) as stream:
        while stream.read():
            pass
        assert stream.read_on(100) == b""
        assert (stream.raw_bytes, stream.trouble) == (len(OCTETS), None)
        with path.open("ab") as file:
            file.write(b"more")
        assert stream.read() == b"more"


def test_a_file_that_was_cut_meanwhile_gives_nothing(path: Path) -> None:
    with open_stream(str(path)) as stream:
        size = len(stream.read())
        os.truncate(path, 100)
        assert stream.read_on(size) == b""
        assert stream.raw_bytes == size
        assert stream.read() == b""


def test_there_is_no_way_back_in_a_pipe() -> None:
    out, into = os.pipe()
    with os.fdopen(into, "wb") as file:
        file.write(OCTETS[:2000])
    with ByteStream(os.fdopen(out, "rb", buffering=0), None) as stream:
        assert stream.read() == OCTETS[:2000]
        assert stream.read_on(10) == b""


def test_nor_in_a_compressed_file(path: Path) -> None:
    path.write_bytes(gzip.compress(OCTETS))
    with open_stream(str(path)) as stream:
        octets = stream.read()
        assert stream.read_on(10) == b""
        while block := stream.read():
            octets += block
    assert octets == OCTETS
