"""New files as they come: at all times the tables of one run over all of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import spark_etl.watch
from spark_etl.analysis import Request
from spark_etl.watch import watch
from tests.samples import parts, sample
from tests.spark_etl.comparing import differences, dissected, written


@pytest.fixture(autouse=True)
def no_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have tests of their own, and take longer than all the rest here."""
    monkeypatch.setattr(spark_etl.watch, "write_metrics", lambda *_args: [])


def take(spark, inbox: Path, out: Path) -> None:
    request = Request([str(inbox)], str(out), partitions=2)
    watch(spark, request, is_once=True, quiet_seconds=0)


def test_rotated_files_one_after_the_other(spark, tmp_path: Path, monkeypatch) -> None:
    """Connections go on over the files; a run dies in the middle and is begun again."""
    inbox, out = tmp_path / "inbox", tmp_path / "out"
    inbox.mkdir()
    first, second, *others = parts("23g")
    shutil.copy(first, inbox)
    take(spark, inbox, out)
    assert differences(written(out), dissected(str(inbox))) == {}
    open_rows = [path.name for path in (out / "frames.parquet").iterdir()]
    assert any(name.startswith("open-") for name in open_rows)

    shutil.copy(second, inbox)
    with monkeypatch.context() as patch:
        patch.setattr(spark_etl.watch.Batches, "_commit", _die)
        with pytest.raises(Exception, match="power cut"):
            take(spark, inbox, out)
    take(spark, inbox, out)
    assert differences(written(out), dissected(str(inbox))) == {}

    for path in (*others, sample("10a")):
        shutil.copy(path, inbox)
    take(spark, inbox, out)
    wanted = dissected(str(inbox))
    assert differences(written(out), wanted) == {}
    take(spark, inbox, out)
    assert differences(written(out), wanted) == {}


def test_a_late_file_is_put_in_its_place(spark, tmp_path: Path) -> None:
    """Its connections were finished without it: everything is done again."""
    inbox, out = tmp_path / "inbox", tmp_path / "out"
    inbox.mkdir()
    rotated = parts("23g")
    shutil.copy(rotated[0], inbox)
    shutil.copy(rotated[2], inbox)
    shutil.copy(sample("33"), inbox)  # recorded much later
    take(spark, inbox, out)
    shutil.copy(rotated[1], inbox)
    take(spark, inbox, out)
    assert differences(written(out), dissected(str(inbox))) == {}
    assert not any(row[2] == "capture.late" for row in written(out)["problems"])


def _die(*_args) -> None:
    raise OSError("power cut")
