"""The same metrics by other ways: with the settings for large captures, from a folder of tables,
and on a cluster of other processes.

Each way is the command line's, in a process of its own. What it writes is held against the metrics
that the session of these tests (settings for small captures) computes from the same tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.generate import generate
from spark_etl.analysis import write_metrics
from spark_etl.session import MEDIUM_BYTES, SMALL_BYTES, SMALL_SETTINGS, settings_for
from spark_etl.storage import Folder
from spark_etl.tables import read_tables
from tests.samples import sample
from tests.spark_etl.metrics.comparing import metric_differences, metric_rows
from tests.spark_etl.running import python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Starved, drained and windowed links, a full prefetch, slow answers, redelivery, transactions.
EVENTFUL = [sample(name) for name in ("02", "03", "11a", "11c", "12a", "17", "30", "31", "33")]


def amqpscope(*arguments: str, before: str = "") -> str:
    """``before``: lines of Python that change something first."""
    return python(f"{before}\nfrom amqpscope.cli.main import main; main()", *arguments)


def metrics_of(spark: SparkSession, tables: Path, folder: Path) -> Path:
    write_metrics(read_tables(spark, Folder(str(tables))), Folder(str(folder)).make(), None)
    return folder


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eventful") / "tables"
    amqpscope("dissect", *EVENTFUL, "-o", str(folder))
    return folder


@pytest.fixture(scope="module")
def expected(spark: SparkSession, tables: Path) -> Path:
    return metrics_of(spark, tables, tables.parent / "expected")


def test_from_a_folder_of_tables(tables: Path, expected: Path, tmp_path: Path) -> None:
    said = amqpscope("analyze", str(tables), "-o", str(tmp_path / "out"))
    assert metric_differences(tmp_path / "out", expected) == {}
    assert all(metric_rows(expected).values())
    assert "who held up whom" in said
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"{name}.parquet" for name in metric_rows(expected)}


def test_on_a_local_cluster_with_the_settings_for_the_largest_captures(
    tables: Path, expected: Path, tmp_path: Path
) -> None:
    """Everything counts as large: code is generated, plans adapt, the JVM is as it comes."""
    all_is_large = "import spark_etl.session as s; s.SMALL_BYTES = s.MEDIUM_BYTES = -1"
    out = str(tmp_path / "out")
    cluster = ("--master", "local-cluster[2,1,1024]")
    amqpscope("analyze", str(tables), "-o", out, *cluster, before=all_is_large)
    assert metric_differences(tmp_path / "out", expected) == {}


@pytest.mark.parametrize("dialect", ["0-9-1", "1.0"])
def test_with_the_settings_for_larger_captures(
    spark: SparkSession, dialect: str, tmp_path: Path
) -> None:
    capture = tmp_path / "busy.pcap"
    generate(capture, dialect, 1.2 * SMALL_BYTES / 1e6, loss=0.001, reorder=0.01)
    settings = settings_for(capture.stat().st_size, None)
    assert not settings.keys() & {"spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"}
    amqpscope("analyze", str(capture), "-o", str(tmp_path / "out"))
    small = metrics_of(spark, tmp_path / "out", tmp_path / "small")
    assert metric_differences(tmp_path / "out", small) == {}
    assert sum(metric_rows(small)["end_to_end"].values()) > 1000


def test_settings_follow_the_size_of_the_input() -> None:
    assert settings_for(SMALL_BYTES, None) == SMALL_SETTINGS
    assert settings_for(SMALL_BYTES, "spark://host:7077") == {}
    java = "spark.driver.extraJavaOptions"
    assert java in settings_for(MEDIUM_BYTES, None)
    assert java not in settings_for(MEDIUM_BYTES + 1, None)
    sizes = [int(settings_for(2**n, None)["spark.sql.shuffle.partitions"]) for n in (28, 38, 40)]
    assert sizes == sorted(sizes) and sizes[2] == 4 * sizes[1]
