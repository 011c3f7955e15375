"""Which files a user means: files, folders, globs and ``-``, in a stable order, each once.

It refuses to know formats beyond the magic numbers that tell a capture from other files.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator

from dissectors.capture.magic import is_capture_magic
from dissectors.capture.streams import open_stream

STDIN = "-"
CAPTURE_SUFFIXES = (".pcap", ".pcapng", ".cap")
COMPRESSED_SUFFIXES = (".gz", ".zst")


class CaptureError(Exception):
    """A mistake of the user about the captures; its text is the one line to show."""


def expand_paths(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The capture files meant by ``paths``, sorted within each folder or glob, without repeats."""
    found: dict[str, str] = {}
    for given in paths:
        for path in _expand(os.fspath(given)):
            identity = path if path == STDIN else os.path.realpath(path)
            found.setdefault(identity, path)
    return list(found.values())


def _expand(path: str) -> list[str]:
    if path == STDIN:
        return [path]
    if os.path.isdir(path):
        captures = list(_captures_below(path))
        if not captures:
            raise CaptureError(f"{path}: no capture file in this folder")
        return captures
    if os.path.exists(path):
        return [path]
    if not glob.has_magic(path):
        raise CaptureError(f"{path}: no such file or folder")
    captures = []
    for match in sorted(glob.glob(path, recursive=True)):
        captures += _captures_below(match) if os.path.isdir(match) else [match]
    if not captures:
        raise CaptureError(f"{path}: no file matches")
    return captures


def _captures_below(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            if os.path.isfile(path) and (_has_capture_suffix(name) or _has_capture_magic(path)):
                yield path


def _has_capture_suffix(name: str) -> bool:
    name = name.lower()
    stem, suffix = os.path.splitext(name)
    return (stem if suffix in COMPRESSED_SUFFIXES else name).endswith(CAPTURE_SUFFIXES)


def _has_capture_magic(path: str) -> bool:
    try:
        stream = open_stream(path)
    except OSError:
        return False
    with stream:
        return is_capture_magic(stream.read())
