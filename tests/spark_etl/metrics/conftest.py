"""All scenes go through Spark once; the tests look at the rows that came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from spark_etl.metrics import MetricOptions, compute
from tests.spark_etl.metrics.book import Book
from tests.spark_etl.metrics.found import Found
from tests.spark_etl.metrics.scenes import SCENES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="session")
def scene_tables(spark: SparkSession) -> dict[str, DataFrame]:
    book = Book()
    for scene in SCENES:
        scene(book)
    return book.frames(spark)


@pytest.fixture(scope="session")
def scenes(scene_tables: dict[str, DataFrame]) -> Rows:
    """Rows of every metric table, over all scenes."""
    frames = compute(scene_tables, MetricOptions())
    return {name: [row.asDict() for row in frame.collect()] for name, frame in frames.items()}


@pytest.fixture(scope="session")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Found:
    return Found(spark, tmp_path_factory.mktemp("samples"))
