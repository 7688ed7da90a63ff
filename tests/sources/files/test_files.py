"""Tables in files: the same rows as in memory, damage and change found out, results written whole or not at all."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
import zarr

import lowdim
from lowdim.sources.files import base as filesource
from lowdim.sources.files import csv as csvfile
from lowdim.sources.files.parquet import Cursor, parquet_files
from lowdim.sources.views import gather
from lowdim.text.messages import LowdimError, TableWarning
from tests.conftest import sparse_table

N, D = 3000, 5
NAMES = ["a", "b c", "d.e", "f,g", "h"]
CLEAN = np.random.default_rng(0).standard_normal((N, D)).round(5) @ np.diag([3.0, 2.0, 1.0, 1.0, 1.0]).round(5)
GAPPY = np.where(np.random.default_rng(1).random((N, D)) < 0.1, np.nan, CLEAN)
GAPPY[7] = np.nan


def arrow(X: np.ndarray, kind: Any = None) -> pa.Table:
    return pa.table([pa.array(X[:, j], kind, from_pandas=True) for j in range(D)], names=NAMES)


def in_folder(X: np.ndarray, folder: Path) -> Path:
    """Twelve files, whose names sort as text otherwise than as numbers; one of them is empty."""
    place = folder / "parts"
    place.mkdir()
    for k, rows in enumerate(np.split(X, [*np.sort(np.random.default_rng(2).integers(0, N, 10)).tolist(), N])):
        pq.write_table(arrow(rows), place / f"part.{k}.parquet", row_group_size=97)
    (place / "_SUCCESS").touch()
    return place


def in_zarr(X: np.ndarray, folder: Path, chunks: tuple[int, int] = (1000, 2)) -> Path:
    zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=chunks, dtype="f8")[:] = X
    return folder / "x.zarr"


def text(X: np.ndarray, folder: Path, **how: Any) -> Path:
    pd.DataFrame(X, columns=NAMES).to_csv(folder / "x.csv", index=False, **how)
    return folder / "x.csv"


def saved(save: Any, path: Path) -> Path:
    save(path)
    return path


KINDS: dict[str, Any] = {
    "parquet": lambda X, d: saved(lambda p: pq.write_table(arrow(X), p, row_group_size=700), d / "x.parquet"),
    "parquet, one group": lambda X, d: saved(lambda p: pq.write_table(arrow(X), p), d / "x.parquet"),
    "parquet, NaN": lambda X, d: saved(
        lambda p: pq.write_table(pa.table([pa.array(X[:, j]) for j in range(D)], names=NAMES), p, compression="zstd"),
        d / "x.parquet",
    ),
    "parquet folder": in_folder,
    "feather": lambda X, d: saved(lambda p: feather.write_feather(arrow(X), p, chunksize=333), d / "x.feather"),
    "feather, mapped": lambda X, d: saved(
        lambda p: feather.write_feather(arrow(X), p, compression="uncompressed"), d / "x.arrow"
    ),
    "csv": text,
    "csv, CRLF": lambda X, d: text(X, d, lineterminator="\r\n"),
    "csv, German": lambda X, d: text(X, d, sep=";", decimal=",", na_rep="NA"),
    "tsv, quoted": lambda X, d: text(X, d, sep="\t", quoting=1, na_rep="-"),
    "csv, latin-1": lambda X, d: text(X, d, sep="|", encoding="latin-1"),
    "npy": lambda X, d: saved(lambda p: np.save(p, X), d / "x.npy"),
    "npy, by columns": lambda X, d: saved(lambda p: np.save(p, np.asfortranarray(X)), d / "x.npy"),
    "zarr": in_zarr,
    "zarr, high chunks": lambda X, d: in_zarr(X, d, (2900, 5)),
}


def table(source: Any) -> np.ndarray:
    x, mask = gather(source)
    return x if mask is None else np.where(mask, x, np.nan)


# the same rows ----------------------------------------------------------------------------------------
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


def test_sparse_files(tmp_path):
    S = sparse_table((400, 6), 0.3, np.random.default_rng(3))
    for form in ("csr", "csc", "coo", "bsr"):
        sp.save_npz(tmp_path / "s.npz", S.asformat(form))
        np.testing.assert_array_equal(table(lowdim.stream(tmp_path / "s.npz")), S.toarray())
    scipy.io.mmwrite(tmp_path / "s.mtx", S)
    gaps = table(lowdim.stream(tmp_path / "s.mtx", zeros="gaps"))
    np.testing.assert_allclose(np.nan_to_num(gaps), S.toarray(), rtol=1e-15)
    assert np.isnan(gaps).sum() == S.shape[0] * S.shape[1] - S.nnz
    scipy.io.mmwrite(tmp_path / "d.mtx", S.toarray())
    np.testing.assert_allclose(table(lowdim.stream(tmp_path / "d.mtx")), S.toarray(), rtol=1e-15)
    np.savez(tmp_path / "p.npz", data=np.array([{"a": 1}], dtype=object))
    (tmp_path / "h.mtx").write_text("%%MatrixMarket matrix coordinate real general\n9 9 999999999999\n1 1 1.0\n")
    head = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.5\n"
    for end in ("2 2 4.7", "2 2 4.7E-1", "2 2 -4.\n"):
        (tmp_path / "e.mtx").write_text(head + end)
        assert lowdim.stream(tmp_path / "e.mtx").n == 3
    for end in ("2 2 4.7E", "2 2 4.7E- ", "2 2 4.7Ex"):  # SciPy's reader crashes on these
        (tmp_path / "e.mtx").write_text(head + end)
        with pytest.raises(LowdimError, match="LD015"):
            lowdim.stream(tmp_path / "e.mtx")
    bad = S.tocsr()
    np.savez(
        tmp_path / "i.npz", format=b"csr", shape=[400, 6], data=bad.data, indices=bad.indices + 90, indptr=bad.indptr
    )
    for name in ("p.npz", "h.mtx", "i.npz"):
        with pytest.raises(LowdimError, match="LD015"):
            lowdim.stream(tmp_path / name)


def test_rows_are_not_read_for_a_sample(tmp_path, monkeypatch):
    """Of a large file only the beginnings of row groups are decoded, whatever the tiles."""
    monkeypatch.setattr(filesource, "KEEP_CELLS", 0)
    path = KINDS["parquet"](CLEAN, tmp_path)
    asked: list[int] = []
    monkeypatch.setattr(Cursor, "rows", lambda self, a, b, was=Cursor.rows: (asked.append(b - a), was(self, a, b))[1])
    blocks = [lowdim.stream(path, tile=tile).sample(10).x for tile in (7, 500)]
    np.testing.assert_array_equal(blocks[0], blocks[1])
    np.testing.assert_array_equal(blocks[0], CLEAN[[0, 1, 700, 701, 1400, 1401, 2100, 2101, 2800, 2801]])
    assert sum(asked) == 20
    drawn = lowdim.stream(path).sample(10, np.random.default_rng(0)).x
    assert len(drawn) == 10 and not np.array_equal(drawn, blocks[0])


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


# text ------------------------------------------------------------------------------------------------
BODY = "\n".join(f"{i},{i / 7:.4f},{'' if i % 5 == 0 else i * i}" for i in range(1, 4001))


@pytest.mark.parametrize("piece", [1, 3, 17, 2**20])
def test_records_are_found_whatever_the_pieces(piece, tmp_path):
    data = b'# note\nx,y\r\n1,"a\nb"\r\n\r\n\n2,"c""\n\nd"\n3,e\n\r\n4,f'
    (tmp_path / "t.csv").write_bytes(data)
    found = csvfile.index_records(tmp_path / "t.csv", 2, 1, piece)
    assert found.n == 4 and found.lines.tolist() == [3, 7, 10, 12]
    assert [data[o : o + 1] for o in found.offsets] == [b"1", b"2", b"3", b"4"] and found.end == len(data)
    marks = csvfile.index_records(tmp_path / "t.csv", 2, 3, piece)
    assert marks.offsets.tolist() == [found.offsets[0], found.offsets[3]]


def test_an_open_quote_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + BODY.replace("\n3000,", '\n"3000,'))
    with pytest.raises(LowdimError, match=r"LD007[\s\S]*line 3001"):
        lowdim.stream(tmp_path / "t.csv")


def test_roles_are_those_of_the_checker(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 2)).round(4)
    pd.DataFrame(
        {
            "id": np.arange(5000),
            "u": X[:, 0],
            "site": np.where(X[:, 0] > 0, "n", "s"),
            "when": "2024-01-02",
            "v": X[:, 1],
        }
    ).to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(TableWarning, match=r"LD119 changed  3 columns measure nothing .*: id, site, when"):
        source = lowdim.stream(tmp_path / "t.csv")
    assert source.columns == ("u", "v")
    np.testing.assert_array_equal(table(source), X)
    np.testing.assert_array_equal(
        table(lowdim.stream(tmp_path / "t.csv", columns="v,id")), np.column_stack([X[:, 1], np.arange(5000)])
    )
    with pytest.raises(LowdimError, match=r"LD104[\s\S]*site"):
        lowdim.stream(tmp_path / "t.csv", columns=["site", "u"])


@pytest.mark.parametrize("cell", ["abc", "1.2.3", "12,5", "<0.05", "0x1F"])
def test_a_later_cell_that_is_no_number_is_named(cell, tmp_path):
    """Beyond what the checker looked at: an error with line, column and cell, never a gap."""
    lines = BODY.split("\n") * 5
    lines[1800] = f'7,"{cell}",9'
    (tmp_path / "t.csv").write_text("n,x,y\n" + "\n".join(lines) + "\n")
    columns = None if cell != "abc" else ["x", "y"]
    with pytest.raises(LowdimError) as caught:
        table(lowdim.stream(tmp_path / "t.csv", columns=columns))
    assert caught.value.code == "LD111" and cell in str(caught.value) and "'x'" in str(caught.value)
    assert "line 1802" in str(caught.value)


def test_numbers_with_thousands_and_units_are_read_as_the_checker_reads_them(tmp_path):
    rng = np.random.default_rng(0)
    n, v = rng.integers(1000, 9_999_999, 3000), rng.uniform(0, 99, 3000).round(1)
    lines = [f'"{a:,}",{b} %,{b}' for a, b in zip(n, v, strict=True)]
    (tmp_path / "t.csv").write_text("big,share,x\n" + "\n".join(lines))
    with pytest.warns(TableWarning) as given:
        source = lowdim.stream(tmp_path / "t.csv")
    assert {str(w.message)[:5] for w in given} == {"LD114", "LD118"}
    np.testing.assert_array_equal(table(source), np.column_stack([n, v, v]))


def test_rows_of_another_length_are_named(tmp_path):
    lines = BODY.split("\n") * 5
    lines[1700] += ",8"
    (tmp_path / "t.csv").write_text("n,x,y\n" + "\n".join(lines))
    with pytest.raises(LowdimError, match=r"LD006[\s\S]*line 1702 has 4 fields"):
        table(lowdim.stream(tmp_path / "t.csv", columns=["x", "y"]))


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
            lowdim.stream(tmp_path / "flat.npy", **wrong)


def test_a_npy_header_that_lies_allocates_nothing(tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 50)})
        file.write(bytes(4000))
    with pytest.raises(LowdimError, match="LD015"):
        lowdim.stream(tmp_path / "x.npy")


# change and damage ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["parquet", "parquet folder", "feather", "csv", "npy", "zarr"])
def test_a_file_that_changes_is_found_out(kind, tmp_path):
    path = KINDS[kind](CLEAN, tmp_path)
    source = lowdim.stream(path, tile=64)
    source.read(slice(0, 64))
    told = source.paths[-1]
    was = told.stat()
    os.utime(told, ns=(was.st_atime_ns, was.st_mtime_ns + 1))
    with pytest.raises(LowdimError, match=rf"LD174 error  '{told.name}' changed while it was read: it was written to"):
        source.read(slice(64, 128))
    told.unlink()
    with pytest.raises(LowdimError, match=r"LD174[\s\S]*it is gone[\s\S]*rows 129 to 192"):
        source.read(slice(128, 192))


@pytest.mark.parametrize("kind", ["parquet, NaN", "feather, mapped", "csv", "npy", "zarr"])
def test_other_numbers_in_the_next_pass_are_found_out(kind, tmp_path, monkeypatch):
    """The same size, time and inode, but another number: the block's sum tells."""
    monkeypatch.setattr(filesource, "KEEP_CELLS", 0)
    path = KINDS[kind](CLEAN, tmp_path)
    source = lowdim.stream(path, tile=64)
    source._kept = {}
    source.block_of(slice(0, 64), 0)
    other = CLEAN.copy()
    other[3, 2] += 1.0
    (tmp_path / "other").mkdir()
    source._reader = lowdim.stream(KINDS[kind](other, tmp_path / "other"), tile=64).reader
    if kind == "csv":
        source.paths = [tmp_path / "other" / "x.csv"]
        source.stamps = [filesource.stamp(source.paths[0])]
        source.marks = lowdim.stream(source.paths[0]).marks
    source.block_of(slice(64, 128), 64)
    with pytest.raises(LowdimError, match=r"LD174[\s\S]*not those of the pass before[\s\S]*rows 1 to 64"):
        source.block_of(slice(0, 64), 0)


