"""New capture files of a folder as a stream: each is taken once, when it is whole.

A file that is still being written must not be taken. It counts as whole when nobody has written
to it for ``quiet_seconds`` (default 5).

Which files were taken, and in which order, is kept in a log (option ``log``: a folder); an offset
is a number of lines in it. So a batch that has to be done again has the very same files.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from dissectors.capture.paths import CaptureError
from spark_etl.source.datasource import Layout, paths_option
from spark_etl.source.plan import CaptureFile, find_files, plan_splits, share_out

QUIET_SECONDS = 5.0
LOG_NAME = "files.jsonl"


class FileLog:
    """The files taken so far: one JSON line each."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, LOG_NAME)

    def files(self, start: int = 0, end: int | None = None) -> list[CaptureFile]:
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as log:
            # A line without its end was cut by a crash and is written again.
            lines = [line for line in log if line.endswith("\n")]
        return [CaptureFile(**json.loads(line)) for line in lines[start:end]]

    def append(self, files: Sequence[CaptureFile]) -> None:
        """Written aside and renamed: it has a line wholly, or not."""
        os.makedirs(self.folder, exist_ok=True)
        known = self.files()
        aside = self.path + ".new"
        with open(aside, "w", encoding="utf-8") as log:
            for file in (*known, *files):
                log.write(json.dumps({name: getattr(file, name) for name in file.__slots__}) + "\n")
            log.flush()
            os.fsync(log.fileno())
        os.replace(aside, self.path)


def whole_files(paths: Sequence[str], quiet_seconds: float) -> list[CaptureFile]:
    """Files that nobody writes to any more, as far as one can tell from outside."""
    try:
        files = find_files(paths)
    except CaptureError:
        return []  # nothing is there yet
    limit = time.time() - quiet_seconds
    return [file for file in files if os.path.getmtime(file.path) <= limit]


class CaptureStreamReader(DataSourceStreamReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        self.layout = Layout(options)
        self.paths = paths_option(options)
        if "log" not in options:
            raise ValueError("a stream of amqp_pcap needs a log: a folder that remembers the files")
        self.log = FileLog(options["log"])
        self.quiet_seconds = float(options.get("quiet_seconds", QUIET_SECONDS))

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's)
        return {"files": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        known = self.log.files()
        paths = {file.path for file in known}
        fresh = [f for f in whole_files(self.paths, self.quiet_seconds) if f.path not in paths]
        if fresh:
            self.log.append(fresh)
        return {"files": len(known) + len(fresh)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        files = self.log.files(start["files"], end["files"])
        return share_out(plan_splits(files, self.layout.split_bytes), self.layout.split_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.layout.read(partition, [])

    def commit(self, end: dict[str, Any]) -> None:
        """The log is what remembers."""
