"""Tables and metrics of many samples, computed once for the tests that look at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spark_etl.metrics import MetricOptions, compute
from tests.samples import sample as sample_path
from tests.spark_etl.metrics.book import NAMES

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

SAMPLES = ("01", "02", "03", "08", "10a", "11a", "11b", "11c", "12a", "14a", "14b", "14c", "17",
           "30", "31", "33")  # fmt: skip


class Found:
    """Tables and metrics of all samples together, and which connection is of which sample."""

    def __init__(self, spark: SparkSession, folder: Any) -> None:
        from amqpscope.dissection import dissect
        from dissectors.options import Options
        from spark_etl import load

        self.sample_of: dict[str, str] = {}
        for name in SAMPLES:
            dissect([sample_path(name)], Options(), str(folder / name), "parquet")
            for connection in load(folder / name)["connections"]["connection_id"]:
                self.sample_of[connection] = name
        paths = {n: [str(folder / s / f"{n}.parquet") for s in SAMPLES] for n in NAMES}
        self.frames = {n: spark.read.parquet(*p).coalesce(2).cache() for n, p in paths.items()}
        self.tables = {n: self._named(f) for n, f in self.frames.items()}
        metrics = compute(self.frames, MetricOptions())
        self.metrics = {n: self._named(f) for n, f in metrics.items()}
        metrics.release()

    def _named(self, frame: Any) -> pd.DataFrame:
        import pandas as pd

        # As objects: a column of nanoseconds with gaps would become floating point.
        cells = [tuple(row) for row in frame.collect()]
        rows = pd.DataFrame(cells, columns=frame.columns, dtype=object)
        key = "connection_id" if "connection_id" in rows else "publish_connection_id"
        rows["sample"] = rows[key].map(self.sample_of)
        return rows

    def of(self, sample: str, table: str, **cells: Any) -> pd.DataFrame:
        rows = self.metrics[table]
        rows = rows[rows["sample"] == sample]
        for name, value in cells.items():
            rows = rows[rows[name] == value]
        return rows