def test_fingerprints_tell_files_apart(tmp_path):
    path = KINDS["parquet"](CLEAN, tmp_path)
    one = lowdim.stream(path).fingerprint()
    assert one == lowdim.stream(path, tile=7).fingerprint()
    pq.write_table(arrow(CLEAN + 1), path, row_group_size=700)
    assert one != lowdim.stream(path).fingerprint()


DAMAGE = """
    import sys, json, warnings
    import numpy as np
    import lowdim
    from lowdim.sources.views import gather
    from lowdim.text.messages import LowdimError

    warnings.simplefilter("ignore")
    kind, folder, places = sys.argv[1], sys.argv[2], int(sys.argv[3])
    data = open(f"{folder}/good{kind}", "rb").read()
    rng, found = np.random.default_rng(0), {}
    for k in range(places):
        at, bad = int(rng.integers(len(data))), bytearray(data)
        if k % 4 == 0:
            bad = bad[:at]
        else:
            bad[at] ^= 1 << int(rng.integers(8))
        if k % 4 == 3:  # where a format keeps what it says of itself
            bad = bytearray(data)
            bad[-1 - int(rng.integers(min(len(data), 600)))] ^= 1 << int(rng.integers(8))
        path = f"{folder}/bad{kind}"
        with open(path, "wb") as file:
            file.write(bad)
        try:
            gather(lowdim.stream(path, tile=64))
            word = "read"
        except LowdimError as problem:
            word = problem.code
        found[word] = found.get(word, 0) + 1
    print(json.dumps(found))
"""


