"""A file gives the rows it holds, and a model of it is the model of those rows."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

import lowdim
from lowdim.text.errors import TableWarning
from lowdim.text.messages import LowdimError
from tests.sources.files.tables import BODY, CLEAN, GAPPY, KINDS, NAMES, D, N, table


@pytest.mark.parametrize("X", [CLEAN, GAPPY], ids=["complete", "gaps"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_file_gives_the_rows_it_holds(kind, X, tmp_path):
    path = KINDS[kind](X, tmp_path)
    for how in ({}, {"tile": 7}, {"tile": 64, "block_tiles": 4}):
        source = lowdim.stream(path, **how)
        assert (source.n, source.d) == (N, D)
        assert not source.named or source.columns == tuple(NAMES)
        np.testing.assert_array_equal(table(source), X)
        np.testing.assert_array_equal(table(pickle.loads(pickle.dumps(source))), X)
    backwards = [source.block(i).x for i in range(source.n_blocks)[::-1]][::-1]
    np.testing.assert_array_equal(np.concatenate(backwards), np.nan_to_num(X))
    rows = np.array([2999, 0, 5, 5, 1700, 1701])
    values, seen = source.read(rows)
    np.testing.assert_array_equal(values if seen is None else np.where(seen, values, np.nan), X[rows])
    spread = (np.arange(40) * N) // 40
    np.testing.assert_array_equal(source.sample(40).x, np.nan_to_num(X[spread]))


@pytest.mark.parametrize("kind", ["parquet", "csv", "npy"])
def test_a_model_of_a_file_is_the_model_of_its_rows(kind, tmp_path):
    path = KINDS[kind](GAPPY, tmp_path)
    with pytest.warns(TableWarning, match="LD121"):
        one, two = lowdim.PPCA(2).fit(str(path)), lowdim.PPCA(2).fit(GAPPY)
    np.testing.assert_array_equal(one.components_, two.components_)
    for out in ("z.npy", "z.parquet", "z.csv", "z.zarr"):
        found = one.transform(path, out=tmp_path / out)
        back = table(lowdim.stream(tmp_path / out))
        np.testing.assert_array_equal(back, two.transform(GAPPY))
        assert out[-3:] in ("uet", "csv") or found.shape == (N, 2)
    one.impute(path, out=tmp_path / "full.parquet")
    assert (
        pq.ParquetFile(tmp_path / "full.parquet").schema_arrow.names == list(two.get_params() and NAMES)
        or kind == "npy"
    )
    np.testing.assert_array_equal(table(lowdim.stream(tmp_path / "full.parquet")), two.impute(GAPPY))


@pytest.mark.parametrize("rows", [pytest.param(100_000, marks=pytest.mark.drill), 10_000])
def test_streamed_answers_equal_those_in_memory(rows, tmp_path):
    """The answer from Parquet equals the in-memory answer to 1e-10."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((rows, 5)) @ rng.standard_normal((5, 100)) + rng.standard_normal((rows, 100))
    X = X.astype(np.float32)
    holes = rng.random(X.shape) < 0.1
    for gaps, model in ((False, lowdim.PCA(5)), (True, lowdim.PPCA(5, tol=1e-4))):
        full = pa.table(
            [pa.array(X[:, j], mask=holes[:, j] if gaps else None) for j in range(100)],
            names=[f"g{j}" for j in range(100)],
        )
        pq.write_table(full, tmp_path / "x.parquet", row_group_size=33_333)
        source = lowdim.stream(tmp_path / "x.parquet")
        assert source.n_blocks > 1 or rows < 32768
        memory = np.where(holes, np.nan, X) if gaps else X
        one = model.fit(source)
        values, mean = one.components_.copy(), one.mean_.copy()
        two = model.fit(memory.astype(np.float64))
        assert np.abs(values - two.components_).max() <= 1e-10 and np.abs(mean - two.mean_).max() <= 1e-10


def test_weights_may_be_a_column(tmp_path):
    w = 1.0 + np.arange(N) % 3
    X = np.column_stack([CLEAN, w])
    want = lowdim.PCA(2).fit(CLEAN, sample_weight=w).components_
    pd.DataFrame(X, columns=[*NAMES, "w"]).to_csv(tmp_path / "x.csv", index=False)
    pd.DataFrame(X, columns=[*NAMES, "w"]).to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", X)
    for name, weight in (("x.csv", "w"), ("x.parquet", "w"), ("x.npy", "c6"), ("x.npy", "c6")):
        source = lowdim.stream(tmp_path / name, weight=weight)
        assert source.d == D and source.total == w.sum()
        np.testing.assert_array_equal(lowdim.PCA(2).fit(source).components_, want)
    np.testing.assert_array_equal(
        lowdim.PCA(2).fit(lowdim.stream(tmp_path / "x.npy", columns="c1,c2,c3,c4,c5", weight=w)).components_, want
    )
    with pytest.raises(LowdimError, match="LD103"):
        lowdim.stream(tmp_path / "x.npy", weight="c7")
    pd.DataFrame(GAPPY, columns=NAMES).to_parquet(tmp_path / "g.parquet")
    with pytest.raises(LowdimError, match=r"LD230[\s\S]*a gap"):
        lowdim.stream(tmp_path / "g.parquet", weight="a")


def test_infinite_cells_name_row_and_column(tmp_path):
    X = CLEAN.copy()
    X[2345, 3] = -np.inf
    for kind in ("parquet", "feather", "csv", "npy", "zarr"):
        (tmp_path / kind).mkdir()
        source = lowdim.stream(KINDS[kind](X, tmp_path / kind), tile=100)
        with pytest.raises(LowdimError, match=r"LD150[\s\S]*row 2346, column '(f,g|c4)'"):
            table(source)


def test_what_cannot_be_streamed_says_so(tmp_path):
    import gzip

    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(BODY.encode()))
    (tmp_path / "u.csv").write_bytes(("x,y\n" + BODY).encode("utf-16"))
    (tmp_path / "o.npy").write_bytes(pickle.dumps({}))
    np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    np.save(tmp_path / "flat.npy", np.zeros(5))
    np.save(tmp_path / "complex.npy", np.zeros((5, 2), dtype=complex))
    (tmp_path / "empty").mkdir()
    (tmp_path / "zero.csv").touch()
    zarr.create_group(tmp_path / "group.zarr").create_array("x", shape=(3, 2), dtype="f8")
    for name, code in (
        ("x.csv.gz", "LD002"),
        ("u.csv", "LD009"),
        ("o.npy", "LD002"),
        ("objects.npy", "LD002"),
        ("flat.npy", "LD100"),
        ("complex.npy", "LD102"),
        ("empty", "LD002"),
        ("zero.csv", "LD005"),
        ("group.zarr", "LD002"),
        ("nothing.parquet", "LD001"),
        ("x.cvs.gz", "LD001"),
    ):
        with pytest.raises(LowdimError, match=code):
            lowdim.as_source(tmp_path / name)
    np.testing.assert_array_equal(table(lowdim.stream(tmp_path / "group.zarr/x")), np.zeros((3, 2)))
    for wrong in ({"zeros": "none"}, {"tile": 0}, {"block_tiles": 3}):
        with pytest.raises(LowdimError, match="LD210"):
            lowdim.stream(tmp_path / "group.zarr/x", **wrong)
