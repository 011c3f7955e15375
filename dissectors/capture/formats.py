"""From a path to the reader of its format, by magic number."""

from __future__ import annotations

from collections.abc import Callable

from dissectors.capture.magic import MAGIC_BYTES, PCAP_SHAPES, PCAPNG_MAGIC
from dissectors.capture.pcap import PcapReader
from dissectors.capture.pcapng import PcapngReader
from dissectors.capture.reader import Reader
from dissectors.capture.streams import ByteStream, open_stream

Report = Callable[..., None]

# What people have instead of a capture that we read, and what to do about it.
_FOREIGN: dict[bytes, str] = {
    b"\xfd7zXZ\0": "the file is compressed with xz: unpack it first",
    b"BZh": "the file is compressed with bzip2: unpack it first",
    b"\x04\x22\x4d\x18": "the file is compressed with lz4: unpack it first",
    b"PK\x03\x04": "the file is a zip archive: unpack it first",
    b"\x1f\x8b": "the file is compressed twice: unpack it once",
    b"snoop\0": "the file is a snoop capture: editcap -F pcapng makes a pcapng file of it",
}


def open_reader(path: str, report: Report, secrets: list[bytes]) -> Reader | None:
    """A reader past its file header, or None after telling why there is none."""
    try:
        stream = open_stream(path)
    except OSError as error:
        report("capture.read_error", error.strerror or str(error), capture=path)
        return None
    first = stream.read()
    reader_class = _reader_class(first)
    if reader_class is None:
        _refuse(stream, first, path, report)
        return None
    reader = reader_class(stream, path, report, secrets)
    reader.buf = first
    reader.limit = len(first)
    if not reader.open():
        reader.close()
        return None
    return reader


def _reader_class(first: bytes) -> type[Reader] | None:
    magic = first[:MAGIC_BYTES]
    if magic in PCAP_SHAPES:
        return PcapReader
    return PcapngReader if magic == PCAPNG_MAGIC else None


def _refuse(stream: ByteStream, first: bytes, path: str, report: Report) -> None:
    stream.close()
    if stream.trouble is not None:
        code, detail = stream.trouble
    elif not first:
        code, detail = "capture.empty", "the file is empty"
    else:
        known = (said for magic, said in _FOREIGN.items() if first.startswith(magic))
        code = "capture.unknown_format"
        detail = next(known, "the file is neither pcap nor pcapng")
    report(code, detail, capture=path, bytes_affected=len(first) or None, first_bytes=first[:16])