@pytest.mark.parametrize("places", [pytest.param(500, marks=pytest.mark.drill), 50])
@pytest.mark.parametrize("kind", [".parquet", "-flat.parquet", ".feather", ".arrow", ".csv", ".npy", ".npz", ".mtx"])
def test_damaged_files_end_in_a_code_or_a_table(kind, places, tmp_path):
    """Cut short and bit-flipped at 500 places, in a child process: no crash, hang or traceback."""
    X, good = GAPPY[:400], tmp_path / f"good{kind}"
    if kind.endswith(".parquet"):
        pq.write_table(arrow(X), good, row_group_size=90, compression="none" if "flat" in kind else "snappy")
    elif kind in (".feather", ".arrow"):
        feather.write_feather(arrow(X), good, chunksize=90, compression="uncompressed" if kind == ".arrow" else "lz4")
    elif kind == ".csv":
        pd.DataFrame(X, columns=NAMES).to_csv(good, index=False)
    elif kind == ".npy":
        np.save(good, X[:20])
    else:
        S = sp.csr_array(np.nan_to_num(X[:60]))
        sp.save_npz(good, S) if kind == ".npz" else scipy.io.mmwrite(good, S)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DAMAGE), kind, str(tmp_path), str(places)],
        capture_output=True,
        text=True,
        timeout=120 if places < 100 else 600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert sum(found.values()) == places and any(code.startswith("LD") for code in found), found


