"""One Spark session for all tests of this folder: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_etl.session import session

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    # Short-lived: compiling to the last degree costs more than it gives back.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    spark = session("local[2]", SETTINGS)
    yield spark
    spark.stop()
