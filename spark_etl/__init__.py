"""The dissectors' tables at scale. The only package that touches pyspark, and only when used."""

from spark_etl.load import load

__all__ = ["load"]
