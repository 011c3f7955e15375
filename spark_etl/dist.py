"""Our own code as an archive that Spark can ship: ``make dist``, or by itself where needed.

The archive holds the plain sources, which run anywhere with the same results. The compiled
modules belong to one platform and cannot be loaded from an archive; a second one, to be unpacked
by Spark (``--archives``), holds them too.
"""

from __future__ import annotations

import argparse
import atexit
import shutil
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spark_etl.session import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("dissectors", "spark_etl")
ROOT = Path(__file__).resolve().parents[1]
# Settings by which a user has sent our code already.
_GIVEN = ("spark.submit.pyFiles", "spark.archives")
_EXTENSION = sysconfig.get_config_var("EXT_SUFFIX") or ".so"


def write_sources(path: Path) -> Path:
    """The plain sources, for ``--py-files``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _files((".py",)):
            archive.write(file, file.relative_to(ROOT))
    return path


def write_compiled(path: Path) -> Path:
    """Sources and compiled modules of this platform, for ``--archives``."""
    with tarfile.open(path, "w:gz") as archive:
        for file in _files((".py", _EXTENSION)):
            archive.add(file, str(file.relative_to(ROOT)))
    return path


def ship(spark: SparkSession) -> None:
    """Let the workers find our code, unless the user has sent it; before ``register``.

    On this machine they find it where this process did, compiled modules and all; others are sent
    the plain sources."""
    if any(spark.conf.get(name, "") for name in _GIVEN):
        return
    context = spark.sparkContext
    if is_local(str(context.master)):
        context.environment["PYTHONPATH"] = str(ROOT)
    else:
        folder = Path(tempfile.mkdtemp(prefix="amqpscope-ship-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        context.addPyFile(str(write_sources(folder / "amqpscope.zip")))


def _files(suffixes: tuple[str, ...]) -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and path.name.endswith(suffixes):
                yield path


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the archives for spark-submit.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    platform = sysconfig.get_platform()
    print(write_sources(folder / "amqpscope-sources.zip"))
    print(write_compiled(folder / f"amqpscope-{platform}.tar.gz"))


if __name__ == "__main__":
    main()
