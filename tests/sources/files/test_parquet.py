"""Parquet: every type of number, batches decoded once, folders of files."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import lowdim
from lowdim.sources.files.parquet import parquet_files
from lowdim.text.errors import TableWarning
from lowdim.text.messages import LowdimError
from tests.sources.files.tables import CLEAN, KINDS, N, arrow, table


def test_types_of_all_kinds_are_numbers_and_gaps(tmp_path):
    frame = pa.table(
        {
            "f2": pa.array(np.array([1, 2, 3], np.float16)),
            "f4": pa.array([1.5, None, float("nan")], pa.float32()),
            "i1": pa.array([-1, None, 3], pa.int8()),
            "u8": pa.array([2**40, 1, 0], pa.uint64()),
            "b": pa.array([True, None, False]),
            "none": pa.nulls(3),
            "dec": pa.array([None, 2, 3]).cast(pa.decimal128(25, 2)),
            "word": ["x", "y", "z"],
            "day": pa.array([1, 2, 3], pa.date32()),
        }
    )
    want = np.array(
        [
            [1, 1.5, -1, 2.0**40, 1, np.nan, np.nan],
            [2, np.nan, np.nan, 1, np.nan, np.nan, 2],
            [3, np.nan, 3, 0, 0, np.nan, 3],
        ]
    )
    pq.write_table(frame.drop_columns("f2").append_column("f2", frame["f2"]), tmp_path / "t.parquet")
    feather.write_feather(frame, tmp_path / "t.feather")
    for name, order in (("t.parquet", [1, 2, 3, 4, 5, 6, 0]), ("t.feather", [0, 1, 2, 3, 4, 5, 6])):
        with pytest.warns(TableWarning, match=r"LD119 changed  2 columns .*: word, day"):
            source = lowdim.stream(tmp_path / name)
        np.testing.assert_array_equal(table(source), want[:, order])
        some = lowdim.stream(tmp_path / name, columns=["u8", "b"])
        np.testing.assert_array_equal(table(some), want[:, [3, 4]])
        with pytest.raises(LowdimError, match=r"LD104[\s\S]*word"):
            lowdim.stream(tmp_path / name, columns=["word"])
        with pytest.raises(LowdimError, match=r"LD103[\s\S]*did you mean 'word'"):
            lowdim.stream(tmp_path / name, columns=["wrd"])


def test_threads_read_forwards_and_no_batch_is_decoded_twice(tmp_path):
    path = KINDS["parquet, one group"](CLEAN, tmp_path)
    source = lowdim.stream(path, tile=64, block_tiles=1)
    walks: list[int] = []
    cursor = source.reader
    walk = cursor.walk
    cursor.walk = lambda row: (walks.append(row), walk(row))[1]
    for i in (1, 0, 2, 4, 3, 5, 6):
        np.testing.assert_array_equal(
            source.block_of(slice(64 * i, 64 * i + 64), 64 * i).x, CLEAN[64 * i : 64 * i + 64]
        )
    assert walks == [64] and not cursor.held
    source.read(slice(2944, 3000))
    for i in range(47):
        source.read(slice(64 * i, min(64 * i + 64, N)))
    assert walks == [64, 2944, 0] and cursor.stream is None and not cursor.held  # at the end nothing is kept


def test_folders_are_read_in_the_order_of_numbers(tmp_path):
    for name in ("part.10.parquet", "part.9.parquet", "part.1.parquet", ".hidden.parquet", "b.parquet"):
        (tmp_path / name).touch()
    assert [p.name for p in parquet_files(tmp_path)] == [
        "b.parquet",
        "part.1.parquet",
        "part.9.parquet",
        "part.10.parquet",
    ]


def test_a_folder_whose_files_differ_is_refused(tmp_path):
    pq.write_table(arrow(CLEAN), tmp_path / "1.parquet")
    pq.write_table(arrow(CLEAN).rename_columns(["a", "b c", "d.e", "h", "f,g"]), tmp_path / "2.parquet")
    with pytest.raises(LowdimError, match=r"LD016 error  '2.parquet' has other columns than '1.parquet'"):
        lowdim.stream(tmp_path)
