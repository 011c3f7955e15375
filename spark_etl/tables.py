"""The dissectors' tables as DataFrames: one file each, or a folder of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from dissectors.capture.paths import CaptureError
from dissectors.tables import CORE_TABLES, TABLES
from spark_etl.parts import SUFFIX
from spark_etl.schema import spark_ddl
from spark_etl.storage import Folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


# Tables of up to so many rows are one partition: what they are made into needs no shuffle then.
ROWS_IN_ONE_PARTITION = "spark.amqpscope.rowsInOnePartition"


class Tables(dict[str, "DataFrame"]):
    """Tables by name, and how many rows each has."""

    def __init__(self) -> None:
        super().__init__()
        self.row_counts: dict[str, int] = {}


def has_tables(folder: Folder) -> bool:
    """Whether a folder holds tables of an earlier run, of ours or of ``amqpscope dissect``."""
    return set(folder.names()).issuperset(f"{name}{SUFFIX}" for name in CORE_TABLES)


def read_tables(spark: SparkSession, folder: Folder) -> Tables:
    """Every core table by name, with the columns that ``dissectors.tables`` defines."""
    tables = Tables()
    for name in CORE_TABLES:
        file = folder / f"{name}{SUFFIX}"
        tables[name], tables.row_counts[name] = read_table(spark, file, spark_ddl(TABLES[name]))
    return tables


def read_table(
    spark: SparkSession, file: Folder, schema: str | StructType
) -> tuple[DataFrame, int]:
    """A Parquet table and its number of rows, which its footers tell.

    Of one without rows Spark is told so: it leaves out of its plans all that comes of it."""
    frame = spark.read.schema(schema).parquet(file.for_spark)
    count = count_rows(file)
    if not count:
        frame = frame.where("false")
    elif count <= int(str(spark.conf.get(ROWS_IN_ONE_PARTITION, "0"))):
        frame = frame.coalesce(1)
    return frame, count


def count_rows(file: Folder) -> int:
    """Raises CaptureError where it is no Parquet."""
    system, path = fs.FileSystem.from_uri(file.address)
    try:
        return int(ds.dataset(path, filesystem=system, format="parquet").count_rows())
    except pa.ArrowInvalid as error:
        reason = str(error).partition("\n")[0]
        raise CaptureError(f"{file.address}: is no Parquet table ({reason})") from None
