"""One Spark session for all tests of this folder: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_etl.session import SMALL_SETTINGS, session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    spark = session("local[2]", SMALL_SETTINGS)
    yield spark
    spark.stop()
