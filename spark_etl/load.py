"""The tables of an output folder as pandas, without Spark.

``spark_etl.load(DIR)["stalls"]`` reads a table when it is asked for, from a file
(``stalls.parquet``) or from a folder of part files (``stalls.parquet/``, ``stalls/``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_SUFFIX = ".parquet"


class Tables(Mapping[str, "pd.DataFrame"]):
    """Tables by name, each read once, when it is asked for.

    Whole numbers and booleans with gaps keep their type (pandas' Int64, boolean): nanoseconds
    do not survive as floating point.
    """

    def __init__(self, paths: dict[str, Path]) -> None:
        self._paths = paths
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._read:
            self._read[name] = self.read(name)
        return self._read[name]

    def read(self, name: str, columns: list[str] | None = None) -> pd.DataFrame:
        """Some columns of a table, for those that are too large to read whole."""
        return _frame(self._paths[name], columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        return f"Tables({', '.join(self._paths)})"


def load(folder: str | os.PathLike[str]) -> Tables:
    """Every table in an output folder of ``amqpscope analyze`` or ``amqpscope dissect``."""
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"{root} is no folder")
    found = {
        path.name.removesuffix(_SUFFIX): path for path in sorted(root.iterdir()) if _is_table(path)
    }
    if not found:
        raise FileNotFoundError(f"{root} holds no Parquet tables")
    return Tables(found)


def _is_table(path: Path) -> bool:
    # Spark and Hadoop ignore names that begin with _ or .; so do we.
    if path.name.startswith(("_", ".")):
        return False
    return any(path.rglob(f"*{_SUFFIX}")) if path.is_dir() else path.suffix == _SUFFIX


def _frame(path: Path, columns: list[str] | None) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.dataset as ds

    table = ds.dataset(str(path), format="parquet", partitioning="hive").to_table(columns=columns)
    plain = pa.schema(
        pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type)
        for f in table.schema
    )
    kept = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
    return table.cast(plain).to_pandas(types_mapper=kept.get)
