"""Tables of ratings: frames, files, matrices; ids of every kind; what is refused, and in which words."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from lowdim import as_source
from lowdim.sources.ratings import Ratings, as_ratings, look_up
from lowdim.text.messages import LowdimError

FRAME = pd.DataFrame({"who": ["b", "a", "b", "c"], "what": [7, -3, 2**40, 7], "stars": [5.0, 0.0, 3.5, 1.0]})
CELLS = np.array([[0.0, np.nan, np.nan], [np.nan, 5.0, 3.5], [np.nan, 1.0, np.nan]])  # a b c x -3 7 2^40


def dense(found: Ratings) -> np.ndarray:
    x, seen = found.read(slice(0, found.n))
    return np.where(seen, x, np.nan)


def in_file(kind, folder):
    path = folder / f"ratings.{kind}"
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        feather.write_feather(table, path)
    else:
        FRAME.to_csv(path, index=False, sep={"csv": ",", "tsv": "\t", "txt": ";"}[kind])
    return path


KINDS = {
    "pandas": lambda d: FRAME,
    "index": lambda d: FRAME.set_index(np.array([5, 6, 7, 8])),
    "polars": lambda d: pl.from_pandas(FRAME),
    "arrow table": lambda d: pa.table(FRAME),
    "categories": lambda d: FRAME.astype({"who": "category", "what": "category"}),
    "text ids": lambda d: FRAME.astype({"what": str}),
    "whole floats": lambda d: FRAME.astype({"what": float}),
    **{kind: (lambda d, kind=kind: in_file(kind, d)) for kind in ("csv", "tsv", "txt", "parquet", "arrow")},
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_and_files_give_one_matrix(kind, tmp_path):
    found = as_ratings(KINDS[kind](tmp_path))
    assert found.users.tolist() == ["a", "b", "c"] and found.items.tolist() == [-3, 7, 2**40]
    assert np.array_equal(dense(found), CELLS, equal_nan=True)


def test_named_columns_in_any_place():
    wide = FRAME.assign(when=1)[["when", "stars", "what", "who"]]
    found = as_ratings(wide, columns=("who", "what", "stars"))
    assert np.array_equal(dense(found), CELLS, equal_nan=True)
    with pytest.raises(LowdimError, match=r"LD270(.|\n)*when, stars, what, who"):
        as_ratings(wide)
    with pytest.raises(LowdimError, match="LD103"):
        as_ratings(wide, columns=("who", "what", "star"))


def test_order_of_rows_does_not_matter():
    for seed in range(3):
        found = as_ratings(FRAME.sample(frac=1.0, random_state=seed))
        assert np.array_equal(dense(found), CELLS, equal_nan=True)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "matrix"])
def test_sparse_matrices_keep_stored_zeros(form):
    u, i = np.nonzero(~np.isnan(CELLS))
    coo = sp.coo_array((CELLS[u, i], (u, i)), shape=CELLS.shape)
    if form in ("lil", "dok", "bsr"):  # these hold no zeros
        coo = sp.coo_array(np.nan_to_num(CELLS) + (np.nan_to_num(CELLS) == 9))
        want = np.where(np.nan_to_num(CELLS) != 0, CELLS, np.nan)
    else:
        want = CELLS
    X = sp.csr_matrix(coo) if form == "matrix" else coo if form == "coo" else coo.asformat(form)
    found = as_ratings(X)
    if form == "bsr":  # its blocks are dense
        assert found.n == 3 and np.array_equal(np.nan_to_num(dense(found)), np.nan_to_num(want))
    else:
        assert np.array_equal(dense(found), want, equal_nan=True)


def test_arrays_masked_arrays_lists_and_sources():
    for X in (
        CELLS,
        np.ma.masked_invalid(CELLS),
        CELLS.tolist(),
        as_source(CELLS),
        np.asfortranarray(CELLS),
        CELLS.astype(np.float32),
    ):
        assert np.array_equal(dense(as_ratings(X)), CELLS, equal_nan=True)
    with pytest.raises(LowdimError, match="LD230"):
        as_ratings(as_source(CELLS, weight=[1, 2, 1]))


def test_unsorted_indices_and_stored_gaps():
    X = sp.csr_array((np.array([2.0, 1.0, np.nan]), np.array([1, 0, 2]), np.array([0, 2, 3])), shape=(2, 3))
    assert np.array_equal(dense(as_ratings(X)), [[1.0, 2.0, np.nan], [np.nan] * 3], equal_nan=True)


DOUBLE = pd.concat([FRAME, FRAME.iloc[[0]].assign(stars=2.0)], ignore_index=True)


def test_duplicates_are_named_or_follow_a_rule():
    words = r"LD271(.|\n)*'b' rated item 7 twice(.|\n)*rows 1, 5(.|\n)*duplicates='mean'"
    with pytest.raises(LowdimError, match=words):
        as_ratings(DOUBLE)
    assert dense(as_ratings(DOUBLE, duplicates="mean"))[1, 1] == 3.5
    assert dense(as_ratings(DOUBLE, duplicates="last"))[1, 1] == 2.0
    twice = sp.coo_array((np.array([1.0, 2.0, 4.0]), (np.array([0, 0, 0]), np.array([1, 1, 1]))), shape=(2, 2))
    with pytest.raises(LowdimError, match=r"LD271(.|\n)*User 0 rated item 1 3 times"):
        as_ratings(twice)
    assert dense(as_ratings(twice, duplicates="mean"))[0, 1] == pytest.approx(7 / 3)
    rows = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2))
    with pytest.raises(LowdimError, match="LD271"):
        as_ratings(rows)
    assert dense(as_ratings(rows, duplicates="last"))[0, 1] == 2.0


def test_ratings_that_are_no_numbers_are_named():
    for value, what in ((np.nan, "missing"), (np.inf, "infinity"), (-np.inf, "infinity")):
        with pytest.raises(LowdimError, match=rf"LD272(.|\n)*{what}(.|\n)*row 3"):
            as_ratings(FRAME.assign(stars=[1.0, 2.0, value, 3.0]))
    with pytest.raises(LowdimError, match=r"LD104(.|\n)*stars"):
        as_ratings(FRAME.assign(stars=["good", "bad", "1", "2"]))
    with pytest.raises(LowdimError, match=r"LD150(.|\n)*row 1, column 'c2'"):
        as_ratings(sp.csr_array([[0.0, np.inf]]))
    with pytest.raises(LowdimError, match="LD102"):
        as_ratings(sp.csr_array([[1j]]))


def test_ids_that_name_nobody_are_refused():
    with pytest.raises(LowdimError, match=r"LD273(.|\n)*row 2"):
        as_ratings(FRAME.assign(who=["a", None, "b", "c"]))
    with pytest.raises(LowdimError, match="LD273"):
        as_ratings(FRAME.assign(what=[1.5, 2.0, 3.0, 4.0]))
    with pytest.raises(LowdimError, match="LD273"):
        as_ratings(FRAME.assign(what=pd.to_datetime(["2020-01-01"] * 4)))
    with pytest.raises(LowdimError, match="LD278"):
        as_ratings(FRAME.assign(who=["a", 1, "b", 2.5]))


def test_leading_zeros_are_part_of_a_name(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("u,i,r\n007,1,3\n7,1,4\n")
    found = as_ratings(path)
    assert found.users.tolist() == ["007", "7"] and found.items.tolist() == [1]


@pytest.mark.parametrize("text", [b"", b"u,i\n1\n", b"u,i,r\n1,2\n", b"\xff\xfe\x00x", b"u,i,r\n1,2,x\n"])
def test_broken_files_are_refused(text, tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(text)
    with pytest.raises(LowdimError, match=r"LD278|LD270|LD104"):
        as_ratings(path)
    with pytest.raises(LowdimError, match="LD278"):
        as_ratings(tmp_path / "none.csv")


def test_look_up_knows_numbers_from_texts_and_strangers():
    known = np.array([-3, 7, 2**40])
    assert look_up(np.array([7, 8, 2**40]), known).tolist() == [1, -1, 2]
    assert look_up(np.array(["7", "x", "07"], dtype=object), known).tolist() == [1, -1, -1]
    names = np.array(["1", "a"], dtype=object)
    assert look_up(np.array([1, 2]), names).tolist() == [0, -1]
    assert look_up(np.array([1]), np.empty(0, dtype=np.int64)).tolist() == [-1]
