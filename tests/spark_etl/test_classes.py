"""The archive of Spark's classes: made when asked for, used when there, only by its own Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_etl.classes import archive_of, sharing_options
from tests.samples import sample
from tests.spark_etl.running import python

MAKE = """
import spark_etl.analysis
spark_etl.analysis.write_metrics = lambda *arguments: []
from spark_etl.classes import main
main()
"""
# What the JVM of a session maps.
USE = """
from pathlib import Path
from spark_etl.session import session
java = session("local[1]").sparkContext._jvm.java.lang.ProcessHandle.current().pid()
print(Path(f"/proc/{java}/maps").read_text())
"""


def test_an_archive_is_of_one_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    homes = [tmp_path / name for name in ("old", "new")]
    for home in homes:
        home.mkdir()
        (home / "release").write_text(home.name)
    archives = [archive_of(str(home)) for home in homes]
    assert archives[0] is not None and archives[0] != archives[1]
    assert sharing_options(str(homes[0])) == ""
    archives[0].write_bytes(b"classes")
    assert str(archives[0]) in sharing_options(str(homes[0]))
    assert sharing_options(str(homes[1])) == ""


@pytest.mark.slow
def test_a_session_maps_the_classes_of_an_earlier_one(tmp_path: Path) -> None:
    archive = python(MAKE, sample("01"), XDG_CACHE_HOME=str(tmp_path)).strip()
    assert [str(path) for path in Path(archive).parent.glob("*classes*")] == [archive]
    assert archive in python(USE, XDG_CACHE_HOME=str(tmp_path))
