"""Output folders as pandas."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import spark_etl

NS = 1_794_983_379_866_165_001  # not a multiple of 256: a double cannot hold it


def test_files_and_folders_of_parts(tmp_path: Path) -> None:
    words = pa.array(["a", "b", "a"]).dictionary_encode()
    one = pa.table({"ts_ns": pa.array([NS, None, 3]), "word": words, "is_x": [True, None, False]})
    pq.write_table(one, tmp_path / "frames.parquet")
    (tmp_path / "stalls.parquet").mkdir()
    for part in (1, 2):
        pq.write_table(
            pa.table({"n": [part]}), tmp_path / "stalls.parquet" / f"part-{part}.parquet"
        )
    (tmp_path / "stalls.parquet" / "_SUCCESS").touch()
    (tmp_path / "_aside").mkdir()
    tables = spark_etl.load(tmp_path)
    assert list(tables) == ["frames", "stalls"]
    frames = tables["frames"]
    assert frames["ts_ns"].tolist()[0] == NS
    assert frames["ts_ns"].isna().tolist() == [False, True, False]
    assert frames["word"].tolist() == ["a", "b", "a"] and frames["word"].dtype == object
    assert str(frames["is_x"].dtype) == "boolean"
    assert sorted(tables["stalls"]["n"]) == [1, 2]
    assert tables["stalls"] is tables["stalls"]
    assert tables.read("frames", ["word"]).columns.tolist() == ["word"]


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no Parquet tables"):
        spark_etl.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="is no folder"):
        spark_etl.load(tmp_path / "missing")