# results ----------------------------------------------------------------------------------------------------
SINKS = (".npy", ".parquet", ".csv", ".zarr")


@pytest.mark.parametrize("ending", SINKS)
@pytest.mark.parametrize("kind", ["parquet", "csv", "npy", "zarr"])
def test_results_may_take_the_place_of_their_table(kind, ending, tmp_path):
    path = KINDS[kind](GAPPY, tmp_path)
    if path.suffix != ending:
        return
    with pytest.warns(TableWarning, match="LD121"):
        model = lowdim.PPCA(2).fit(path)
    want = model.impute(GAPPY)
    model.impute(path, out=path)
    np.testing.assert_array_equal(table(lowdim.stream(path)), want)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


FULL = """
    import sys, resource
    import numpy as np, lowdim
    from lowdim.text.messages import LowdimError

    table, out = sys.argv[1], sys.argv[2]
    model = lowdim.PCA(2).fit(table)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    try:
        model.reconstruct(table, out=out)
    except LowdimError as problem:
        print(problem.code, problem)
"""


@pytest.mark.parametrize("ending", SINKS)
def test_a_full_disk_is_named_and_costs_nothing(ending, tmp_path):
    path, out = KINDS["parquet"](CLEAN, tmp_path), tmp_path / f"out{ending}"
    lowdim.PCA(2).fit(CLEAN[:50]).transform(CLEAN[:50], out=out)
    before = table(lowdim.stream(out))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL), str(path), str(out)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.startswith("LD304") and str(out) in done.stdout, done.stdout + done.stderr
    np.testing.assert_array_equal(table(lowdim.stream(out)), before)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, out.name])


