"""Which files are meant, and in which pieces they are read.

A file of ordinary size is one piece. A large one that is not compressed is walked once, header
by header, and cut at places that are known for certain (``dissectors.capture.splits``). What is
wrong with such a file is told by this walk and then carried by its first piece, so that it is
told exactly once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pyspark.sql.datasource import InputPartition

from dissectors.capture.formats import open_reader
from dissectors.capture.paths import expand_paths
from dissectors.capture.reader import Reader
from dissectors.capture.splits import Mark, find_marks

SPLIT_BYTES = 128 * 1024 * 1024
# A last piece shorter than this share of the others is not worth a walk over the file.
SLACK = 1.5
# To open a file takes as long as to read this much of it.
OPEN_COST_BYTES = 256 * 1024

Report = Callable[..., None]
Problem = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """``name`` is what the user called it and what the tables say; ``path`` is where it is."""

    name: str
    path: str
    size_bytes: int


@dataclass(slots=True)
class Split:
    """A piece of a file, from a mark to a packet; the whole file without them."""

    file: CaptureFile
    size_bytes: int
    mark: Mark | None = None
    last_packet_no: int | None = None
    # Of a file that was walked: what was found then. None: the reader is to tell.
    problems: list[Problem] | None = None
    secrets: list[bytes] = field(default_factory=list)

    @property
    def is_piece(self) -> bool:
        return self.problems is not None


@dataclass
class Share(InputPartition):
    """What one task reads: pieces of about the same size together, small files many at once."""

    splits: list[Split]


def find_files(paths: Iterable[str]) -> list[CaptureFile]:
    """The capture files meant, in the order of their names. Raises CaptureError."""
    return [
        CaptureFile(name, os.path.abspath(name), os.path.getsize(name))
        for name in sorted(expand_paths(paths))
    ]


def plan_splits(files: Iterable[CaptureFile], split_bytes: int = SPLIT_BYTES) -> list[Split]:
    """The pieces of all files; every file has one at least, also where it cannot be read."""
    return [split for file in files for split in _split(file, split_bytes)]


def share_out(splits: Iterable[Split], share_bytes: int) -> list[Share]:
    """Shares of at most ``share_bytes``, but for pieces that are larger by themselves."""
    shares: list[Share] = []
    room = 0
    for split in splits:
        cost = split.size_bytes + OPEN_COST_BYTES
        if cost > room or not shares:
            shares.append(Share([]))
            room = share_bytes
        shares[-1].splits.append(split)
        room -= cost
    return shares


def open_file(file: CaptureFile, report: Report, secrets: list[bytes]) -> Reader | None:
    """A reader that speaks of the file by its name; None after telling why there is none."""

    def named(code: str, detail: str, **where: Any) -> None:
        if where.get("capture") == file.path:
            where["capture"] = file.name
        report(code, detail, **where)

    reader = open_reader(file.path, named, secrets)
    if reader is not None:
        reader.capture = file.name
    return reader


def _split(file: CaptureFile, split_bytes: int) -> list[Split]:
    if file.size_bytes <= split_bytes * SLACK:
        return [Split(file, file.size_bytes)]
    problems: list[Problem] = []
    secrets: list[bytes] = []

    def report(code: str, detail: str, **where: Any) -> None:
        problems.append((code, detail, where))

    reader = open_file(file, report, secrets)
    if reader is None or reader.stream.is_compressed:
        if reader is not None:
            reader.stream.close()
        return [Split(file, file.size_bytes)]
    marks = find_marks(reader, split_bytes)
    reader.close()
    ends: list[int | None] = [*(mark.packet_no for mark in marks), None]
    offsets = [0, *(mark.offset for mark in marks), file.size_bytes]
    sizes = [end - begin for begin, end in pairwise(offsets)]
    first = Split(file, sizes[0], None, ends[0], problems, secrets)
    later = [
        Split(file, size, mark, end, problems=[])
        for size, mark, end in zip(sizes[1:], marks, ends[1:], strict=True)
    ]
    return [first, *later]
