"""Spark types of the tables, derived from ``dissectors.tables``; needs no pyspark itself."""

from __future__ import annotations

from dissectors.tables import Table

SPARK_TYPES: dict[str, str] = {
    "int64": "BIGINT",
    "int32": "INT",
    "bool": "BOOLEAN",
    "ratio": "DOUBLE",
    "word": "STRING",
    "text": "STRING",
    "string": "STRING",
    "hash": "STRING",
    "bytes": "BINARY",
}


def spark_ddl(table: Table) -> str:
    """The table's schema as Spark DDL: what ``spark.read.schema(...)`` takes."""
    return ", ".join(
        f"`{c.name}` {SPARK_TYPES[c.kind]}{'' if c.is_nullable else ' NOT NULL'}"
        for c in table.columns
    )