STOPPED = """
    import sys, os, signal
    import lowdim
    from lowdim import Run
    from lowdim.sources.files import sinks as sink

    table, out = sys.argv[1], sys.argv[2]
    model = lowdim.PCA(2).fit(table)
    count = [0]
    was = sink.FileSink.write
    def write(self, start, rows):
        was(self, start, rows)
        count[0] += 1
        if count[0] == 3:
            os.kill(os.getpid(), signal.SIGINT)
    sink.FileSink.write = write
    model.reconstruct(lowdim.stream(table, tile=100), out=out)
"""


@pytest.mark.parametrize("ending", SINKS)
def test_ctrl_c_leaves_nothing_half_done(ending, tmp_path):
    path, out = KINDS["parquet"](CLEAN, tmp_path), tmp_path / f"out{ending}"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(STOPPED), str(path), str(out)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == -signal.SIGINT or "KeyboardInterrupt" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_folder_that_is_no_zarr_array_is_not_removed(tmp_path):
    (tmp_path / "out.zarr").mkdir()
    (tmp_path / "out.zarr" / "precious").write_text("mine")
    with pytest.raises(LowdimError, match="LD304"):
        lowdim.PCA(1).fit(CLEAN).transform(CLEAN, out=tmp_path / "out.zarr")
    assert (tmp_path / "out.zarr" / "precious").read_text() == "mine" and len(list(tmp_path.iterdir())) == 1
