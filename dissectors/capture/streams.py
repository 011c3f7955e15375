"""Bytes of a capture file in blocks: plain, gzip or zstd, from disk or a pipe.

A damaged or cut compressed file ends early and says why in ``trouble``; what came out before the
damage is kept. Memory is bounded: compressed input is fed in steps so small that even a
decompression bomb gives a bounded block.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

# Small enough to stay in a processor's cache, large enough for the system calls not to show.
BLOCK_BYTES = 256 * 1024
# The first block is small: looking at the start of many files should be cheap.
FIRST_BLOCK_BYTES = 64 * 1024
# deflate expands at most 1032 times, a zstd RLE block 4 bytes to 128 KiB.
GZIP_STEP_BYTES = 16 * 1024
ZSTD_STEP_BYTES = 2 * 1024
# What the zstd tool itself accepts without --memory.
ZSTD_MAX_WINDOW_BYTES = 128 * 1024 * 1024

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# Skippable frames, which parallel zstd tools write first, are 0x184D2A50 to 0x184D2A5F.
ZSTD_SKIPPABLE_END = b"\x2a\x4d\x18"


class ByteStream:
    """``read()`` gives the next block, ``b""`` at the end; then ``trouble`` says if it was early.

    ``raw_bytes`` counts what was read from the file itself, for progress.
    """

    def __init__(self, file: BinaryIO, size: int | None, is_owned: bool = True) -> None:
        self.file = file
        self.size = size
        self.is_owned = is_owned
        self.raw_bytes = 0
        self.trouble: tuple[str, str] | None = None
        self._head = self._read_file(FIRST_BLOCK_BYTES)
        while self._head and len(self._head) < 4:  # a pipe may give less than a magic number
            more = self._read_file(FIRST_BLOCK_BYTES)
            if not more:
                break
            self._head += more
        self._next_block = self._plain_block
        kind = _compression(self._head)
        if kind is not None:
            self._unpacker = _Unpacker(*kind, self._plain_block)
            self._next_block = self._unpacked_block

    def read(self) -> bytes:
        return self._next_block()

    def read_on(self, count: int) -> bytes:
        """The last ``count`` bytes again and the next block behind them, so that nobody has to
        join the two; ``b""`` where there is no next block, or the way back is not free."""
        if self.size is None or self.is_compressed or self._head:
            return b""
        self.file.seek(-count, os.SEEK_CUR)
        data = self._read_file(count + BLOCK_BYTES)
        # Also where reading failed, or the file was cut meanwhile.
        again = min(count, len(data))
        self.raw_bytes -= again
        if len(data) <= count:
            self.file.seek(count - again, os.SEEK_CUR)
            return b""
        return data

    @property
    def is_compressed(self) -> bool:
        return self._next_block != self._plain_block

    def seek(self, offset: int) -> None:
        """Go on at a place of a file that is not compressed."""
        self.file.seek(offset)
        self._head = b""

    def close(self) -> None:
        if self.is_owned:
            self.file.close()

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _plain_block(self) -> bytes:
        head, self._head = self._head, b""
        return head or self._read_file(BLOCK_BYTES)

    def _unpacked_block(self) -> bytes:
        block = self._unpacker.read()
        if self._unpacker.trouble and self.trouble is None:
            self.trouble = ("capture.bad_compression", self._unpacker.trouble)
        return block

    def _read_file(self, size: int) -> bytes:
        # read1 gives what a pipe has now instead of waiting for a whole block.
        try:
            data = getattr(self.file, "read1", self.file.read)(size) or b""
        except OSError as error:
            self.trouble = ("capture.read_error", error.strerror or str(error))
            return b""
        self.raw_bytes += len(data)
        return data


class _Unpacker:
    """Concatenated gzip members or zstd frames → blocks of content."""

    def __init__(
        self,
        name: str,
        new_decoder: Callable[[], Any],
        step_bytes: int,
        next_block: Callable[[], bytes],
    ) -> None:
        self.name = name
        self.trouble: str | None = None
        self._new_decoder = new_decoder
        self._step_bytes = step_bytes
        self._next_block = next_block
        self._input = b""
        self._position = 0
        self._decoder: Any = None
        self._has_member = False
        self._is_over = False

    def read(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        while size < FIRST_BLOCK_BYTES and not self._is_over:
            step = self._take_input()
            if not step:
                self._is_over = True
                if self._decoder is not None:
                    self.trouble = f"the {self.name} data ends early"
                break
            data = self._unpack(step)
            size += len(data)
            parts.append(data)
        return b"".join(parts)

    def _take_input(self) -> bytes:
        if self._position >= len(self._input):
            self._input, self._position = self._next_block(), 0
        step = self._input[self._position : self._position + self._step_bytes]
        self._position += len(step)
        return step

    def _unpack(self, step: bytes) -> bytes:
        if self._decoder is None:
            # Padding with zeros after the last member is usual on tapes and block devices.
            if self._has_member and not step.strip(b"\0"):
                return b""
            self._decoder = self._new_decoder()
        try:
            data: bytes = self._decoder.decompress(step)
        except Exception as error:  # zlib.error, zstandard.ZstdError: both only mean bad data
            self._is_over = True
            self.trouble = f"the {self.name} data is damaged: {error}"
            return b""
        if self._decoder.eof:
            self._position -= len(self._decoder.unused_data)
            self._decoder = None
            self._has_member = True
        return data


def _new_gzip_decoder() -> Any:
    return zlib.decompressobj(16 + zlib.MAX_WBITS)


def _new_zstd_decoder() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW_BYTES).decompressobj()


def _compression(head: bytes) -> tuple[str, Callable[[], Any], int] | None:
    if head[:2] == GZIP_MAGIC:
        return "gzip", _new_gzip_decoder, GZIP_STEP_BYTES
    is_skippable = head[1:4] == ZSTD_SKIPPABLE_END and head[0] >> 4 == 5
    if head[:4] == ZSTD_MAGIC or is_skippable:
        return "zstd", _new_zstd_decoder, ZSTD_STEP_BYTES
    return None


def open_stream(path: str) -> ByteStream:
    """Open ``path`` (``-`` is standard input). Raises OSError."""
    if path == "-":
        return ByteStream(sys.stdin.buffer, None, is_owned=False)
    file = open(path, "rb", buffering=0)  # noqa: SIM115 - the stream owns and closes it
    status = os.fstat(file.fileno())
    is_regular = stat.S_ISREG(status.st_mode)
    return ByteStream(file, status.st_size if is_regular else None)
