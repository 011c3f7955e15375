"""Spark's view of the tables."""

from __future__ import annotations

from dissectors.tables import KINDS, TABLES
from spark_etl.schema import SPARK_TYPES, spark_ddl


def test_every_kind_of_column_has_a_spark_type() -> None:
    assert set(SPARK_TYPES) == set(KINDS)


def test_ddl_names_every_column_in_order_with_its_null_rule() -> None:
    ddl = spark_ddl(TABLES["payloads"])
    assert ddl == (
        "`connection_id` STRING NOT NULL, `transfer_id` BIGINT NOT NULL, `body` BINARY NOT NULL"
    )
    assert spark_ddl(TABLES["frames"]).count(",") == len(TABLES["frames"].columns) - 1
