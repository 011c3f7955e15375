"""One Spark session for all tests of this folder: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_etl.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    spark = session("local[2]", {"spark.sql.shuffle.partitions": "2"})
    yield spark
    spark.stop()
