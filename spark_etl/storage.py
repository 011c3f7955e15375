"""Folders of output, on any file system that pyarrow knows (a path, ``s3://``, ``hdfs://``).

Results are written aside and moved into place when all of them are whole: a run that fails leaves
the earlier results as they were.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from typing import IO, Any

from pyarrow import fs

from dissectors.writers import WriteError

SCHEME = "://"


class Folder:
    """A folder by its address; safe to send to another process."""

    def __init__(self, address: str) -> None:
        self.address = address if SCHEME in address else os.path.abspath(address)

    def __truediv__(self, name: str) -> Folder:
        return Folder(f"{self.address.rstrip('/')}/{name}")

    @property
    def for_spark(self) -> str:
        """The address as Spark wants it: its default file system need not be ours."""
        return self.address if SCHEME in self.address else f"file://{self.address}"

    @property
    def name(self) -> str:
        return self.address.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> Folder:
        return Folder(self.address.rstrip("/").rpartition("/")[0] or "/")

    def make(self) -> Folder:
        """Create it, with its parents. Raises WriteError."""
        system, path = self._system()
        try:
            system.create_dir(path, recursive=True)
        except OSError as error:
            raise WriteError(f"{self.address}: cannot be made ({_reason(error)})") from None
        return self

    def open_new(self, name: str) -> IO[Any]:
        system, path = self._system()
        return system.open_output_stream(f"{path}/{name}")

    def exists(self) -> bool:
        system, path = self._system()
        return bool(system.get_file_info(path).type != fs.FileType.NotFound)

    def names(self) -> list[str]:
        """What is in it; nothing if there is no such folder."""
        system, path = self._system()
        if system.get_file_info(path).type != fs.FileType.Directory:
            return []
        selector = fs.FileSelector(path)
        return sorted(info.base_name for info in system.get_file_info(selector))

    def size_bytes(self) -> int:
        """Of all files in it, at any depth."""
        system, path = self._system()
        found = system.get_file_info(fs.FileSelector(path, recursive=True))
        return sum(info.size for info in found if info.type == fs.FileType.File)

    def read(self, name: str) -> bytes:
        system, path = self._system()
        with system.open_input_stream(f"{path}/{name}") as file:
            return bytes(file.read())

    def write(self, name: str, data: bytes) -> None:
        """Whole or not at all."""
        aside = f".{name}.{uuid.uuid4().hex[:8]}"
        with self.open_new(aside) as file:
            file.write(data)
        self.move(aside, self, name)

    def move(self, name: str, target: Folder, new_name: str | None = None) -> None:
        """Move a file or folder; what has the new name already is replaced."""
        system, path = self._system()
        target.remove(new_name or name)
        system.move(f"{path}/{name}", f"{target._system()[1]}/{new_name or name}")

    def remove(self, name: str) -> None:
        system, path = self._system()
        info = system.get_file_info(f"{path}/{name}")
        if info.type == fs.FileType.Directory:
            system.delete_dir(info.path)
        elif info.type != fs.FileType.NotFound:
            system.delete_file(info.path)

    def check_writable(self) -> None:
        """Say at once what would else be said after hours of work. Raises WriteError."""
        probe = f".amqpscope-{uuid.uuid4().hex[:8]}"
        try:
            with self.open_new(probe) as file:
                file.write(b"")
            self.remove(probe)
        except OSError as error:
            raise WriteError(f"{self.address}: cannot be written ({_reason(error)})") from None

    def _system(self) -> tuple[fs.FileSystem, str]:
        if SCHEME in self.address:
            system, path = fs.FileSystem.from_uri(self.address)
            return system, path
        return fs.LocalFileSystem(), self.address


def aside_of(target: Folder) -> Folder:
    """A fresh folder beside ``target``, on the same file system. Raises WriteError."""
    target.parent.make()
    aside = target.parent / f".{target.name}.{uuid.uuid4().hex[:8]}"
    try:
        aside.make().check_writable()
    except WriteError as error:  # nobody has heard of that name
        raise WriteError(str(error).replace(aside.address, target.address)) from None
    return aside


def move_into_place(aside: Folder, target: Folder, names: Iterable[str]) -> None:
    """Replace ``names`` in ``target`` by what was written aside; what was not is removed."""
    target.make()
    written = set(aside.names())
    for name in names:
        if name in written:
            aside.move(name, target)
        else:
            target.remove(name)


def _reason(error: OSError) -> str:
    """The system's words, without the lines of context that Arrow adds."""
    if error.errno:
        return os.strerror(error.errno)
    return str(error).partition("\n")[0]
