"""The dissectors' tables as DataFrames: one file each, or a folder of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissectors.tables import CORE_TABLES, TABLES
from spark_etl.parts import SUFFIX
from spark_etl.schema import spark_ddl
from spark_etl.storage import Folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def has_tables(folder: Folder) -> bool:
    """Whether a folder holds tables of an earlier run, of ours or of ``amqpscope dissect``."""
    return set(folder.names()).issuperset(f"{name}{SUFFIX}" for name in CORE_TABLES)


def read_tables(spark: SparkSession, folder: Folder) -> dict[str, DataFrame]:
    """Every core table by name, with the columns that ``dissectors.tables`` defines."""
    return {
        name: spark.read.schema(spark_ddl(TABLES[name])).parquet(
            (folder / f"{name}{SUFFIX}").for_spark
        )
        for name in CORE_TABLES
    }
