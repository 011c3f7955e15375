"""The dissectors' tables at scale. The only package that touches pyspark, and only when used."""
